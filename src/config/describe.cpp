#include "config/describe.h"

#include <map>
#include <vector>

#include <fmt/format.h>

#include "config/keys.h"
#include "config/value.h"

namespace trireme::config {
namespace {

/// What the section is about, as a sentence.
const std::string& purpose(const std::string& section) {
  static const std::map<std::string, std::string> purposes = {
      {"model", "The model, and the weights to start from."},
      {"parallel", "How the ranks share the work."},
      {"batch", "How many samples make a step."},
      {"precision", "The types of numbers."},
      {"optimizer", "AdamW and its learning rate."},
      {"data", "What the model is trained on."},
      {"run", "The run: its folder, its length, its limits, what it reports."},
      {"kernels", "Which libraries compute."},
      {"placement", "Where the ranks may run."},
      {"checkpoint", "When the run saves, and what it keeps."},
      {"trace", "Which steps are recorded in full."}};
  return purposes.at(section);
}

/// What kind of value the slot takes, for one overload a type.
struct Kind {
  const Key& key;

  std::string whole() const { return key.unit.empty() ? "a whole number" : "a whole number of " + key.unit; }
  std::string operator()(const std::int64_t*) const { return whole(); }
  std::string operator()(const std::uint64_t*) const { return whole(); }
  std::string operator()(const double*) const { return key.duration ? "a time such as \"4h\", or seconds" : "a number"; }
  std::string operator()(const bool*) const { return "true or false"; }
  std::string operator()(const std::string*) const { return !key.words.empty() ? "" : key.path ? "a path" : "text"; }
  std::string operator()(const std::vector<std::int64_t>*) const { return "a list of whole numbers"; }
};

/// "a whole number of steps, at least 0"
std::string values_text(const Key& key) {
  Config any;
  const std::string kind = std::visit(Kind{key}, key.slot(any)), legal = legal_values(key);
  return kind + (kind.empty() || legal.empty() ? "" : ", ") + legal;
}

/// Its meaning, what this version has where that is not all, and whether it may change.
std::string sentences(const Key& key) {
  std::string text = key.meaning;
  if (!key.built.empty()) text += fmt::format(" This version has only {}.", built_values(key));
  if (key.fixed) text += " A run that goes on may not change it.";
  return text;
}

std::string default_text(const Key& key) {
  Config defaults;
  return key.required ? "" : toml_text(key.slot(defaults));
}

/// Every sentence on a line of its own, behind `indent`.
std::string in_lines(const std::string& text, const std::string& indent) {
  std::string lines = indent + text + "\n";
  for (auto end = lines.find(". "); end != std::string::npos; end = lines.find(". ", end)) lines.replace(end, 2, ".\n" + indent);
  return lines;
}

/// All keys by `row`, with `head` before each section.
template <class Head, class Row>
std::string table(Head head, Row row) {
  std::string text, section;
  for (const auto& key : all_keys()) {
    if (key.section != section) text += (section.empty() ? "" : "\n") + head(key.section);
    section = key.section;
    text += row(key);
  }
  return text;
}

}  // namespace

std::string keys_text() {
  const auto head = [](const std::string& section) { return fmt::format("[{}]  {}\n", section, purpose(section)); };
  const auto row = [](const Key& key) {
    const std::string given = key.required ? "required" : "default " + default_text(key);
    return fmt::format("  {:<19} {}; {}\n{}", key.name, given, values_text(key), in_lines(sentences(key), "      "));
  };
  return table(head, row);
}

std::string keys_markdown() {
  const auto head = [](const std::string& section) {
    return fmt::format("## [{}]\n\n{}\n\n| key | default | values | meaning |\n|---|---|---|---|\n", section, purpose(section));
  };
  const auto row = [](const Key& key) {
    return fmt::format("| `{}` | {} | {} | {} |\n", key.name, key.required ? "required" : "`" + default_text(key) + "`",
                       values_text(key), sentences(key));
  };
  return table(head, row);
}

}  // namespace trireme::config
