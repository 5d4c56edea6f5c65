#include "config/write.h"

#include <fmt/format.h>

#include "config/keys.h"
#include "config/value.h"

namespace trireme::config {

std::string write_config(const Resolved& resolved) {
  Config config = resolved.config;
  std::string text, section;
  for (const auto& key : all_keys()) {
    if (key.section != section) text += fmt::format("{}[{}]\n", section.empty() ? "" : "\n", key.section);
    section = key.section;
    const std::string setting = key.name + " = " + toml_text(key.slot(config));
    text += fmt::format("{:<35} # {}\n", setting, resolved.origins.at(key.full_name()));
  }
  return text;
}

std::string keys_text() {
  Config defaults;
  std::string text, section;
  for (const auto& key : all_keys()) {
    if (key.section != section) text += fmt::format("{}[{}]\n", section.empty() ? "" : "\n", key.section);
    section = key.section;
    text += fmt::format("  {:<19} {:<10} {:<8} {}", key.name, key.required ? "required" : toml_text(key.slot(defaults)), key.unit,
                        key.meaning);
    if (const auto legal = legal_values(key); !legal.empty()) text += fmt::format(" ({})", legal);
    if (!key.built.empty()) text += fmt::format("; this version: only {}", built_values(key));
    text += "\n";
  }
  return text;
}

}  // namespace trireme::config
