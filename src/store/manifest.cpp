#include "store/manifest.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/text.h"

namespace trireme::store {
namespace {

using Json = nlohmann::ordered_json;

/// 16 digits: other readers of JSON hold numbers as doubles.
std::string hexadecimal(std::uint64_t value) { return fmt::format("{:016x}", value); }

/// Paths in a configuration need not be UTF-8: what is not becomes a replacement character, rather than no checkpoint.
std::string text_of(const Json& json, int indent = -1) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

std::uint64_t checksum_of(const std::string& text) { return base::hash64(std::as_bytes(std::span(text))); }

/// An object of the text that is read. Every member must be there and of its type: base::Error(mismatch) says which is not.
class Reader {
 public:
  Reader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) wrong("is not an object");
  }

  std::string text(const char* key) const { return get(key, &Json::is_string, "a text").get<std::string>(); }
  bool flag(const char* key) const { return get(key, &Json::is_boolean, "true or false").get<bool>(); }
  double real(const char* key) const { return get(key, &Json::is_number, "a number").get<double>(); }
  std::int64_t size(const char* key) const { return size_of(get(key, &Json::is_number, "a number"), key); }
  int coordinate(const char* key) const { return static_cast<int>(size(key)); }
  Shape shape(const char* key) const {
    Shape values;
    for (const Json& value : get(key, &Json::is_array, "a list")) values.push_back(size_of(value, key));
    return values;
  }
  std::uint64_t checksum(const char* key) const {
    const std::string digits = text(key);
    if (digits.size() != 16 || digits.find_first_not_of("0123456789abcdef") != std::string::npos)
      wrong(fmt::format("{} is not a checksum", key));
    return std::stoull(digits, nullptr, 16);
  }
  Reader object(const char* key) const { return {get(key, &Json::is_object, "an object"), fmt::format("{}: {}", where_, key)}; }
  /// read(Reader) of an object that need not be there.
  template <class Read>
  auto optional(const char* key, Read read) const -> std::optional<decltype(read(*this))> {
    if (!json_.contains(key)) return std::nullopt;
    return read(object(key));
  }
  /// read(Reader) of each element.
  template <class Read>
  auto list(const char* key, Read read) const {
    std::vector<decltype(read(*this))> all;
    for (const Json& value : get(key, &Json::is_array, "a list"))
      all.push_back(read(Reader(value, fmt::format("{}: {}[{}]", where_, key, all.size()))));
    return all;
  }
  [[noreturn]] void wrong(const std::string& what) const {
    throw base::Error(base::Exit::mismatch, fmt::format("{}: {}", where_, base::clipped(what, 1000)));
  }

 private:
  const Json& get(const char* key, bool (Json::*is)() const noexcept, const char* type) const {
    const auto found = json_.find(key);
    if (found == json_.end()) wrong(fmt::format("{} is missing", key));
    if (!((*found).*is)()) wrong(fmt::format("{} is not {}", key, type));
    return *found;
  }
  std::int64_t size_of(const Json& value, const char* key) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX)
      wrong(fmt::format("{} is not a whole number of at least 0", key));
    return value.get<std::int64_t>();
  }

  const Json& json_;
  std::string where_;
};

Json parsed(const std::string& text, const std::string& source) {
  return base::json_object<Json>(text, source, base::Exit::mismatch);
}

Quantity quantity_of(const Reader& reader) {
  const std::string group = reader.text("quantity");
  for (const Quantity quantity : quantities)
    if (group_of(quantity) == group) return quantity;
  reader.wrong(fmt::format("quantity is {}", group));
}

SliceRecord read_slice(const Reader& reader) {
  SliceRecord slice;
  slice.quantity = quantity_of(reader);
  slice.name = reader.text("name");
  slice.shape = reader.shape("shape");
  slice.start = reader.shape("start");
  slice.count = reader.shape("count");
  slice.checksum = reader.checksum("checksum");
  slice.offset = reader.size("offset");
  const auto elements = product(slice.shape);
  if (slice.shape.empty() || !elements || *elements > INT64_MAX / 4 || !inside(slice.box(), slice.shape))
    reader.wrong(
        fmt::format("{} at {} is no part of {}", to_string(slice.count), to_string(slice.start), to_string(slice.shape)));
  return slice;
}

FileRecord read_file_record(const Reader& reader) {
  FileRecord file;
  file.name = reader.text("name");
  if (file.name.empty() || file.name.front() == '.' || file.name.find('/') != std::string::npos)
    reader.wrong(fmt::format("name '{}' is not that of a file in this folder", file.name));
  file.bytes = reader.size("bytes");
  file.frame = reader.checksum("frame");
  file.pipeline = reader.coordinate("pipeline");
  file.tensor = reader.coordinate("tensor");
  file.data = reader.coordinate("data");
  file.slices = reader.list("slices", read_slice);
  return file;
}

TokensRecord read_tokens(const Reader& reader) {
  return {reader.size("tokens"), reader.size("documents"), reader.checksum("index"), reader.checksum("contents")};
}

DataRecord read_data(const Reader& reader) {
  return {reader.optional("training", read_tokens), reader.optional("validation", read_tokens)};
}

Json data_json(const DataRecord& data) {
  Json json = Json::object();
  const auto add = [&](const char* key, const std::optional<TokensRecord>& record) {
    if (record)
      json[key] = {{"tokens", record->tokens},
                   {"documents", record->documents},
                   {"index", hexadecimal(record->index)},
                   {"contents", hexadecimal(record->contents)}};
  };
  add("training", data.training);
  add("validation", data.validation);
  return json;
}

Json slice_json(const SliceRecord& slice) {
  return {{"quantity", group_of(slice.quantity)},
          {"name", slice.name},
          {"shape", slice.shape},
          {"start", slice.start},
          {"count", slice.count},
          {"checksum", hexadecimal(slice.checksum)},
          {"offset", slice.offset}};
}

Json file_json(const FileRecord& file) {
  Json slices = Json::array();
  for (const SliceRecord& slice : file.slices) slices.push_back(slice_json(slice));
  return {{"name", file.name},         {"bytes", file.bytes},   {"frame", hexadecimal(file.frame)},
          {"pipeline", file.pipeline}, {"tensor", file.tensor}, {"data", file.data},
          {"slices", slices}};
}

ScalingRecord read_scaling(const Reader& reader) {
  return {reader.size("good_steps"), reader.size("overflows_left"), reader.size("skipped_at_lowest"), reader.size("skipped")};
}

Json scaling_json(const ScalingRecord& scaling) {
  return {{"good_steps", scaling.good_steps},
          {"overflows_left", scaling.overflows_left},
          {"skipped_at_lowest", scaling.skipped_at_lowest},
          {"skipped", scaling.skipped}};
}

Json manifest_json(const Manifest& manifest) {
  Json tensors = Json::array(), files = Json::array();
  for (const TensorRecord& tensor : manifest.tensors) tensors.push_back({{"name", tensor.name}, {"shape", tensor.shape}});
  for (const FileRecord& file : manifest.files) files.push_back(file_json(file));
  const Json master = {{"bytes", manifest.master.bytes}, {"checksum", hexadecimal(manifest.master.checksum)}};
  Json json = {{"format", Manifest::format},
               {"run_id", manifest.run_id},
               {"step", manifest.step},
               {"samples", manifest.samples},
               {"loss_scale", manifest.loss_scale},
               {"moments", manifest.moments},
               {"config", manifest.config},
               {"data", data_json(manifest.data)},
               {"tensors", tensors},
               {"files", files},
               {"master", master}};
  if (manifest.scaling) json["scaling"] = scaling_json(*manifest.scaling);
  return json;
}

}  // namespace

std::string group_of(Quantity quantity) {
  constexpr const char* groups[] = {"parameters", "adam/first_moment", "adam/second_moment"};
  return groups[static_cast<int>(quantity)];
}

std::string to_json(const FileRecord& record) { return text_of(file_json(record)); }

std::string to_json(const Manifest& manifest) {
  Json json = manifest_json(manifest);
  json["checksum"] = hexadecimal(checksum_of(text_of(json)));
  return text_of(json, 1) + "\n";
}

FileRecord file_record(const std::string& json, const std::string& source) {
  return read_file_record(Reader(parsed(json, source), source));
}

Manifest manifest(const std::string& json, const std::string& source) {
  Json whole = parsed(json, source);
  const Reader reader(whole, source);
  if (const auto format = reader.size("format"); format != Manifest::format)
    reader.wrong(fmt::format("format {}; this program reads {}", format, Manifest::format));
  const std::uint64_t noted = reader.checksum("checksum");
  Json covered = whole;
  covered.erase("checksum");
  if (checksum_of(text_of(covered)) != noted) reader.wrong("changed since it was written: its own checksum differs");
  Manifest manifest;
  manifest.run_id = reader.text("run_id");
  manifest.step = reader.size("step");
  manifest.samples = reader.size("samples");
  manifest.loss_scale = reader.real("loss_scale");
  manifest.scaling = reader.optional("scaling", read_scaling);
  manifest.moments = reader.flag("moments");
  manifest.config = reader.text("config");
  manifest.data = reader.optional("data", read_data).value_or(DataRecord{});
  manifest.tensors = reader.list("tensors", [](const Reader& tensor) {
    return TensorRecord{tensor.text("name"), tensor.shape("shape")};
  });
  manifest.files = reader.list("files", read_file_record);
  const Reader master = reader.object("master");
  manifest.master = {master.size("bytes"), master.checksum("checksum")};
  return manifest;
}

}  // namespace trireme::store
