#include "store/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file_form.h"
#include "base/half.h"
#include "base/json_text.h"
#include "base/text.h"
#include "store/safetensors_index.h"

namespace trireme::store {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the format is little-endian and elements are copied as they are");

const std::map<std::string, std::int64_t> element_bytes = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
                                                           {"U16", 2},  {"I16", 2}, {"F16", 2}, {"BF16", 2},    {"U32", 4},
                                                           {"I32", 4},  {"F32", 4}, {"U64", 8}, {"I64", 8},     {"F64", 8}};

template <class T>
T load(const std::byte* from) {  // headers of any length are legal, so elements may lie unaligned
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Copies a strided block; `convert` reads one element. The innermost axis is the loop, the others recurse.
template <class Convert>
void gather(const std::byte* data, std::int64_t width, const Shape& count, const Shape& stride, std::size_t axis, float*& out,
            Convert convert) {
  const std::int64_t step = stride[axis] * width;
  for (std::int64_t i = 0; i < count[axis]; ++i, data += step) {
    if (axis + 1 == count.size())
      *out++ = convert(data);
    else
      gather(data, width, count, stride, axis + 1, out, convert);
  }
}

Shape row_major_strides(const Shape& shape) {
  Shape stride(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) stride[i - 1] = stride[i] * shape[i];
  return stride;
}

json parse_header(const std::string& path, const base::MappedFile& file, std::int64_t& data_begin) {
  if (std::ssize(file.bytes()) < 8)
    base::refuse("{}: too short for a safetensors file: {}", path, base::counted(std::ssize(file.bytes()), "byte"));
  const auto length = load<std::uint64_t>(file.bytes().data());
  if (length > static_cast<std::uint64_t>(std::ssize(file.bytes()) - 8)) {
    if (const base::FileForm* const form = base::form_of(file.bytes()))
      base::refuse("{}: {}. {}", path, form->what, form->for_weights);
    base::refuse("{}: not a safetensors file: its first 8 bytes give a header of {} bytes in a file of {}", path, length,
                 std::ssize(file.bytes()));
  }
  data_begin = 8 + static_cast<std::int64_t>(length);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()) + 8, length);
  std::set<std::string> seen;
  // The library keeps the last of two equal keys; the format allows only one.
  const auto unique = [&](int depth, json::parse_event_t event, json& value) {
    if (depth == 1 && event == json::parse_event_t::key && !seen.insert(value.get<std::string>()).second)
      base::refuse("{}: tensor {} is listed twice", path, base::clipped(value.get<std::string>()));
    return true;
  };
  return base::json_object<json>(text, path + ": its header", base::Exit::bad_input, unique);
}

/// A non-negative integer list of the header, refused when it is anything else.
Shape integers(const std::string& where, const json& entry, const char* key) {
  const auto list = entry.find(key);
  if (list == entry.end() || !list->is_array()) base::refuse("{}: no list `{}`", where, key);
  Shape values;
  for (const json& value : *list) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX)
      base::refuse("{}: {} in `{}` is not a size", where, base::clipped(value.dump()), key);
    values.push_back(value.get<std::int64_t>());
  }
  return values;
}

/// One entry of the header; `begin` becomes a byte of the file. Returns the tensor and its bytes.
std::pair<SafetensorsTensor, std::int64_t> parse_tensor(const std::string& path, const std::string& name, const json& entry,
                                                        std::int64_t data_begin, std::int64_t data_bytes) {
  const std::string where = fmt::format("{}: tensor {}", path, base::clipped(name));
  if (!entry.is_object()) base::refuse("{}: its entry is not a JSON object", where);
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) base::refuse("{}: no dtype", where);
  SafetensorsTensor tensor{name, dtype->get<std::string>(), integers(where, entry, "shape"), 0};
  const auto width = element_bytes.find(tensor.dtype);
  if (width == element_bytes.end()) base::refuse("{}: unknown dtype {}", where, base::clipped(tensor.dtype));
  const Shape offsets = integers(where, entry, "data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes)
    base::refuse("{}: data_offsets {} do not lie inside the {} bytes of data", where, to_string(offsets), data_bytes);
  const auto elements = product(tensor.shape);
  std::int64_t bytes = 0;
  if (!elements || __builtin_mul_overflow(*elements, width->second, &bytes) || bytes != offsets[1] - offsets[0])
    base::refuse("{}: shape {} of {} does not have the {} bytes of its data_offsets", where, to_string(tensor.shape),
                 tensor.dtype, offsets[1] - offsets[0]);
  tensor.begin = data_begin + offsets[0];
  return {tensor, bytes};
}

/// The format wants every byte of data to belong to exactly one tensor.
void check_coverage(const std::string& path, const std::vector<std::pair<SafetensorsTensor, std::int64_t>>& tensors,
                    std::int64_t data_begin, std::int64_t file_bytes) {
  std::int64_t end = data_begin;
  for (const auto& [tensor, bytes] : tensors) {
    if (tensor.begin < end) base::refuse("{}: tensor {} overlaps the tensor before it", path, base::clipped(tensor.name));
    if (tensor.begin > end) base::refuse("{}: {} bytes before tensor {} belong to none", path, tensor.begin - end, tensor.name);
    end += bytes;
  }
  if (end != file_bytes) base::refuse("{}: {} bytes after the last tensor belong to none", path, file_bytes - end);
}

}  // namespace

SafetensorsReader::SafetensorsReader(const std::string& path) : path_(path) {
  if (!is_safetensors_index(path)) {
    add_file(path);
    return;
  }
  for (const auto& [file, listed] : read_safetensors_index(path)) {
    const std::size_t first = tensors_.size();
    add_file(file);
    for (const std::string& name : listed)
      if (const auto* tensor = find(name); !tensor || tensor->file + 1 != files_.size())
        base::refuse("{}: tensor {} is not in {}", path, base::clipped(name), base::clipped(file));
    for (std::size_t i = first; i < tensors_.size(); ++i)
      if (!listed.contains(tensors_[i].name))
        base::refuse("{}: tensor {} of {} is not listed", path, base::clipped(tensors_[i].name), file);
  }
}

void SafetensorsReader::add_file(const std::string& path) {
  const base::MappedFile& file = files_.emplace_back(path);
  std::int64_t data_begin = 0;
  const json header = parse_header(path, file, data_begin);
  std::vector<std::pair<SafetensorsTensor, std::int64_t>> found;
  for (const auto& [name, entry] : header.items())
    if (name != "__metadata__")
      found.push_back(parse_tensor(path, name, entry, data_begin, std::ssize(file.bytes()) - data_begin));
  if (const auto about = header.find("__metadata__"); about != header.end() && about->is_object())
    for (const auto& [key, text] : about->items())
      if (text.is_string()) metadata_[key] = text.get<std::string>();
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {  // empty tensors before what begins at the same byte
    return std::pair(a.first.begin, a.second) < std::pair(b.first.begin, b.second);
  });
  check_coverage(path, found, data_begin, std::ssize(file.bytes()));
  for (auto& [tensor, bytes] : found) {
    tensor.file = files_.size() - 1;
    index_[tensor.name] = tensors_.size();
    tensors_.push_back(std::move(tensor));
  }
}

const SafetensorsTensor* SafetensorsReader::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

bool SafetensorsReader::readable(const SafetensorsTensor& tensor) {
  return tensor.dtype == "F32" || tensor.dtype == "F16" || tensor.dtype == "BF16" || tensor.dtype == "F64";
}

const SafetensorsTensor& SafetensorsReader::at(const std::string& name) const {
  const SafetensorsTensor* tensor = find(name);
  if (!tensor) base::refuse("{}: no tensor {}", path_, name);
  if (!readable(*tensor)) base::refuse("{}: tensor {} is {}, not F32, F16, BF16 or F64", path_, name, tensor->dtype);
  return *tensor;
}

void SafetensorsReader::read_hyperslab(const std::string& name, const Shape& start, const Shape& count, float* out) const {
  const Shape& shape = at(name).shape;
  if (!inside({start, count}, shape))
    base::fail("{}: tensor {} {} has no part {} at {}", path_, name, to_string(shape), to_string(count), to_string(start));
  const Shape stride = row_major_strides(shape);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) first += start[i] * stride[i];
  read_strided(name, first, count, stride, out);
}

void SafetensorsReader::read_strided(const std::string& name, std::int64_t first, const Shape& count, const Shape& stride,
                                     float* out) const {
  const SafetensorsTensor& tensor = at(name);
  if (count.size() != stride.size())
    base::fail("{}: tensor {}: {} strides for {} axes", path_, name, stride.size(), count.size());
  const bool empty = std::any_of(count.begin(), count.end(), [](std::int64_t extent) { return extent == 0; });
  if (empty) return;
  std::int64_t low = first, high = first;
  for (std::size_t i = 0; i < count.size(); ++i) (stride[i] < 0 ? low : high) += (count[i] - 1) * stride[i];
  if (low < 0 || high >= elements_of(tensor.shape))
    base::fail("{}: tensor {} {}: elements {} to {} wanted", path_, name, to_string(tensor.shape), low, high);
  const std::int64_t width = element_bytes.at(tensor.dtype);
  const std::byte* data = files_[tensor.file].bytes().data() + tensor.begin + first * width;
  const Shape counts = count.empty() ? Shape{1} : count, strides = count.empty() ? Shape{1} : stride;
  if (tensor.dtype == "F32")
    gather(data, width, counts, strides, 0, out, [](const std::byte* from) { return load<float>(from); });
  else if (tensor.dtype == "F64")
    gather(data, width, counts, strides, 0, out, [](const std::byte* from) { return static_cast<float>(load<double>(from)); });
  else if (tensor.dtype == "F16")
    gather(data, width, counts, strides, 0, out,
           [](const std::byte* from) { return base::from_fp16(load<std::uint16_t>(from)); });
  else
    gather(data, width, counts, strides, 0, out,
           [](const std::byte* from) { return base::from_bf16(load<std::uint16_t>(from)); });
}

}  // namespace trireme::store
