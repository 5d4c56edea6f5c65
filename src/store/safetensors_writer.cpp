#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/error.h"
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
    : path_(path), file_(path), entries_(entries), dtype_(dtype) {
  const std::string header = header_of(entries_, metadata, dtype_);
  file_.write(header.data(), header.size());
  missing_ = entries_.empty() ? 0 : elements_of(entries_[0].shape);
  next_nonempty();
}

void SafetensorsWriter::next_nonempty() {
  while (current_ < entries_.size() && missing_ == 0)
    missing_ = ++current_ < entries_.size() ? elements_of(entries_[current_].shape) : 0;
}

void SafetensorsWriter::write(const std::string& name, const float* values, std::int64_t count) {
  if (count == 0) return;
  if (current_ == entries_.size() || entries_[current_].name != name || count > missing_)
    base::fail("{}: {} elements of tensor {} are out of turn: {} of {} are due", path_, count, name, missing_,
               current_ == entries_.size() ? "none" : entries_[current_].name);
  if (dtype_ == Dtype::fp32)
    file_.write(values, static_cast<std::size_t>(count * 4));
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
    file_.write(halves.data(), static_cast<std::size_t>(here * 2));
  }
}

void SafetensorsWriter::finish() {
  if (current_ != entries_.size()) base::fail("{}: tensor {} lacks {} elements", path_, entries_[current_].name, missing_);
  file_.publish();
}

}  // namespace trireme::store
