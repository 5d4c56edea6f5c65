// To add a key: add its member with its default to config.h, then one entry here, in its section. Everything else follows: file,
// command line, messages, the resolved file, --help, and the tests that go through the table. A value whose feature does not
// exist yet is left out of `built`, with `feature` saying what is missing. What ties two keys together is checked in check.cpp.
#include "config/keys.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"

namespace trireme::config {
namespace {

/// A function that adds a key of one section to `keys`.
template <class Section>
auto in_section(std::vector<Key>& keys, const char* section, Section Config::*part) {
  return [&keys, section, part](const char* name, auto member, const char* meaning, Rules rules = {}) {
    const auto slot = [part, member](Config& config) { return Slot(&(config.*part.*member)); };
    keys.push_back({std::move(rules), section, name, slot, meaning});
  };
}

constexpr double largest = 2147483647;  // counts that index something fit into an int
constexpr double largest_dimension = 16777216;
constexpr Range dimension = {1, largest_dimension};
constexpr Range positive = {1, largest};
constexpr Range natural = {0, largest};
constexpr Range not_negative = {0};
constexpr Range a_time = {0, 36525 * 86400.0};  // a hundred years, in seconds
constexpr Range above_zero = {.low = 0, .without_low = true};
constexpr Range below_one = {.low = 0, .high = 1, .without_high = true};

void model_keys(std::vector<Key>& keys) {
  const auto key = in_section(keys, "model", &Config::model);
  key("layers", &Model::layers, "The number of transformer blocks (l).", {.range = {1, 4096}, .required = true, .fixed = true});
  key("hidden", &Model::hidden, "The width of the residual stream (h).", {.range = dimension, .required = true, .fixed = true});
  key("heads", &Model::heads, "The number of attention heads (a). It must divide hidden.",
      {.range = dimension, .required = true, .fixed = true});
  key("sequence", &Model::sequence, "The length of a sample (s).",
      {.unit = "tokens", .range = dimension, .required = true, .fixed = true});
  key("vocabulary", &Model::vocabulary,
      "The number of different tokens (V). It need not be divisible by t: it is padded in memory only.",
      {.range = dimension, .required = true, .fixed = true});
  key("dropout", &Model::dropout, "The probability with which dropout sets an activation to 0.",
      {.range = below_one, .fp32 = true, .smallest = 0x1p-32});
  key("initial", &Model::initial,
      "The weights that a new run begins with: a .safetensors file, its .index.json, the folder of either, or that of a "
      "checkpoint. Empty: random weights. A run that goes on does not read this key.",
      {.path = true, .beginning = true});
}

void parallel_keys(std::vector<Key>& keys) {
  const auto key = in_section(keys, "parallel", &Config::parallel);
  key("tensor", &Parallel::tensor, "The number of ranks that share each layer (t). It must divide heads.",
      {.unit = "ranks", .range = positive});
  key("pipeline", &Parallel::pipeline,
      "The number of pipeline stages (p). The ranks that are left share the batch: d = ranks / (t p).",
      {.unit = "ranks", .range = positive});
  key("virtual", &Parallel::chunks, "The number of model chunks on each stage (v). More than 1 needs the interleaved schedule.",
      {.range = positive});
  key("schedule", &Parallel::schedule, "The order of the forward and backward passes.",
      {.words = {"1f1b", "gpipe", "interleaved", "zero-bubble", "2bw"},
       .built = {"1f1b", "gpipe", "interleaved"},
       .feature = "this schedule"});
  key("stages", &Parallel::stages,
      "How many layers each of the p v chunks gets, in the order of the model. Empty: balanced by cost.",
      {.unit = "layers", .range = natural});
  key("sequence_parallel", &Parallel::sequence_parallel,
      "Whether the tensor ranks split layer norm, dropout and residuals among them.",
      {.built = {"false"}, .feature = "sequence parallelism"});
  key("scatter_gather", &Parallel::scatter_gather, "Whether an activation is sent once between two stages, in t pieces.",
      {.built = {"false"}, .feature = "the scatter/gather exchange"});
  key("recompute", &Parallel::recompute,
      "Which activations are recomputed in the backward pass. A number k: those of every k-th layer.",
      {.range = positive,
       .words = {"none", "selective", "full"},
       .or_number = true,
       .built = {"none"},
       .feature = "recomputation"});
  key("zero", &Parallel::zero, "The ZeRO stage: what the data ranks split among them.",
      {.range = {0, 3}, .built = {"0"}, .feature = "ZeRO"});
}

void batch_keys(std::vector<Key>& keys) {
  const auto key = in_section(keys, "batch", &Config::batch);
  key("global", &Batch::global, "The number of samples in a step, over all ranks (B). B = b m d, with m microbatches.",
      {.unit = "samples", .range = dimension, .required = true, .fixed = true});
  key("micro", &Batch::micro, "The number of samples in a microbatch (b).", {.unit = "samples", .range = dimension});
  key("ramp_start", &Batch::ramp_start, "The first global batch of a ramp-up. 0: no ramp-up.",
      {.unit = "samples", .range = natural, .built = {"0"}, .feature = "the ramp-up of the batch"});
  key("ramp_increment", &Batch::ramp_increment, "By how much the global batch grows at a time in a ramp-up. 0: no ramp-up.",
      {.unit = "samples", .range = natural, .built = {"0"}, .feature = "the ramp-up of the batch"});
  key("ramp_samples", &Batch::ramp_samples, "The number of samples over which the global batch grows. 0: no ramp-up.",
      {.unit = "samples", .range = not_negative, .built = {"0"}, .feature = "the ramp-up of the batch"});
}

void precision_keys(std::vector<Key>& keys) {
  const auto key = in_section(keys, "precision", &Config::precision);
  key("compute", &Precision::compute,
      "The type of activations and of the weights in matrix products. Master weights, moments and gradients of weights stay "
      "fp32.",
      {.words = {"fp32", "bf16", "fp16"}});
  key("loss_scale", &Precision::loss_scale,
      "The factor on the loss in fp16, which keeps small gradients from becoming 0. 0: it is found while training.",
      {.range = not_negative, .fp32 = true});
  key("initial_scale", &Precision::initial_scale, "The first factor on the loss, where it is found while training.",
      {.range = above_zero, .fp32 = true});
  key("growth_interval", &Precision::growth_interval,
      "The number of good steps in a row after which the factor on the loss doubles.", {.unit = "steps", .range = positive});
  key("hysteresis", &Precision::hysteresis,
      "The number of overflows after which the factor on the loss halves; from then on it halves at each one, until it doubles.",
      {.unit = "steps", .range = positive});
  key("minimum_scale", &Precision::minimum_scale, "The smallest factor on the loss.", {.range = above_zero, .fp32 = true});
  key("maximum_skips", &Precision::maximum_skips,
      "The number of steps in a row that are skipped at the smallest factor on the loss before the run stops.",
      {.unit = "steps", .range = positive});
}

void optimizer_keys(std::vector<Key>& keys) {
  const auto key = in_section(keys, "optimizer", &Config::optimizer);
  key("learning_rate", &Optimizer::learning_rate, "The highest learning rate, which the warm-up leads to.",
      {.range = not_negative, .fp32 = true, .required = true});
  key("min_learning_rate", &Optimizer::min_learning_rate, "The learning rate from decay_steps on.",
      {.range = not_negative, .fp32 = true});
  key("warmup_steps", &Optimizer::warmup_steps,
      "The number of steps in which the learning rate rises to its highest value, linearly (W).",
      {.unit = "steps", .range = natural});
  key("decay_steps", &Optimizer::decay_steps,
      "The step at which the cosine decay of the learning rate ends (D). 0: the rate stays constant after the warm-up.",
      {.unit = "steps", .range = natural});
  key("weight_decay", &Optimizer::weight_decay, "The decay of matrices and embeddings, which is decoupled from the gradient.",
      {.range = not_negative, .fp32 = true});
  key("beta1", &Optimizer::beta1, "The decay of the first moment in a step.", {.range = below_one, .fp32 = true});
  key("beta2", &Optimizer::beta2, "The decay of the second moment in a step.", {.range = below_one, .fp32 = true});
  key("epsilon", &Optimizer::epsilon, "The number that is added to the root of the second moment.",
      {.range = above_zero, .fp32 = true});
  key("clip", &Optimizer::clip, "The largest norm of the whole gradient: a longer one is scaled down to it. 0: no clipping.",
      {.range = not_negative, .fp32 = true});
}

void data_keys(std::vector<Key>& keys) {
  const auto key = in_section(keys, "data", &Config::data);
  key("tokens", &Data::tokens, "The training tokens: the path of the two files without .bin and .idx.",
      {.path = true, .without = {".bin", ".idx"}});
  key("validation", &Data::validation, "The held-out tokens: the path of the two files without .bin and .idx.",
      {.path = true, .without = {".bin", ".idx"}});
  key("shuffle", &Data::shuffle, "Whether the samples of an epoch are visited in random order.", {.fixed = true});
  key("order", &Data::order, "How the order of the samples is made.",
      {.words = {"philox", "megatron"}, .built = {"philox"}, .feature = "this order", .fixed = true});
  key("synthetic", &Data::synthetic, "Whether to train on made-up tokens, without files. It excludes data.tokens.",
      {.fixed = true});
}

void run_keys(std::vector<Key>& keys) {
  const auto key = in_section(keys, "run", &Config::run);
  key("directory", &Run::directory, "The folder of the results. Empty: runs/ and the name of the input file.", {.path = true});
  key("steps", &Run::steps, "The number of optimizer steps in all.", {.unit = "steps", .range = positive, .required = true});
  key("seed", &Run::seed, "The seed of random weights, dropout and the order of the samples.",
      {.range = not_negative, .fixed = true});
  key("device", &Run::device, "Where the kernels run.",
      {.words = {"auto", "cpu", "cuda"}, .built = {"auto", "cpu"}, .feature = "this device"});
  key("communicator", &Run::communicator, "How the ranks exchange data.",
      {.words = {"auto", "mpi", "nccl", "staged"}, .built = {"auto", "mpi"}, .feature = "this communicator"});
  key("threads", &Run::threads,
      "The number of threads of each rank, at most the cores that it may use. 0: OMP_NUM_THREADS, or the rank's share of the "
      "cores.",
      {.unit = "threads", .range = {0, 4096}});
  key("time_limit", &Run::time_limit,
      "Save and end within this time. As squeue prints them, \"1:30:00\" is in hours and \"1:30\" in minutes. 0: no limit.",
      {.unit = "seconds", .range = a_time, .duration = true});
  key("log_every", &Run::log_every, "The number of steps from one line of the log to the next.",
      {.unit = "steps", .range = positive});
  key("evaluate_every", &Run::evaluate_every, "The number of steps from one evaluation on held-out samples to the next. 0: none.",
      {.unit = "steps", .range = natural});
  key("evaluate_samples", &Run::evaluate_samples, "The number of held-out samples in an evaluation.",
      {.unit = "samples", .range = positive});
  key("watchdog", &Run::watchdog,
      "End the run when a rank has been silent for this time. Up to the end of the first step, the time is three times as long. "
      "0: off.",
      {.unit = "seconds", .range = a_time, .duration = true});
  key("final_weights", &Run::final_weights,
      "A .safetensors file to write at the end. One called model.safetensors gets its config.json. Empty: none.",
      {.path = true, .suffix = ".safetensors"});
  key("check_copies_every", &Run::check_copies_every,
      "The number of steps from one comparison of copied parameters to the next. 0: none.", {.unit = "steps", .range = natural});
  key("reproducible", &Run::reproducible, "Whether every run of the same layout gives the same bits. On the CPU it always does.");
}

void other_keys(std::vector<Key>& keys) {
  const auto kernels = in_section(keys, "kernels", &Config::kernels);
  kernels("gemm", &Kernels::gemm, "Whose matrix products run on a GPU.",
          {.words = {"own", "cublaslt"}, .built = {"own"}, .feature = "this library"});
  const auto placement = in_section(keys, "placement", &Config::placement);
  placement("strict", &Placement::strict, "Whether to refuse a tensor group that spans nodes.");
  placement("oversubscribe", &Placement::oversubscribe, "Whether ranks may share a GPU.",
            {.built = {"false"}, .feature = "the device build"});
  const auto checkpoint = in_section(keys, "checkpoint", &Config::checkpoint);
  checkpoint("every", &Checkpoint::every,
             "The number of steps from one checkpoint to the next. 0: only at the end and on signals.",
             {.unit = "steps", .range = natural});
  checkpoint("keep", &Checkpoint::keep, "The number of checkpoints that are kept. 0: all.", {.range = natural});
  const auto trace = in_section(keys, "trace", &Config::trace);
  trace("steps", &Trace::steps, "The steps to trace, counted from 1. Write \"10-12\", \"10,50\" or both. Empty: none.");
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

const std::vector<Key>& all_keys() {
  static const std::vector<Key> keys = [] {
    std::vector<Key> all;
    for (auto* add : {model_keys, parallel_keys, batch_keys, precision_keys, optimizer_keys, data_keys, run_keys, other_keys}) {
      add(all);
    }
    return all;
  }();
  return keys;
}

const Key* find_key(std::string_view full_name) {
  const auto& keys = all_keys();
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const Key& key) { return key.full_name() == full_name; });
  return found == keys.end() ? nullptr : &*found;
}

const std::vector<std::string>& all_sections() {
  static const std::vector<std::string> sections = [] {
    std::vector<std::string> names;
    for (const auto& key : all_keys()) {
      if (names.empty() || names.back() != key.section) names.push_back(key.section);
    }
    return names;
  }();
  return sections;
}

std::string toml_text(const Slot& slot) {
  return std::visit(
      [](const auto* value) -> std::string {
        using T = std::remove_cvref_t<decltype(*value)>;
        if constexpr (std::is_same_v<T, std::string>)
          return quoted(*value);
        else if constexpr (std::is_same_v<T, double>)
          return base::real_text(*value);
        else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
          return fmt::format("[{}]", fmt::join(*value, ", "));
        else
          return fmt::format("{}", *value);
      },
      slot);
}

std::string plain_text(const Slot& slot) {
  const auto* text = std::get_if<std::string*>(&slot);
  return text ? **text : toml_text(slot);
}

std::string range_text(const Range& range) {
  const bool low = std::isfinite(range.low), high = std::isfinite(range.high);
  if (!low && !high) return "";
  if (!high) return fmt::format("{} {:.15g}", range.without_low ? "above" : "at least", range.low);
  return fmt::format("{:.15g} to {:.15g}{}", range.low, range.high,
                     range.without_high ? fmt::format(", without {:.15g}", range.high) : "");
}

}  // namespace trireme::config
