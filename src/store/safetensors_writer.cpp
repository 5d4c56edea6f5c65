#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/half.h"
#include "store/safetensors.h"

namespace trireme::store {
namespace {

constexpr std::int64_t piece_elements = 1 << 16;  // rounded at a time

std::int64_t width(Dtype dtype) { return dtype == Dtype::fp32 ? 4 : 2; }

/// The length and the JSON, padded with spaces so that the data begins at a multiple of 8 bytes.
std::string header_of(const std::vector<SafetensorsEntry>& entries, const std::map<std::string, std::string>& metadata,
                      Dtype dtype) {
  constexpr const char* names[] = {"F32", "BF16", "F16"};
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};
  for (const auto& [key, text] : metadata) header["__metadata__"][key] = text;
  std::int64_t offset = 0;
  for (const SafetensorsEntry& entry : entries) {
    const std::int64_t end = offset + elements_of(entry.shape) * width(dtype);
    header[entry.name] = {{"dtype", names[static_cast<int>(dtype)]}, {"shape", entry.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::string& path, const std::vector<SafetensorsEntry>& entries,
                                     const std::map<std::string, std::string>& metadata, Dtype dtype)
    : path_(path), partial_(path + ".partial"), entries_(entries), dtype_(dtype) {
  file_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) base::fail("{}: {}", partial_, std::strerror(errno));
  try {
    const std::string header = header_of(entries_, metadata, dtype_);
    put(header.data(), static_cast<std::int64_t>(header.size()));
  } catch (...) {  // no destructor runs for an object whose constructor throws
    ::close(file_);
    ::unlink(partial_.c_str());
    throw;
  }
  missing_ = entries_.empty() ? 0 : elements_of(entries_[0].shape);
  next_nonempty();
}

SafetensorsWriter::~SafetensorsWriter() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(partial_.c_str());
}

void SafetensorsWriter::next_nonempty() {
  while (current_ < entries_.size() && missing_ == 0)
    missing_ = ++current_ < entries_.size() ? elements_of(entries_[current_].shape) : 0;
}

void SafetensorsWriter::put(const void* bytes, std::int64_t size) {
  const char* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(file_, from, static_cast<std::size_t>(size));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) base::fail("{}: {}", partial_, std::strerror(errno));
    from += written;
    size -= written;
  }
}

void SafetensorsWriter::write(const std::string& name, const float* values, std::int64_t count) {
  if (count == 0) return;
  if (current_ == entries_.size() || entries_[current_].name != name || count > missing_)
    base::fail("{}: {} elements of tensor {} are out of turn: {} of {} are due", path_, count, name, missing_,
               current_ == entries_.size() ? "none" : entries_[current_].name);
  if (dtype_ == Dtype::fp32)
    put(values, count * 4);
  else
    put_rounded(name, values, count);
  missing_ -= count;
  next_nonempty();
}

void SafetensorsWriter::put_rounded(const std::string& name, const float* values, std::int64_t count) {
  const auto round = dtype_ == Dtype::bf16 ? base::to_bf16 : base::to_fp16;
  const auto back = dtype_ == Dtype::bf16 ? base::from_bf16 : base::from_fp16;
  std::vector<std::uint16_t> halves(static_cast<std::size_t>(std::min(count, piece_elements)));
  for (std::int64_t first = 0; first < count; first += piece_elements) {
    const std::int64_t here = std::min(piece_elements, count - first);
    for (std::int64_t i = 0; i < here; ++i) {
      const float value = values[first + i];
      halves[i] = round(value);
      if (std::isfinite(value) && !std::isfinite(back(halves[i])))
        base::refuse("{}: tensor {} holds {}, beyond the largest value of {}", path_, name, value,
                     dtype_ == Dtype::bf16 ? "bf16" : "fp16; bf16 has the range of fp32");
    }
    put(halves.data(), here * 2);
  }
}

void SafetensorsWriter::finish() {
  if (current_ != entries_.size()) base::fail("{}: tensor {} lacks {} elements", path_, entries_[current_].name, missing_);
  if (::fsync(file_) != 0) base::fail("{}: {}", partial_, std::strerror(errno));
  if (::rename(partial_.c_str(), path_.c_str()) != 0) base::fail("{}: {}", path_, std::strerror(errno));
  ::close(std::exchange(file_, -1));
  base::sync_folder(std::filesystem::path(path_).parent_path().string());
}

}  // namespace trireme::store
