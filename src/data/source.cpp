#include "data/source.h"

#include "base/error.h"
#include "base/text.h"
#include "data/sampler.h"

namespace trireme::data {

FileSource::FileSource(const std::string& prefix, std::int64_t vocabulary, std::int64_t sequence)
    : file_(prefix, vocabulary), sequence_(sequence) {
  if (samples() == 0)
    base::refuse("{}.bin: {}: a sample needs {} (model.sequence = {} and the token that follows)", prefix,
                 base::counted(file_.tokens(), "token"), sequence + 1, sequence);
}

std::int64_t FileSource::samples() const { return samples_of(file_.tokens(), sequence_); }

void FileSource::sample(std::int64_t index, std::int32_t* tokens) const { file_.read(index * sequence_, sequence_ + 1, tokens); }

}  // namespace trireme::data
