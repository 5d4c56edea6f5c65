#include "config/value.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

namespace trireme::config {
namespace {

std::vector<std::string> in_quotes(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const auto& word : words) quoted.push_back('"' + word + '"');
  return quoted;
}

std::string type_name(const Value& value) {
  static const char* const names[] = {"a boolean", "a whole number", "a real number", "a string", "a list"};
  const auto* other = std::get_if<OtherType>(&value);
  return other ? other->what : names[value.index()];
}

/// Stores a Value behind a Slot; one overload a type that a key can have.
class Store {
 public:
  Store(const Key& key, const Value& value) : key_(key), value_(value) {}

  void operator()(std::int64_t* slot) const { *slot = whole(); }
  void operator()(std::uint64_t* slot) const { *slot = static_cast<std::uint64_t>(whole()); }
  void operator()(double* slot) const { *slot = real(); }
  void operator()(bool* slot) const {
    const auto* given = std::get_if<bool>(&value_);
    if (!given) wrong_type("true or false");
    *slot = *given;
  }
  void operator()(std::string* slot) const { *slot = word(); }
  void operator()(std::vector<std::int64_t>* slot) const {
    const auto* list = std::get_if<std::vector<std::int64_t>>(&value_);
    if (!list) wrong_type("a list of whole numbers");
    for (const auto element : *list) check_range(static_cast<double>(element), fmt::format("{}", element));
    *slot = *list;
  }

 private:
  [[noreturn]] void wrong_type(const std::string& wanted) const {
    Config any;
    const bool text = key_.duration || std::holds_alternative<std::string*>(key_.slot(any));
    throw Complaint{fmt::format("'{}' must be {}, not {}", key_.full_name(), wanted, type_name(value_)),
                    text ? "write it in quotes" : ""};
  }

  std::int64_t whole() const {
    constexpr double exact = 0x1p53;  // beyond it a double no longer names one whole number
    const auto* integer = std::get_if<std::int64_t>(&value_);
    const auto* number = std::get_if<double>(&value_);
    if (!integer && !(number && std::abs(*number) <= exact && *number == std::floor(*number))) wrong_type("a whole number");
    const std::int64_t given = integer ? *integer : static_cast<std::int64_t>(*number);
    check_range(static_cast<double>(given), fmt::format("{}", given));
    return given;
  }

  double real() const {
    const auto* integer = std::get_if<std::int64_t>(&value_);
    const auto* number = std::get_if<double>(&value_);
    const auto* text = std::get_if<std::string>(&value_);
    if (!integer && !number && !(text && key_.duration)) wrong_type(key_.duration ? "a time such as \"4h\"" : "a number");
    const double given = integer ? static_cast<double>(*integer) : number ? *number : std::get<double>(parse_value(key_, *text));
    if (!std::isfinite(given)) throw Complaint{fmt::format("'{}' must be a finite number", key_.full_name()), ""};
    check_range(given, base::real_text(given));
    if (key_.fp32) check_fp32(given);
    return given + 0.0;  // no -0
  }

  /// What the kernels take is an fp32.
  void check_fp32(double given) const {
    constexpr double most = std::numeric_limits<float>::max(), below_one = 1 - 0x1p-24;  // the largest below 1 in fp32
    const auto refuse_for = [&](const std::string& becomes, double nearest) {
      throw Complaint{fmt::format("{} = {} counts as {} in fp32, the type that it is computed with", key_.full_name(),
                                  base::real_text(given), becomes),
                      fmt::format("nearest: {:.9g}", nearest)};
    };
    if (std::abs(given) > most) refuse_for("infinite", given > 0 ? most : -most);
    if (given > 0 && given < key_.smallest) refuse_for("0", key_.smallest);
    if (given < 1 && static_cast<float>(given) == 1) refuse_for("1", below_one);
  }

  /// Neither the program nor a rank on another machine knows what a shell would make of it.
  void check_path(const std::string& text) const {
    if (text.find('\0') != std::string::npos) throw Complaint{fmt::format("{} holds a zero byte", key_.full_name()), ""};
    const auto expansion = base::unexpanded(text);
    if (!expansion) return;
    throw Complaint{
        fmt::format("{} = \"{}\": {} is not expanded here; write the path in full", key_.full_name(), text, *expansion), ""};
  }

  std::string word() const {
    const auto* integer = std::get_if<std::int64_t>(&value_);
    const auto* text = std::get_if<std::string>(&value_);
    if (key_.or_number && integer) {
      check_range(static_cast<double>(*integer), fmt::format("{}", *integer));
      return fmt::format("{}", *integer);
    }
    if (!text) wrong_type("a string");
    if (key_.path) check_path(*text);
    if (!key_.words.empty() && std::find(key_.words.begin(), key_.words.end(), *text) == key_.words.end()) unknown_word(*text);
    if (!text->empty() && !text->ends_with(key_.suffix)) {
      throw Complaint{fmt::format("{} = \"{}\" must name a {} file", key_.full_name(), *text, key_.suffix), ""};
    }
    for (const std::string& ending : key_.without)
      if (text->ends_with(ending)) {
        const std::string prefix = text->substr(0, text->size() - ending.size());
        throw Complaint{fmt::format("{} = \"{}\" is a path without {}", key_.full_name(), *text, ending),
                        fmt::format("\"{}\"", prefix)};
      }
    return *text;
  }

  [[noreturn]] void unknown_word(const std::string& text) const {
    const auto near = base::nearest_words(text, key_.words);
    throw Complaint{fmt::format("{} = \"{}\" is not one of {}", key_.full_name(), text, legal_values(key_)),
                    near.empty() ? "" : fmt::format("did you mean {}?", base::alternatives(in_quotes(near)))};
  }

  void check_range(double number, const std::string& text) const {
    const Range& range = key_.range;
    const bool low = range.without_low ? number <= range.low : number < range.low;
    const bool high = range.without_high ? number >= range.high : number > range.high;
    if (!low && !high) return;
    const bool open = low ? range.without_low : range.without_high;
    throw Complaint{fmt::format("{} = {} is out of range: {}", key_.full_name(), text, range_text(range)),
                    open ? "" : fmt::format("nearest: {:.15g}", low ? range.low : range.high)};
  }

  const Key& key_;
  const Value& value_;
};

Value parse_boolean(const std::string& text) {
  for (const char* yes : {"true", "yes", "1"}) {
    if (text == yes) return true;
  }
  for (const char* no : {"false", "no", "0"}) {
    if (text == no) return false;
  }
  base::refuse("'{}' is neither true nor false", text);
}

Value parse_list(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  std::vector<std::int64_t> list;
  for (const auto& piece : base::split(text, ',')) list.push_back(base::parse_count(piece));
  return list;
}

Value parse_word(const Key& key, std::string_view text) {
  if (text.size() >= 2 && text.front() == text.back() && (text.front() == '"' || text.front() == '\'')) {
    text = text.substr(1, text.size() - 2);
  }
  const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (key.or_number && number) return base::parse_count(text);
  return std::string(text);
}

/// Reads text by the type behind a Slot.
struct Parse {
  const Key& key;
  std::string_view text;

  Value operator()(const std::int64_t*) const { return base::parse_count(text); }
  Value operator()(const std::uint64_t*) const { return base::parse_count(text); }
  Value operator()(const double*) const { return key.duration ? base::parse_duration(text) : base::parse_real(text); }
  Value operator()(const bool*) const { return parse_boolean(std::string(text)); }
  Value operator()(const std::string*) const { return parse_word(key, text); }
  Value operator()(const std::vector<std::int64_t>*) const { return parse_list(text); }
};

}  // namespace

Value parse_value(const Key& key, std::string_view text) {
  Config any;
  try {
    return std::visit(Parse{key, base::trimmed(text)}, key.slot(any));
  } catch (const base::Error& error) {
    throw Complaint{fmt::format("{}: {}", key.full_name(), error.what()), ""};
  }
}

void assign(const Key& key, const Value& value, Config& config) { std::visit(Store(key, value), key.slot(config)); }

void check_built(const Key& key, Config& config) {
  const Slot slot = key.slot(config);
  if (key.built.empty() || std::find(key.built.begin(), key.built.end(), plain_text(slot)) != key.built.end()) return;
  throw Complaint{fmt::format("{} = {}: {} is not built yet; only {} {} in this version", key.full_name(), toml_text(slot),
                              key.feature, built_values(key), key.built.size() == 1 ? "works" : "work"),
                  ""};
}

std::string built_values(const Key& key) {
  Config any;
  const bool string = std::holds_alternative<std::string*>(key.slot(any));
  return base::alternatives(string ? in_quotes(key.built) : key.built);
}

std::string legal_values(const Key& key) {
  if (key.words.empty()) return range_text(key.range);
  auto words = in_quotes(key.words);
  if (key.or_number) words.push_back("a number " + range_text(key.range));
  return base::alternatives(words);
}

}  // namespace trireme::config
