// A page of the project's documents, taken apart into what a test can hold it to.
//
// Above each block of commands (```sh) stands a comment that the reader of the page does not see: `<!-- run -->`, `<!-- run: exit
// N -->` or `<!-- not run: REASON -->`. A block ```text below a block that is run is what its commands print. What another
// machine or another day prints otherwise is named in the comment: in `<!-- run; varies: 83 ms, loss 5.5449 -->` these two pieces
// of the output stand for any with other numbers.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace trireme::test {

namespace fs = std::filesystem;

struct Block {
  int line = 0;          // of its first command, counted from 1
  std::string mark;      // the comment's text, without its brackets; empty: there is none
  std::string commands;  // lines as printed
  std::string output;    // what they print, as far as the page shows it

  bool is_run() const { return kind() == "run" || kind().starts_with("run: exit "); }
  int status() const { return kind() == "run" ? 0 : std::stoi(kind().substr(kind().rfind(' '))); }
  /// The pieces of the output whose numbers may be others.
  std::vector<std::string> varying() const;

 private:
  std::string kind() const { return mark.substr(0, mark.find("; varies: ")); }
};

struct Page {
  std::string path;                // below the project's folder
  std::vector<std::string> lines;  // all
  std::vector<Block> blocks;       // of commands
  std::vector<std::string> spans;  // `code` within a line of text
};

inline std::vector<std::string> lines_of(std::istream& text) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// "<!-- run -->" gives "run"; a line that is no such comment gives nothing.
inline std::string mark_in(const std::string& line) {
  static const std::regex comment("<!-- ((run|not run).*) -->");
  std::smatch found;
  return std::regex_match(line, found, comment) ? found[1].str() : "";
}

inline void add_spans(const std::string& line, std::vector<std::string>& spans) {
  static const std::regex code("`([^`]+)`");
  for (std::sregex_iterator it(line.begin(), line.end(), code), end; it != end; ++it) spans.push_back((*it)[1]);
}

inline std::vector<std::string> Block::varying() const {
  std::vector<std::string> pieces;
  const std::string start = "; varies: ";
  const auto at = mark.find(start);
  if (at == std::string::npos) return pieces;
  std::istringstream list(mark.substr(at + start.size()));
  for (std::string piece; std::getline(list >> std::ws, piece, ',');) pieces.push_back(piece);
  return pieces;
}

/// With one blank for each stretch of space, and none at the ends.
inline std::string normal(const std::string& line) {
  return std::regex_replace(std::regex_replace(line, std::regex("\\s+"), " "), std::regex("^ | $"), "");
}

/// `line` as an expression: the numbers within `varying` pieces are any numbers, "..." at the end is anything.
inline std::regex pattern_of(std::string line, const std::vector<std::string>& varying) {
  const std::string any_number = "[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?";
  const bool open = line.ends_with("...");
  if (open) line.resize(line.size() - 3);
  for (const std::string& piece : varying)
    if (const auto at = line.find(piece); at != std::string::npos)
      line.replace(at, piece.size(), std::regex_replace(piece, std::regex(any_number), "\x01"));
  const std::string plain = std::regex_replace(line, std::regex(R"([.*+?^${}()|[\]\\])"), "\\$&");
  return std::regex(std::regex_replace(plain, std::regex("\x01"), any_number) + (open ? ".*" : ""));
}

inline Page read_page(const fs::path& project, const std::string& path) {
  std::ifstream file(project / path);
  Page page{path, lines_of(file), {}, {}};
  std::string language, mark;
  bool inside = false;
  for (std::size_t k = 0; k < page.lines.size(); ++k) {
    const std::string& line = page.lines[k];
    if (line.starts_with("```")) {
      inside = !inside;
      language = inside ? line.substr(3) : "";
      if (language == "sh") page.blocks.push_back({static_cast<int>(k) + 2, mark, "", ""});
      mark.clear();
    } else if (inside && language == "sh") {
      page.blocks.back().commands += line + "\n";
    } else if (inside && language == "text" && !page.blocks.empty()) {
      page.blocks.back().output += line + "\n";
    } else if (!inside) {
      add_spans(line, page.spans);
      mark = mark_in(line);
    }
  }
  return page;
}

/// Every README.md of the project, by path.
inline std::vector<std::string> all_pages(const fs::path& project) {
  std::vector<std::string> pages;
  auto entry = fs::recursive_directory_iterator(project, fs::directory_options::skip_permission_denied);
  for (; entry != fs::recursive_directory_iterator(); ++entry) {
    const std::string name = entry->path().filename().string();
    if (entry.depth() == 0 && (name == "build" || name == "data" || name == "runs" || name.starts_with(".")))
      entry.disable_recursion_pending();
    if (name == "README.md") pages.push_back(fs::relative(entry->path(), project).string());
  }
  std::sort(pages.begin(), pages.end());
  return pages;
}

/// The first line of `shown` that `printed` does not hold behind the lines before it; empty when it holds them all. The amount of
/// space counts as equal, and so do the numbers in `varying` pieces; a line "..." stands for any lines, and one that ends in
/// "..." for any end.
inline std::string first_missing_line(const std::string& shown, const std::string& printed,
                                      const std::vector<std::string>& varying = {}) {
  std::istringstream shown_text(shown), printed_text(printed);
  std::vector<std::string> rest = lines_of(printed_text);
  for (std::string& line : rest) line = normal(line);
  auto at = rest.begin();
  for (const std::string& line : lines_of(shown_text)) {
    const std::string wanted = normal(line);
    if (wanted.empty() || wanted == "...") continue;
    const std::regex pattern = pattern_of(wanted, varying);
    at = std::find_if(at, rest.end(), [&](const std::string& other) { return std::regex_match(other, pattern); });
    if (at == rest.end()) return line;
    ++at;
  }
  return "";
}

}  // namespace trireme::test
