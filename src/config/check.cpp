#include "config/check.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "base/text.h"
#include "base/units.h"
#include "config/keys.h"
#include "config/problems.h"
#include "config/steps.h"

namespace trireme::config {
namespace {

using Count = std::int64_t;

/// "; nearest model.heads: 8 or 12"; empty when there is none.
std::string listed(const std::string& key, const std::vector<Count>& values) {
  std::vector<std::string> words;
  for (const Count value : values) words.push_back(fmt::format("{}", value));
  return words.empty() ? "" : fmt::format("; nearest {}: {}", key, base::alternatives(words));
}

/// The nearest values at or below and above `value`, from 1 to `limit`, for which `good` holds.
std::vector<Count> nearest_values(Count value, Count limit, const std::function<bool(Count)>& good) {
  std::vector<Count> found;
  Count low = std::min(value, limit), high = value + 1;
  while (low >= 1 && !good(low)) --low;
  while (high <= limit && !good(high)) ++high;
  if (low >= 1) found.push_back(low);
  if (high <= limit) found.push_back(high);
  return found;
}

std::string nearest(const std::string& key, Count value, Count limit, const std::function<bool(Count)>& good) {
  return listed(key, nearest_values(value, limit, good));
}

/// The largest divisors of `number` from 1 to `most`, as many as a message has room for.
std::vector<Count> largest_divisors(Count number, Count most) {
  constexpr std::size_t room = 5;
  std::vector<Count> found;
  for (Count divisor = std::min(number, most); divisor >= 1 && found.size() < room; --divisor)
    if (number % divisor == 0) found.push_back(divisor);
  std::reverse(found.begin(), found.end());
  return found;
}

/// The multiples of `unit` below and above `value`, without 0.
std::string nearest_multiples(const std::string& key, Count value, Count unit) {
  const Count below = value / unit * unit;
  if (below == 0) return listed(key, {unit});
  return listed(key, {below, below + unit});
}

class Check {
 public:
  Check(const Resolved& resolved, Count ranks) : resolved_(resolved), config_(resolved.config), ranks_(ranks) {}

  void all() {
    heads();
    grid();
    stages();
    learning_rate();
    loss_scale();
    evaluation();
    length();
    size();
    watchdog();
    trace();
    problems_.throw_if_any();
  }

 private:
  std::string show(const std::string& name) const { return shown(resolved_, name); }

  std::string origin(const std::string& name) const { return resolved_.origins.at(name); }

  /// Reported where the first of `names` was set that was set at all.
  void report(const std::vector<std::string>& names, const std::string& message) {
    const auto set = std::find_if(names.begin(), names.end(), [&](const auto& name) { return origin(name) != "default"; });
    problems_.add(set == names.end() ? resolved_.path : origin(*set), message);
  }

  void heads() {
    const Count hidden = config_.model.hidden, heads = config_.model.heads, t = config_.parallel.tensor;
    const auto good_heads = [=](Count n) { return hidden % n == 0 && n % t == 0; };
    if (hidden % heads != 0) {
      report({"model.heads"},
             fmt::format("{} does not divide {}{}{}", show("model.heads"), show("model.hidden"),
                         nearest("model.heads", heads, hidden, good_heads), nearest_multiples("model.hidden", hidden, heads)));
    }
    if (heads % t != 0) {
      const auto good_tensor = [=, this](Count n) { return heads % n == 0 && splits_ranks(n, config_.parallel.pipeline); };
      report({"parallel.tensor"},
             fmt::format("{} does not divide {}{}{}", show("parallel.tensor"), show("model.heads"),
                         nearest("parallel.tensor", t, heads, good_tensor), nearest("model.heads", heads, hidden, good_heads)));
    }
  }

  bool splits_ranks(Count t, Count p) const { return ranks_ % (t * p) == 0; }

  void grid() {
    const Count t = config_.parallel.tensor, p = config_.parallel.pipeline;
    if (splits_ranks(t, p)) return batch(ranks_ / (t * p));
    report({"parallel.pipeline", "parallel.tensor"},
           fmt::format("{} cannot be split into groups of {} x {} = {}{}{}{}", base::counted(ranks_, "rank"),
                       show("parallel.tensor"), show("parallel.pipeline"), t * p,
                       ranks_ == 1 ? "; a start without mpiexec or srun has 1 rank: was it forgotten?" : "",
                       nearest_multiples("number of ranks", ranks_, t * p),
                       nearest("parallel.pipeline", p, ranks_, [=, this](Count n) { return splits_ranks(t, n); })));
  }

  void batch(Count d) {
    const Count global = config_.batch.global, micro = config_.batch.micro, held_out = config_.run.evaluate_samples;
    if (config_.run.evaluate_every > 0 && held_out % (micro * d) != 0) {
      report({"run.evaluate_samples"},
             fmt::format("{} is not a multiple of {} x d, d = {}{}", show("run.evaluate_samples"), show("batch.micro"), d,
                         nearest_multiples("run.evaluate_samples", held_out, micro * d)));
    }
    plan("batch.global", global, d);
    if (config_.run.evaluate_every > 0) plan("run.evaluate_samples", held_out, d);
    if (global % (micro * d) == 0) return;
    report({"batch.global"},
           fmt::format("{} is not a whole number of microbatches: batch.global = batch.micro x m x d, {} = {} x m x {}, with {} "
                       "and d = ranks / (tensor x pipeline) = {} / ({} x {}) = {}{}{}{}",
                       show("batch.global"), global, micro, d, show("batch.micro"), ranks_, config_.parallel.tensor,
                       config_.parallel.pipeline, d, nearest_ranks(d), nearest_multiples("batch.global", global, micro * d),
                       nearest("batch.micro", micro, global, [=](Count n) { return global % (n * d) == 0; })));
  }

  /// The numbers of ranks at which the global batch divides, nearest to those of `d` data ranks.
  std::string nearest_ranks(Count d) const {
    const Count global = config_.batch.global, micro = config_.batch.micro;
    std::vector<Count> found = nearest_values(d, global / micro, [=](Count n) { return global % (micro * n) == 0; });
    for (Count& ranks : found) ranks *= config_.parallel.tensor * config_.parallel.pipeline;
    return listed("number of ranks", found);
  }

  void plan(const std::string& name, Count samples, Count d) {
    const Count micro = config_.batch.micro, chunks = config_.parallel.pipeline * config_.parallel.chunks;
    if (chunks > most_chunks) return;  // so many cannot be filled
    const Count m = samples / (micro * d), most = most_microbatches(chunks);
    if (m <= most) return;
    report({name}, fmt::format("{} makes {} microbatches for each pipeline; with p v = {} at most {} can be planned{}",
                               show(name), m, chunks, most, listed(name, {most * micro * d})));
  }

  void stages() {
    const Parallel& parallel = config_.parallel;
    const Count layers = config_.model.layers;
    if (parallel.schedule == "interleaved" && (parallel.chunks < 2 || parallel.pipeline < 2))
      return report({"parallel.schedule"},
                    fmt::format("{} needs 2 stages and 2 chunks a stage at least: {}, {}", show("parallel.schedule"),
                                show("parallel.pipeline"), show("parallel.virtual")));
    if (parallel.schedule != "interleaved" && parallel.chunks > 1)
      return report({"parallel.virtual"},
                    fmt::format("{} needs parallel.schedule = \"interleaved\", not {}; nearest parallel.virtual: 1",
                                show("parallel.virtual"), show("parallel.schedule")));
    const Count chunks = parallel.pipeline * parallel.chunks;
    if (parallel.stages.empty()) {
      if (chunks <= layers) return;
      return report({"parallel.pipeline", "model.layers"},
                    fmt::format("{} cannot fill {} stages: {}, {}, {}{}", base::counted(layers, "layer"), chunks,
                                show("model.layers"), show("parallel.pipeline"), show("parallel.virtual"), fitting_stages()));
    }
    if (chunks > most_chunks)
      return report({"parallel.stages"}, fmt::format("{} and {} make {} chunks of the model; at most {} can be planned",
                                                     show("parallel.pipeline"), show("parallel.virtual"), chunks, most_chunks));
    const auto given = static_cast<Count>(parallel.stages.size());
    if (given != chunks) {
      report({"parallel.stages"}, fmt::format("{} has {} numbers; {} and {} need {}", show("parallel.stages"), given,
                                              show("parallel.pipeline"), show("parallel.virtual"), chunks));
    }
    const Count sum = std::accumulate(parallel.stages.begin(), parallel.stages.end(), Count{0});
    if (sum != layers) {
      report({"parallel.stages"},
             fmt::format("the layers of {} sum to {}, not to {}; {} {}", show("parallel.stages"), sum, show("model.layers"),
                         sum < layers ? "missing:" : "too many:", std::abs(layers - sum)));
    }
  }

  /// Which parallel.pipeline the layers and the ranks allow.
  std::string fitting_stages() const {
    const Parallel& parallel = config_.parallel;
    const Count most = config_.model.layers / parallel.chunks;
    if (most < 1) return fmt::format("; parallel.virtual is at most {}", config_.model.layers);
    std::vector<std::string> words;
    if (ranks_ % parallel.tensor == 0)
      for (const Count stages : largest_divisors(ranks_ / parallel.tensor, most)) words.push_back(fmt::format("{}", stages));
    return fmt::format("; parallel.pipeline is at most {}{}", most,
                       words.empty() ? ""
                                     : fmt::format(", and with {} and {} it may be {}", base::counted(ranks_, "rank"),
                                                   show("parallel.tensor"), base::alternatives(words)));
  }

  void learning_rate() {
    const Optimizer& o = config_.optimizer;
    if (o.min_learning_rate > o.learning_rate) {
      report({"optimizer.min_learning_rate"}, fmt::format("{} is above {}; at most {}", show("optimizer.min_learning_rate"),
                                                          show("optimizer.learning_rate"), base::real_text(o.learning_rate)));
    }
    if (o.decay_steps > 0 && o.decay_steps <= o.warmup_steps) {
      report({"optimizer.decay_steps"},
             fmt::format("{} is not after {}: the decay ends before it begins; at least {}, or 0 for a constant rate",
                         show("optimizer.decay_steps"), show("optimizer.warmup_steps"), o.warmup_steps + 1));
    }
    if (o.min_learning_rate > 0 && o.decay_steps == 0) unused("optimizer.min_learning_rate", "optimizer.decay_steps");
  }

  void loss_scale() {
    const Precision& p = config_.precision;
    if (p.initial_scale < p.minimum_scale)
      report({"precision.initial_scale", "precision.minimum_scale"},
             fmt::format("{} is below {}; at least {}", show("precision.initial_scale"), show("precision.minimum_scale"),
                         base::real_text(p.minimum_scale)));
    if (p.compute == "fp16" || origin("precision.compute") != "default") return;
    for (const char* name : {"loss_scale", "initial_scale", "growth_interval", "hysteresis", "minimum_scale", "maximum_skips"})
      if (const std::string key = std::string("precision.") + name; origin(key) != "default")
        report({key}, fmt::format("{} is never used without precision.compute = \"fp16\"; set it (\"fp32\" if you mean that)",
                                  show(key)));
  }

  void evaluation() {
    const Data& data = config_.data;
    if (config_.run.evaluate_every > 0 && data.validation.empty() && !data.synthetic) {
      report({"run.evaluate_every"},
             fmt::format("{} needs data.validation; nearest run.evaluate_every without it: 0", show("run.evaluate_every")));
    }
    if (!data.validation.empty() && config_.run.evaluate_every == 0) unused("data.validation", "run.evaluate_every");
  }

  /// `name` does nothing while `needed` is 0. A 0 that was written is a wish; a default is likely forgotten.
  void unused(const std::string& name, const std::string& needed) {
    if (origin(needed) != "default") return;
    report({name}, fmt::format("{} is never used without {}; set it (0 if you mean it)", show(name), needed));
  }

  /// Below a second every machine is silent at times.
  void watchdog() {
    if (config_.run.watchdog > 0 && config_.run.watchdog < 1)
      report({"run.watchdog"},
             fmt::format("{} is too short to tell a fault; at least 1 (seconds), or 0: off", show("run.watchdog")));
  }

  /// Counters of tokens are 64-bit.
  void length() {
    const Count step = config_.batch.global * config_.model.sequence;
    const Count most = std::numeric_limits<Count>::max() / step;
    if (config_.run.steps <= most) return;
    report({"run.steps"}, fmt::format("{} x {} x {} tokens do not fit into 63 bits; nearest run.steps: {}", show("run.steps"),
                                      show("batch.global"), show("model.sequence"), most));
  }

  /// Counters of bytes and of elements are 64-bit.
  void size() {
    const auto real = [](Count value) { return static_cast<double>(value); };
    const Model& model = config_.model;
    const double l = real(model.layers), h = real(model.hidden), a = real(model.heads), s = real(model.sequence);
    const double V = real(model.vocabulary), tokens = real(config_.batch.global) * s;
    const double parameters = 12 * l * h * h + (V + s) * h, activations = tokens * (l * (34 * h + 5 * a * s) + V);
    if (16 * parameters + 4 * activations < 0x1p62) return;
    report({"model.hidden", "model.sequence", "model.layers", "model.vocabulary", "batch.global"},
           fmt::format(
               "a model with {}, {}, {} and {} has {:.2g} parameters and, with {}, {:.2g} activations: such numbers do not fit "
               "into 63 bits; lower the largest",
               show("model.layers"), show("model.hidden"), show("model.sequence"), show("model.vocabulary"), parameters,
               show("batch.global"), activations));
  }

  void trace() {
    try {
      for (const auto& [first, last] : parse_steps(config_.trace.steps))
        if (last > config_.run.steps)
          report({"trace.steps"},
                 fmt::format("{}: step {} is beyond {}. Choose steps up to {}, or write trace.steps = \"\" to trace none",
                             show("trace.steps"), last, show("run.steps"), config_.run.steps));
    } catch (const base::Error& error) {
      report({"trace.steps"}, fmt::format("{}: {}", show("trace.steps"), error.what()));
    }
  }

  const Resolved& resolved_;
  const Config& config_;
  Count ranks_;
  Problems problems_;
};

}  // namespace

std::int64_t most_microbatches(std::int64_t chunks) {
  constexpr Count most_passes = 1 << 22;  // a plan of so many takes a second and 200 MB
  return most_passes / chunks;
}

void check_layout(const Resolved& resolved, int ranks) {
  if (ranks < 1) base::refuse("{} ranks: at least 1 is needed", ranks);
  Check(resolved, ranks).all();
}

}  // namespace trireme::config
