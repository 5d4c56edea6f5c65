// Texts and words, as tests make them and look at them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace trireme::test {

using Words = std::vector<std::string>;

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// How often `part` stands in `text`; its places may overlap.
inline int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Makes the file, or replaces its content. Its folder is there.
inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// The same, and makes the folders above it as needed.
inline void write_text_below(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  write_text(path, text);
}

}  // namespace trireme::test
