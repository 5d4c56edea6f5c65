// Files as memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace trireme::base {

/// A file mapped read-only. Throws Error (bad_input) that names the file when it cannot be opened or mapped.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  const std::byte* data() const { return data_; }  // null when the file is empty
  std::int64_t size() const { return size_; }      // bytes

 private:
  const std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace trireme::base
