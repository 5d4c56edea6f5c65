// `make validate`: every case of validation/cases on several layouts against its reference, and invariants that need none. Runs
// the program as a user does and prints one table; ends with 3 when any check fails. The two tables at the top are all there is
// to extend.
//
// Usage, from the root of the repository: validate PROGRAM MPIEXEC [JUNIT_FILE]
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "base/error.h"
#include "base/file.h"
#include "base/output_file.h"
#include "config/reader.h"
#include "view/comparison.h"

namespace {

namespace fs = std::filesystem;
using namespace trireme;
using view::Check;
using view::Verdict;

struct Layout {
  std::string name;
  int ranks;
  std::vector<std::string> overrides;
};

const std::vector<Layout> layouts = {
    {"serial", 1, {}},
    {"t2p2", 4, {"parallel.tensor=2", "parallel.pipeline=2"}},
    {"t2d2", 4, {"parallel.tensor=2"}},
    {"p2d2", 4, {"parallel.pipeline=2"}},
    {"p2d2-gpipe", 4, {"parallel.pipeline=2", "parallel.schedule=gpipe"}},
    {"p2v2d2", 4, {"parallel.pipeline=2", "parallel.virtual=2", "parallel.schedule=interleaved"}},
    {"t2p2d2", 8, {"parallel.tensor=2", "parallel.pipeline=2"}},
};

struct Case {
  std::string name;
  std::vector<std::pair<std::string, std::string>> skipped;  // layout, why it cannot be
};

const std::vector<Case> cases = {
    {"even", {}},
    {"odd", {}},
    {"decay", {{"p2v2d2", "2 layers cannot fill 4 chunks"}}},
};

std::string program, launcher;
const std::string folder = "build/validate";
std::vector<Check> checks;

std::string shell_word(const std::string& word) { return "'" + word + "'"; }

/// Trains; what it prints goes to NAME.out. Returns what went wrong, or nothing.
std::string train(const std::string& name, int ranks, const std::string& input, const std::vector<std::string>& overrides) {
  fmt::print(stderr, "run   {}\n", name);
  std::string line =
      fmt::format("{} -n {} {} train {} run.directory={}", launcher, ranks, shell_word(program), input, folder + "/" + name);
  for (const std::string& value : overrides) line += " " + shell_word(value);
  const std::string out = fmt::format("{}/{}.out", folder, name);
  fs::remove_all(folder + "/" + name);  // what an earlier run left must not be judged
  const int status = std::system((line + " >" + out + " 2>&1 </dev/null").c_str());
  if (status == 0) return "";
  return fmt::format("the run ended with {}, see {}", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out);
}

void add_failure(const std::string& subject, const std::string& quantity, const std::string& failure) {
  checks.push_back({.subject = subject, .quantity = quantity, .failure = failure});
}

/// A check of two texts for equality.
void add_equal(const std::string& subject, const std::string& quantity, const std::string& steps, const std::string& expected,
               const std::string& ours, const std::string& reason) {
  Check check{.subject = subject,
              .quantity = quantity,
              .steps = steps,
              .reference = expected,
              .ours = ours,
              .limit = "exact",
              .verdict = expected == ours ? Verdict::pass : Verdict::fail,
              .reason = reason};
  if (expected != ours) check.failure = "differs";
  checks.push_back(check);
}

void compare_with_reference(const Case& c, const Layout& layout) {
  const std::string name = c.name + "-" + layout.name, reference = "validation/cases/" + c.name;
  const std::string failure = train(name, layout.ranks, reference + "/input.toml", layout.overrides);
  if (!failure.empty()) return add_failure(name, "all", failure);
  try {
    if (!fs::exists(reference + "/reference.csv")) base::refuse("{}: no reference.csv", reference);
    for (Check& check : view::compare_files(view::find_compared(reference, folder + "/" + name, ""))) {
      if (check.verdict == Verdict::skipped) check.subject = c.name;  // of the reference, whatever the layout: said once
      const bool said = std::any_of(checks.begin(), checks.end(), [&](const Check& other) {
        return other.subject == check.subject && other.quantity == check.quantity;
      });
      if (!said) checks.push_back(std::move(check));
    }
  } catch (const base::Error& error) {  // a missing reference is a failure
    add_failure(name, "all", error.what());
  }
}

void reference_cases() {
  for (const Case& c : cases)
    for (const Layout& layout : layouts) {
      const auto impossible =
          std::find_if(c.skipped.begin(), c.skipped.end(), [&](const auto& skip) { return skip.first == layout.name; });
      if (impossible == c.skipped.end())
        compare_with_reference(c, layout);
      else
        checks.push_back({.subject = c.name + "-" + layout.name,
                          .quantity = "all",
                          .verdict = Verdict::skipped,
                          .failure = impossible->second});
    }
}

// Invariants, on input/tiny.toml: what must hold without a reference, each with an expectation from elsewhere.

const std::string tiny = "input/tiny.toml";
constexpr int invariant_steps = 3;

/// The rows of metrics.csv against `expected`.
void add_metric(const std::string& name, const std::string& quantity, const view::Series& expected,
                const view::Tolerance& tolerance) {
  const std::string path = folder + "/" + name + "/metrics.csv";
  const view::Metrics metrics = view::parse_metrics(base::read_file(path), path, {tolerance});
  checks.push_back(view::compare_series(expected, metrics.at(quantity), tolerance, name));
}

/// A model that knows nothing gives every token probability 1/V; weights of N(0, 0.02) are close to that.
void check_first_loss(const config::Model& model, const std::string& name) {
  const std::string path = folder + "/" + name + "/metrics.csv";
  const view::Tolerance tolerance{"loss", 0.02, {}, "ln V: random weights know nothing; they add half a logit's variance"};
  const view::Metrics metrics = view::parse_metrics(base::read_file(path), path, {tolerance});
  const double ours = metrics.at("loss").at(1);  // of all steps only the first
  checks.push_back(view::compare_series({{1, std::log(static_cast<double>(model.vocabulary))}}, {{1, ours}}, tolerance, name));
}

void check_tokens(const config::Config& config, const std::string& name) {
  view::Series expected;
  for (std::int64_t step = 1; step <= invariant_steps; ++step)
    expected[step] = static_cast<double>(step * config.batch.global * config.model.sequence);
  add_metric(name, "tokens", expected, {"tokens", {}, {}, "B s tokens a step"});
}

/// Bytes and calls of all ranks: a message is one send of b s h floats and one receive. Of the B / b microbatches each crosses
/// p v - 1 boundaries, t times, as an activation and back as a gradient.
void check_messages(const config::Config& config, const nlohmann::json& ranks, const std::string& name) {
  const auto& [t, p, v] = std::tuple(config.parallel.tensor, config.parallel.pipeline, config.parallel.chunks);
  const std::int64_t messages = invariant_steps * (config.batch.global / config.batch.micro) * (p * v - 1) * t;
  const std::int64_t size = config.batch.micro * config.model.sequence * config.model.hidden * 4;
  for (const char* kind : {"pp_activation", "pp_gradient"}) {
    std::int64_t bytes = 0, calls = 0;
    for (const auto& rank : ranks)
      bytes += rank["bytes"][kind].get<std::int64_t>(), calls += rank["calls"][kind].get<std::int64_t>();
    const std::string steps = fmt::format("1-{}", invariant_steps);
    add_equal(name, fmt::format("bytes {}", kind), steps, fmt::to_string(messages * size), fmt::to_string(bytes),
              "messages x 4 b s h bytes, on all ranks");
    add_equal(name, fmt::format("calls {}", kind), steps, fmt::to_string(2 * messages), fmt::to_string(calls),
              "each send has its receive");
  }
}

/// Ranks of one stage do the same work, so they send equally many bytes of every kind.
void check_symmetry(const nlohmann::json& ranks, const std::string& name) {
  std::string differing = "none";
  for (const auto& rank : ranks)
    for (const auto& other : ranks)
      for (const auto& [kind, bytes] : rank["bytes"].items())
        if (rank["pipeline"] == other["pipeline"] && kind != "control" && bytes != other["bytes"][kind]) differing = kind;
  add_equal(name, "asymmetric kinds", fmt::format("1-{}", invariant_steps), "none", differing, "ranks of a stage send alike");
}

void check_invariants(const Layout& layout) {
  const std::string name = "tiny-" + layout.name;
  std::vector<std::string> overrides = layout.overrides;
  for (const char* value : {"run.check_copies_every=1", "run.log_every=1"}) overrides.push_back(value);
  overrides.push_back(fmt::format("run.steps={}", invariant_steps));
  if (const auto failure = train(name, layout.ranks, tiny, overrides); !failure.empty()) return add_failure(name, "all", failure);
  const config::Config config = config::read_config(tiny, base::read_file(tiny), overrides).config;
  const auto ranks = nlohmann::json::parse(base::read_file(folder + "/" + name + "/summary.json"))["ranks"];
  check_first_loss(config.model, name);
  check_tokens(config, name);
  check_messages(config, ranks, name);
  if (layout.ranks > 1) check_symmetry(ranks, name);
}

/// With a learning rate of 0 the last weights are the first: the same file whatever the layout.
void check_initial_weights(const Layout& layout) {
  const std::string name = "start-" + layout.name;
  const auto weights = [](const std::string& run) { return folder + "/" + run + ".safetensors"; };
  fs::remove(weights(name));
  std::vector<std::string> overrides = layout.overrides;
  for (const char* value : {"run.steps=1", "optimizer.learning_rate=0", "optimizer.min_learning_rate=0"})
    overrides.push_back(value);
  overrides.push_back("run.final_weights=" + weights(name));
  if (const auto failure = train(name, layout.ranks, tiny, overrides); !failure.empty())
    return add_failure(name, "initial weights", failure);
  if (&layout == &layouts.front()) return;  // the one the others are held against
  const bool equal = base::read_file(weights(name)) == base::read_file(weights("start-" + layouts.front().name));
  add_equal(name, "initial weights", "0", "serial's", equal ? "serial's" : "other bytes", "functions of seed, name, index");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: validate PROGRAM MPIEXEC [JUNIT_FILE]\n");
    return static_cast<int>(base::Exit::bad_input);
  }
  program = argv[1], launcher = argv[2];
  try {
    if (argc > 3) base::check_output_file(argv[3], argv[3], base::junit_report);
  } catch (const base::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.status());
  }
  fs::create_directories(folder);
  try {
    reference_cases();
    for (const Layout& layout : layouts) check_invariants(layout);
    for (const Layout& layout : layouts) check_initial_weights(layout);
  } catch (const std::exception& error) {  // a file that a good run leaves behind is not there or not readable
    add_failure("validate", "all", error.what());
  }
  fmt::print("{}", view::table_text(checks));
  if (argc > 3) base::write_file_atomically(argv[3], view::junit_xml(checks, "trireme validate"));
  return static_cast<int>(view::any_failed(checks) ? base::Exit::mismatch : base::Exit::done);
}
