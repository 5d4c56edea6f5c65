#include "view/comparison.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "config/problems.h"
#include "config/toml_file.h"

namespace trireme::view {
namespace {

namespace fs = std::filesystem;

/// A line's cells; an empty line has one empty cell.
std::vector<std::string> cells_of(std::string_view line, const std::string& place) {
  if (line.find('"') != std::string_view::npos) base::refuse("{}: quoted cells are not read", place);
  std::vector<std::string> cells;
  for (;;) {
    const auto comma = line.find(',');
    cells.emplace_back(base::trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

template <class Number>
Number parsed(const std::string& cell, const std::string& place, const char* what) {
  Number value{};
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size())
    base::refuse("{}: '{}' is not a {}", place, base::clipped(cell), what);
  return value;
}

/// The header of a CSV file: which cell is the step, which are wanted.
struct Header {
  std::size_t cells = 0, step = 0;
  std::map<std::string, std::size_t> wanted;
};

Header parse_header(std::string_view line, const std::string& place, const std::vector<Tolerance>& quantities) {
  const std::vector<std::string> names = cells_of(line, place);
  std::map<std::string, std::size_t> at;
  for (std::size_t k = 0; k < names.size(); ++k)
    if (!at.emplace(names[k], k).second) base::refuse("{}: two columns '{}'", place, base::clipped(names[k]));
  if (!at.contains("step")) base::refuse("{}: no column 'step'", place);
  Header header{names.size(), at["step"], {}};
  for (const Tolerance& tolerance : quantities)
    if (const auto found = at.find(tolerance.quantity); found != at.end()) header.wanted.insert(*found);
  return header;
}

struct Row {
  std::int64_t step = 0;
  std::vector<std::pair<std::string, double>> values;
};

Row parse_row(std::string_view line, const std::string& place, const Header& header) {
  const std::vector<std::string> cells = cells_of(line, place);
  if (cells.size() != header.cells)
    base::refuse("{}: damaged: the row has {} cells and the header {}", place, cells.size(), header.cells);
  Row row{parsed<std::int64_t>(cells[header.step], place, "step"), {}};
  for (const auto& [name, column] : header.wanted)
    if (!cells[column].empty()) row.values.emplace_back(name, parsed<double>(cells[column], place, "number"));
  return row;
}

/// One section of a tolerance file.
Tolerance parse_section(const config::Section& section, const std::string& path, config::Problems& problems) {
  Tolerance tolerance{section.name, {}, {}, ""};
  const auto wrong = [&](int line, const std::string& message) {
    problems.add(config::Location{.origin = fmt::format("{}:{}", path, line), .line = line}, message, "");
  };
  const auto limit = [&](const config::Entry& entry) -> std::optional<double> {
    std::optional<double> value;
    if (const auto* real = std::get_if<double>(&entry.value)) value = *real;
    if (const auto* integer = std::get_if<std::int64_t>(&entry.value)) value = static_cast<double>(*integer);
    if (value && std::isfinite(*value) && *value >= 0) return value;
    wrong(entry.value_span.line, fmt::format("{}.{} is not a number of at least 0", section.name, entry.name));
    return 0.0;
  };
  for (const config::Entry& entry : section.entries) {
    if (entry.name == "relative") {
      tolerance.relative = limit(entry);
    } else if (entry.name == "absolute") {
      tolerance.absolute = limit(entry);
    } else if (entry.name == "reason" && std::holds_alternative<std::string>(entry.value)) {
      tolerance.reason = std::get<std::string>(entry.value);
    } else if (entry.name != "single" && entry.name != "serial") {  // what was measured, for people
      wrong(entry.name_span.line,
            fmt::format("{}.{}: expected relative, absolute, or reason as a text", section.name, entry.name));
    }
  }
  if (!tolerance.relative && !tolerance.absolute)
    wrong(section.span.line, fmt::format("[{}] has no limit: relative or absolute", section.name));
  if (base::trimmed(tolerance.reason).empty())
    wrong(section.span.line, fmt::format("[{}] has no reason for its limit", section.name));
  return tolerance;
}

std::string limit_text(const Tolerance& tolerance) {
  std::string text;
  if (tolerance.absolute) text += fmt::format("abs {}", base::real_text(*tolerance.absolute));
  if (tolerance.absolute && tolerance.relative) text += " or ";
  if (tolerance.relative) text += fmt::format("rel {}", base::real_text(*tolerance.relative));
  return text.empty() ? "exact" : text;
}

/// Largest value so far and its step.
struct Largest {
  double value = 0;
  std::int64_t step = 0;
  void offer(double candidate, std::int64_t at) {
    if (std::isfinite(candidate) && (step == 0 || candidate > value)) *this = {candidate, at};
  }
  std::string text() const { return step == 0 ? "" : value == 0 ? "0" : fmt::format("{:.2g} at {}", value, step); }
};

std::string text_at(const Series& series, std::int64_t step) {
  const auto found = series.find(step);
  return found == series.end() ? "-" : fmt::format("{:.9g}", found->second);
}

/// What is wrong at `step`, or nothing. NaN is never within a limit.
std::string fault_at(const Series& reference, const Series& ours, std::int64_t step, const Tolerance& tolerance) {
  if (!ours.contains(step)) return "no value";
  if (!reference.contains(step)) return "no reference";
  const double expected = reference.at(step), value = ours.at(step), difference = std::abs(value - expected);
  if (!std::isfinite(expected) || !std::isfinite(value)) return "not finite";
  const bool within =
      difference <= tolerance.absolute.value_or(0) || difference <= tolerance.relative.value_or(0) * std::abs(expected);
  return within ? "" : "outside the limit";
}

std::set<std::int64_t> steps_of(const Series& a, const Series& b) {
  std::set<std::int64_t> steps;
  for (const Series* series : {&a, &b})
    for (const auto& [step, value] : *series) steps.insert(step);
  return steps;
}

/// One side of a comparison.
struct Side {
  std::string csv, name;
  bool reference = false;
};

Side find_side(const std::string& given) {
  const fs::path path = fs::path(given).lexically_normal();
  if (!fs::exists(path)) base::refuse("{}: no such file or folder{}", given, base::looked_for(given));
  const std::string name = path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
  if (!fs::is_directory(path)) return {path.string(), path.stem().string()};
  if (fs::exists(path / "metrics.csv")) return {(path / "metrics.csv").string(), name};
  if (fs::exists(path / "reference.csv")) return {(path / "reference.csv").string(), name, true};
  base::refuse("{}: holds neither a run's metrics.csv nor a reference.csv", given);
}

}  // namespace

std::vector<Tolerance> parse_tolerance(const std::string& text, const std::string& path) {
  const config::TomlFile file = config::parse_toml(text);
  if (file.error) base::refuse("{}:{}: error: {}", path, file.error->span.line, file.error->message);
  config::Problems problems;
  std::vector<Tolerance> tolerances;
  for (const config::Section& section : file.sections) {
    const int line = section.entries.empty() ? section.span.line : section.entries[0].name_span.line;
    if (section.name.empty())
      problems.add(fmt::format("{}:{}", path, line), "a key outside of a [quantity], or a quantity without a name");
    else
      tolerances.push_back(parse_section(section, path, problems));
  }
  if (file.sections.empty()) problems.add(path, "no [quantity] in it");
  problems.throw_if_any();
  return tolerances;
}

std::vector<Tolerance> exact_tolerance() {
  std::vector<Tolerance> tolerances;
  for (const char* quantity : {"loss", "grad_norm", "learning_rate", "validation_loss"})
    tolerances.push_back({quantity, {}, {}, ""});
  return tolerances;
}

std::string note_on_equality() {
  return "The numbers were compared for equality. Only runs of one layout, one program and one kind of processor are equal. "
         "Another\n"
         "layout adds the same numbers in another order and rounds them otherwise: the losses of its first steps differ by "
         "about\n"
         "1e-6 of their value, those of later steps by more. To compare such runs, give limits in a file by --tolerance FILE:\n"
         "  [loss]\n"
         "  relative = 1e-4\n"
         "  reason = \"another layout rounds otherwise\"\n";
}

MetricsText read_metrics(const std::string& text, const std::string& path, const std::vector<Tolerance>& quantities) {
  MetricsText read;
  for (const Tolerance& tolerance : quantities) read.metrics[tolerance.quantity];
  std::optional<Header> header;
  std::set<std::int64_t> seen;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::string place = fmt::format("{}:{}", path, number);
    if (!header) {
      header = parse_header(line, place, quantities);
      continue;
    }
    try {
      const Row row = parse_row(line, place, *header);
      if (!seen.insert(row.step).second) base::refuse("{}: step {} for the second time", place, row.step);
      for (const auto& [name, value] : row.values) read.metrics[name][row.step] = value;
    } catch (const base::Error& error) {
      read.faults.emplace_back(error.what());
    }
  }
  if (seen.empty()) base::refuse("{}", read.faults.empty() ? path + ": no steps in it" : read.faults[0]);
  return read;
}

Metrics parse_metrics(const std::string& text, const std::string& path, const std::vector<Tolerance>& quantities) {
  MetricsText read = read_metrics(text, path, quantities);
  if (!read.faults.empty())
    base::refuse("{}{}", read.faults[0],
                 read.faults.size() == 1
                     ? ""
                     : fmt::format("; {} more of this file {} damaged", base::counted(std::ssize(read.faults) - 1, "row"),
                                   read.faults.size() == 2 ? "is" : "are"));
  return std::move(read.metrics);
}

Check compare_series(const Series& reference, const Series& ours, const Tolerance& tolerance, const std::string& subject) {
  Check check{.subject = subject, .quantity = tolerance.quantity, .limit = limit_text(tolerance), .reason = tolerance.reason};
  const std::set<std::int64_t> steps = steps_of(reference, ours);
  if (steps.empty()) {
    check.failure = "no value on either side";
    return check;
  }
  check.steps = fmt::format("{}-{}", *steps.begin(), *steps.rbegin());
  Largest absolute, relative;
  std::optional<std::int64_t> failing;
  for (const std::int64_t step : steps) {
    const std::string fault = fault_at(reference, ours, step, tolerance);
    if (!fault.empty() && !failing) {
      failing = step;
      check.failure = fmt::format("at step {} (first): {}", step, fault);
    }
    if (!reference.contains(step) || !ours.contains(step)) continue;
    const double expected = reference.at(step), difference = std::abs(ours.at(step) - expected);
    absolute.offer(difference, step);
    relative.offer(difference == 0 ? 0 : difference / std::abs(expected), step);
  }
  const std::int64_t shown = failing.value_or(relative.step);
  check.reference = text_at(reference, shown), check.ours = text_at(ours, shown);
  check.absolute = absolute.text(), check.relative = relative.text();
  if (!failing) check.verdict = Verdict::pass;
  return check;
}

ComparedFiles find_compared(const std::string& a, const std::string& b, const std::string& tolerance) {
  Side reference = find_side(a), ours = find_side(b);
  if (ours.reference && !reference.reference) std::swap(reference, ours);
  const fs::path limits = fs::path(reference.csv).parent_path() / "tolerance.toml";
  const bool has_limits = tolerance.empty() && reference.reference && fs::exists(limits);
  return {reference.csv, ours.csv, has_limits ? limits.string() : tolerance, ours.name};
}

std::vector<Check> compare_files(const ComparedFiles& files) {
  const auto& [reference, ours, limits, subject] = files;
  const auto tolerances = limits.empty() ? exact_tolerance() : parse_tolerance(base::read_file(limits), limits);
  const Metrics expected = parse_metrics(base::read_file(reference), reference, tolerances);
  const Metrics values = parse_metrics(base::read_file(ours), ours, tolerances);
  std::vector<Check> checks;
  for (const Tolerance& tolerance : tolerances) {
    const Series &left = expected.at(tolerance.quantity), &right = values.at(tolerance.quantity);
    if (left.empty() && right.empty() && limits.empty()) continue;  // nobody asked for it by name
    Check check = compare_series(left, right, tolerance, subject);
    const std::string other = fmt::format("reference_{}.csv", tolerance.quantity);
    if (left.empty() && right.empty() && fs::exists(fs::path(reference).parent_path() / other)) {
      check.verdict = Verdict::skipped;
      check.failure = fmt::format("{} is no metric of a run; make test holds it", other);
    }
    checks.push_back(check);
  }
  if (checks.empty()) base::refuse("{}, {}: nothing to compare", reference, ours);
  return checks;
}

}  // namespace trireme::view
