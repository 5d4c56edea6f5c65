#include "config/reader.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "config/derived.h"
#include "config/keys.h"
#include "config/problems.h"
#include "config/toml_file.h"
#include "config/value.h"

namespace trireme::config {
namespace {

std::string did_you_mean(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (const auto& name : names) quoted.push_back("'" + name + "'");
  return fmt::format("did you mean {}?", base::alternatives(quoted));
}

std::vector<std::string> keys_of(const std::string& section) {
  std::vector<std::string> names;
  for (const auto& key : all_keys()) {
    if (key.section == section) names.push_back(key.name);
  }
  return names;
}

bool is_section(const std::string& name) {
  const auto& sections = all_sections();
  return std::find(sections.begin(), sections.end(), name) != sections.end();
}

/// Full names of the keys nearest to `section`.`name`: of that section when one is near, else of any.
std::vector<std::string> nearest_keys(const std::string& section, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& near : base::nearest_words(name, keys_of(section))) names.push_back(section + "." + near);
  if (!names.empty()) return names;
  std::vector<std::string> all;
  for (const auto& key : all_keys()) all.push_back(key.name);
  const auto words = base::nearest_words(name, all);
  for (const auto& key : all_keys()) {
    if (std::find(words.begin(), words.end(), key.name) != words.end()) names.push_back(key.full_name());
  }
  return names;
}

/// Sections that have most of the keys found in an unknown one; without any, those with the nearest name.
std::vector<std::string> nearest_sections(const Section& unknown) {
  std::vector<std::string> best;
  std::size_t most = 1;
  for (const auto& name : all_sections()) {
    const auto known = keys_of(name);
    const auto hits = static_cast<std::size_t>(std::count_if(unknown.entries.begin(), unknown.entries.end(), [&](const Entry& e) {
      return std::find(known.begin(), known.end(), e.name) != known.end();
    }));
    if (hits > most) best.clear();
    most = std::max(most, hits);
    if (hits == most) best.push_back(name);
  }
  const auto near = base::nearest_words(unknown.name, best.empty() ? all_sections() : best);
  return near.empty() ? best : near;
}

class Reader {
 public:
  Reader(const std::string& path, const std::string& text) : text_(text) {
    resolved_.path = path;
    for (const auto& key : all_keys()) resolved_.origins[key.full_name()] = "default";
  }

  void read_file() {
    const TomlFile file = parse_toml(text_);
    if (file.error) {
      problems_.add(location_in_file(file.error->span), file.error->message, file.error->hint);
      unreadable_ = true;
    }
    for (const auto& section : file.sections) {
      if (section.name.empty() && !section.entries.empty()) {
        for (const auto& entry : section.entries) read_top_entry(entry);
      } else if (is_section(section.name)) {
        for (const auto& entry : section.entries) read_entry(section.name, entry);
      } else {
        refuse_section(section);
      }
    }
  }

  void read_override(const std::string& argument) {
    const auto equals = argument.find('=');
    Location name = {.origin = "command line", .text = argument, .length = static_cast<int>(std::min(equals, argument.size()))};
    if (equals == std::string::npos)
      return problems_.add(name, fmt::format("'{}' is not of the form section.key=value", argument), "");
    const std::string full_name(base::trimmed(std::string_view(argument).substr(0, equals)));
    const Key* key = find_key(full_name);
    if (!key) return refuse_key(full_name, name);
    Location value = name;
    value.column = static_cast<int>(equals) + 2;
    value.length = static_cast<int>(argument.size());
    attempt(*key, value, [&] { assign(*key, parse_value(*key, argument.substr(equals + 1)), resolved_.config); });
  }

  void finish(Missing missing, Unbuilt unbuilt) {
    for (const auto& key : all_keys()) {
      try {
        check_built(key, resolved_.config);
      } catch (const Complaint& complaint) {
        if (unbuilt == Unbuilt::allow)
          resolved_.unbuilt.push_back(key.full_name());
        else
          problems_.add(locations_.at(key.full_name()), complaint.message, complaint.hint);
      }
    }
    if (missing == Missing::refuse && !unreadable_) check_missing();
    check_data(missing);
    problems_.throw_if_any();
    auto& directory = resolved_.config.run.directory;
    if (directory.empty()) directory = "runs/" + std::filesystem::path(resolved_.path).stem().string();
  }

  Resolved take() { return std::move(resolved_); }

 private:
  Location location_in_file(const Span& span) const {
    std::size_t begin = 0;
    for (int line = 1; line < span.line; ++line) {
      const auto end = text_.find('\n', begin);
      if (end == std::string::npos) break;
      begin = end + 1;
    }
    std::string line = text_.substr(begin, text_.find('\n', begin) - begin);
    if (line.ends_with('\r')) line.pop_back();
    return {fmt::format("{}:{}", resolved_.path, span.line), span.line, line, span.column, span.length};
  }

  /// Runs `store`; its complaint is reported at `location`. A value that is wrong here is wrong even if a later one replaces it.
  template <class F>
  void attempt(const Key& key, const Location& location, F store) {
    const std::string name = key.full_name();
    given_.insert(name);
    try {
      store();
      resolved_.origins[name] = location.origin;
      locations_[name] = location;
    } catch (const Complaint& complaint) {
      complained_.insert(name);
      problems_.add(location, complaint.message, complaint.hint);
    }
  }

  void read_top_entry(const Entry& entry) {
    const Location location = location_in_file(entry.name_span);
    if (!is_section(entry.name)) return refuse_key(entry.name, location);
    problems_.add(location, fmt::format("'{0}' is a section, not a key: write [{0}] on a line of its own", entry.name), "");
    take_as_given(entry.name);
  }

  void read_entry(const std::string& section, const Entry& entry) {
    const std::string full_name = section + "." + entry.name;
    const Key* key = find_key(full_name);
    if (!key) return refuse_key(full_name, location_in_file(entry.name_span));
    attempt(*key, location_in_file(entry.value_span), [&] { assign(*key, entry.value, resolved_.config); });
  }

  /// The keys that were probably meant are not reported as missing on top.
  void refuse_key(const std::string& full_name, const Location& location) {
    const auto dot = full_name.rfind('.');
    const std::string section = dot == std::string::npos ? "" : full_name.substr(0, dot);
    const std::string name = dot == std::string::npos ? full_name : full_name.substr(dot + 1);
    const std::string unknown = fmt::format("unknown key '{}'", full_name);
    if (const auto reason = derived_from(name); !reason.empty()) return problems_.add(location, unknown, reason);
    const auto near = nearest_keys(section, name);
    given_.insert(near.begin(), near.end());
    std::string hint = fmt::format("sections are {}", base::alternatives(all_sections()));
    if (is_section(section)) hint = fmt::format("keys of [{}] are {}", section, base::alternatives(keys_of(section)));
    problems_.add(location, unknown, near.empty() ? hint : did_you_mean(near));
  }

  void refuse_section(const Section& section) {
    const auto near = nearest_sections(section);
    for (const auto& name : near) take_as_given(name);
    for (const auto& entry : section.entries) {
      const auto keys = nearest_keys(section.name, entry.name);
      given_.insert(keys.begin(), keys.end());
    }
    const std::string hint = fmt::format("sections are {}", base::alternatives(all_sections()));
    problems_.add(location_in_file(section.span), fmt::format("unknown section '{}'", section.name),
                  near.empty() ? hint : did_you_mean(near));
  }

  void take_as_given(const std::string& section) {
    for (const auto& name : keys_of(section)) given_.insert(section + "." + name);
  }

  void check_missing() {
    std::vector<std::string> names;
    for (const auto& key : all_keys()) {
      if (key.required && !given_.contains(key.full_name())) names.push_back(key.full_name());
    }
    if (!given_.contains("data.tokens") && !given_.contains("data.synthetic")) {
      names.push_back("data.tokens (or data.synthetic = true)");
    }
    if (names.empty()) return;
    problems_.add(resolved_.path, fmt::format("missing key{}: {}", names.size() == 1 ? "" : "s", fmt::join(names, ", ")));
  }

  void check_data(Missing missing) {
    const Data& data = resolved_.config.data;
    const auto& origins = resolved_.origins;
    if (data.synthetic && !data.tokens.empty()) {
      problems_.add(
          locations_.at("data.synthetic"),
          fmt::format("data.synthetic = true excludes data.tokens = \"{}\" ({})", data.tokens, origins.at("data.tokens")),
          "drop one of them");
    }
    const bool stored = origins.at("data.tokens") != "default" || origins.at("data.synthetic") != "default";
    const bool complained = complained_.contains("data.tokens") || complained_.contains("data.synthetic");
    if (missing == Missing::refuse && stored && !complained && !data.synthetic && data.tokens.empty()) {
      problems_.add(resolved_.path, "data.tokens is empty and data.synthetic is false: there is nothing to train on");
    }
  }

  const std::string& text_;
  Resolved resolved_;
  Problems problems_;
  std::map<std::string, Location> locations_;  // of the values that were stored last
  std::set<std::string> given_, complained_;   // full names
  bool unreadable_ = false;
};

}  // namespace

Resolved read_config(const std::string& path, const std::string& text, const std::vector<std::string>& overrides, Missing missing,
                     Unbuilt unbuilt) {
  Reader reader(path, text);
  reader.read_file();
  for (const auto& argument : overrides) reader.read_override(argument);
  reader.finish(missing, unbuilt);
  return reader.take();
}

std::string shown(const Resolved& resolved, const std::string& name) {
  Config copy = resolved.config;
  return fmt::format("{} = {} ({})", name, toml_text(find_key(name)->slot(copy)), resolved.origins.at(name));
}

Config without_unbuilt(const Resolved& resolved) {
  Config config = resolved.config;
  for (const auto& name : resolved.unbuilt) {
    const Key& key = *find_key(name);
    assign(key, parse_value(key, key.built.front()), config);
  }
  return config;
}

}  // namespace trireme::config
