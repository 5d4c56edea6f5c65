#include "grid/node_notes.h"

#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

namespace trireme::grid {

namespace fs = std::filesystem;

std::string rows_text(const std::vector<Seen>& rows) {
  std::string text;
  for (const Seen& r : rows)
    text += fmt::format("{} {} {} {:d} {:d} {} {} {} {} {}\n", r.rank, r.unheard, r.unchanged, r.starting, r.left, r.step, r.kind,
                        r.subject.microbatch, r.subject.chunk, r.subject.peer);
  return text;
}

std::vector<Seen> rows_of(const std::string& text) {
  std::vector<Seen> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    Seen r;
    cells >> r.rank >> r.unheard >> r.unchanged >> r.starting >> r.left >> r.step >> r.kind >> r.subject.microbatch >>
        r.subject.chunk >> r.subject.peer;
    if (!cells || r.kind < -1 || r.kind >= activity_kinds) base::fail("not a row of the watchdog: {}", line);
    rows.push_back(r);
  }
  return rows;
}

NodeNotes::NodeNotes(std::string folder, int node) : folder_(std::move(folder)), node_(node) {}

std::string NodeNotes::file(const char* kind, int node) const { return fmt::format("{}/{}-{}.txt", folder_, kind, node); }

bool NodeNotes::asked() const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored))
    if (entry.path().filename().string().starts_with("ask-")) return true;
  return false;
}

void NodeNotes::ask() const { base::write_file_atomically(file("ask", node_), "\n"); }

void NodeNotes::withdraw() const {
  unlink(file("ask", node_).c_str());
  unlink(file("node", node_).c_str());
}

void NodeNotes::answer(const std::vector<Seen>& rows) {
  base::write_file_atomically(file("node", node_), fmt::format("{} {}\n{}", getpid(), ++answers_, rows_text(rows)));
}

std::vector<Seen> NodeNotes::newer_answer(int node) {
  try {
    const std::string text = base::read_file(file("node", node));
    if (std::exchange(last_[node], text) == text) return {};
    return rows_of(text.substr(text.find('\n') + 1));
  } catch (const base::Error&) {
    return {};
  }
}

}  // namespace trireme::grid
