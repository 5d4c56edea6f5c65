#include "data/token_writer.h"

#include <filesystem>
#include <limits>

#include "base/error.h"

namespace trireme::data {
namespace {

constexpr std::size_t buffer_bytes = 1 << 20;

/// `prefix`, if it is free.
const std::string& unused(const std::string& prefix) {
  for (const char* ending : {".bin", ".idx"})
    if (std::filesystem::exists(prefix + ending))
      base::refuse("{0}{1}: exists already, and is not replaced. Choose another output, or remove {0}.bin and {0}.idx first",
                   prefix, ending);
  return prefix;
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : file_(path, base::Exit::bad_input) { buffer_.reserve(buffer_bytes); }

void OutputFile::write(const void* bytes, std::size_t count) {
  const auto* from = static_cast<const char*>(bytes);
  buffer_.insert(buffer_.end(), from, from + count);
  if (buffer_.size() >= buffer_bytes) flush();
}

void OutputFile::flush() {
  file_.write(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void OutputFile::complete() {
  flush();
  file_.complete();
}

void OutputFile::publish() { file_.publish_first(); }

TokenWriter::TokenWriter(const std::string& prefix, std::int64_t vocabulary)
    : type_(vocabulary < 65500 ? IdType::u16 : IdType::i32),
      prefix_(unused(prefix)),
      bin_(prefix + ".bin"),
      idx_(prefix + ".idx") {}

void TokenWriter::append(std::span<const std::int32_t> ids) {
  if (type_ == IdType::i32) bin_.write(ids.data(), ids.size_bytes());
  if (type_ == IdType::u16) {
    const std::vector<std::uint16_t> narrow(ids.begin(), ids.end());
    bin_.write(narrow.data(), 2 * narrow.size());
  }
  length_ += std::ssize(ids);
}

void TokenWriter::end_document() {
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  if (length_ > most)
    base::refuse("document {} has {} tokens, a token file's limit is {}: split it", lengths_.size(), length_, most);
  lengths_.push_back(static_cast<std::int32_t>(length_));
  length_ = 0;
}

void TokenWriter::write_index() {
  const auto put = [&](auto value) { idx_.write(&value, sizeof value); };
  const auto documents = std::ssize(lengths_);
  idx_.write(index_magic, sizeof index_magic);
  put(index_version);
  put(type_);
  put(static_cast<std::int64_t>(documents));
  put(static_cast<std::int64_t>(documents + 1));
  idx_.write(lengths_.data(), 4 * lengths_.size());
  std::int64_t offset = 0;
  for (const std::int64_t length : lengths_) {
    put(offset);
    offset += length * bytes_of(type_);
  }
  for (std::int64_t i = 0; i <= documents; ++i) put(i);
}

void TokenWriter::finish() {
  write_index();
  bin_.complete();
  idx_.complete();
  bin_.publish();
  try {
    idx_.publish();  // last: the pair is complete when the index is there
  } catch (const base::Error&) {
    std::error_code ignored;
    std::filesystem::remove(prefix_ + ".bin", ignored);
    throw;
  }
}

}  // namespace trireme::data
