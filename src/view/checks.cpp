#include "view/checks.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "view/svg.h"

namespace trireme::view {
namespace {

std::ptrdiff_t count(const std::vector<Check>& checks, Verdict verdict) {
  return std::count_if(checks.begin(), checks.end(), [&](const Check& check) { return check.verdict == verdict; });
}

std::string verdict_text(const Check& check) {
  if (check.verdict == Verdict::pass) return "pass";
  return fmt::format("{} {}", check.verdict == Verdict::fail ? "FAIL" : "skipped:", check.failure);
}

using Line = std::array<std::string, 10>;

/// "[2]" and remembers the reason under that number; equal reasons share one.
std::string footnote(const std::string& reason, std::vector<std::string>& reasons) {
  if (reason.empty()) return "";
  const auto found = std::find(reasons.begin(), reasons.end(), reason);
  const auto number = found - reasons.begin() + 1;
  if (found == reasons.end()) reasons.push_back(reason);
  return fmt::format("[{}]", number);
}

Line line_of(const Check& c, std::vector<std::string>& reasons) {
  return {c.subject,      c.quantity, c.steps, c.reference, c.ours, c.absolute, c.relative, c.limit, footnote(c.reason, reasons),
          verdict_text(c)};
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : as_utf8(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\n' || c == '\t')
      out += fmt::format("&#{};", static_cast<int>(c));  // as they are, they would become blanks in an attribute
    else
      out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return out;
}

std::string junit_body(const Check& check) {
  if (check.verdict == Verdict::skipped) return fmt::format("<skipped message=\"{}\"/>", escaped(check.failure));
  if (check.verdict == Verdict::pass) return "";
  return fmt::format(
      "<failure message=\"{}\">{}</failure>", escaped(check.failure),
      escaped(fmt::format("reference {}, ours {}, limit {} ({})", check.reference, check.ours, check.limit, check.reason)));
}

}  // namespace

bool any_failed(const std::vector<Check>& checks) { return count(checks, Verdict::fail) > 0; }

std::string table_text(const std::vector<Check>& checks) {
  std::vector<Line> lines = {{"case", "quantity", "steps", "reference", "ours", "max |d|", "max rel", "limit", "why", "verdict"}};
  std::vector<std::string> reasons;
  for (const Check& check : checks) lines.push_back(line_of(check, reasons));
  std::array<std::size_t, std::tuple_size_v<Line>> width{};
  for (const Line& line : lines)
    for (std::size_t k = 0; k + 1 < line.size(); ++k) width[k] = std::max(width[k], line[k].size());
  std::string text;
  for (const Line& line : lines) {
    std::string row;
    for (std::size_t k = 0; k < line.size(); ++k) row += fmt::format("{:<{}}  ", line[k], width[k]);
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  for (std::size_t k = 0; k < reasons.size(); ++k) text += fmt::format("[{}] {}\n", k + 1, reasons[k]);
  return text + fmt::format("{}, {} passed, {} failed, {} skipped\n", base::counted(std::ssize(checks), "check"),
                            count(checks, Verdict::pass), count(checks, Verdict::fail), count(checks, Verdict::skipped));
}

std::string junit_xml(const std::vector<Check>& checks, const std::string& suite) {
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n",
      escaped(suite), checks.size(), count(checks, Verdict::fail), count(checks, Verdict::skipped));
  for (const Check& check : checks)
    text += fmt::format("  <testcase classname=\"{}\" name=\"{}\">{}</testcase>\n", escaped(check.subject),
                        escaped(check.quantity), junit_body(check));
  return text + "</testsuite>\n";
}

}  // namespace trireme::view
