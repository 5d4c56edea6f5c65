#include "config/write.h"

#include <fmt/format.h>

#include "config/keys.h"

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

}  // namespace trireme::config
