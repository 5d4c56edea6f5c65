#include "store/frame.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

namespace trireme::store {

std::uint64_t frame_checksum(const std::string& path, const FileRecord& record) {
  const base::MappedFile file(path);  // only the pages outside the tensors are touched
  const std::int64_t bytes = std::ssize(file.bytes());
  std::vector<std::pair<std::int64_t, std::int64_t>> tensors;  // begin, end
  for (const SliceRecord& slice : record.slices) tensors.emplace_back(slice.offset, slice.offset + slice.bytes());
  std::sort(tensors.begin(), tensors.end());
  tensors.emplace_back(bytes, bytes);
  base::Hash64 hash;
  std::int64_t position = 0;
  for (const auto& [begin, end] : tensors) {
    if (begin < position || end > bytes) base::fail("{}: a tensor at bytes {} to {} of {}", path, begin, end, bytes);
    hash.add(file.bytes().subspan(static_cast<std::size_t>(position), static_cast<std::size_t>(begin - position)));
    position = end;
  }
  return hash.value();
}

std::string frame_fault(const std::string& path, const FileRecord& record) {
  base::require_regular(path);
  std::error_code error;
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  if (error) return fmt::format("{}: {}", path, base::system_words(error));
  if (bytes != record.bytes) return fmt::format("{}: {} bytes, expected {}", path, bytes, record.bytes);
  if (frame_checksum(path, record) != record.frame)
    return fmt::format("{}: not as it was written: damaged outside the tensors, or the file of another step or run", path);
  return {};
}

}  // namespace trireme::store
