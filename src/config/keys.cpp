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
constexpr Range above_zero = {.low = 0, .without_low = true};
constexpr Range below_one = {.low = 0, .high = 1, .without_high = true};

void model_keys(std::vector<Key>& keys) {
  const auto key = in_section(keys, "model", &Config::model);
  key("layers", &Model::layers, "transformer blocks, l", {.range = {1, 100000}, .required = true, .fixed = true});
  key("hidden", &Model::hidden, "width of the residual stream, h", {.range = dimension, .required = true, .fixed = true});
  key("heads", &Model::heads, "attention heads, a; divides hidden", {.range = dimension, .required = true, .fixed = true});
  key("sequence", &Model::sequence, "length of a sample, s",
      {.unit = "tokens", .range = dimension, .required = true, .fixed = true});
  key("vocabulary", &Model::vocabulary, "different tokens, V; padded in memory only",
      {.range = dimension, .required = true, .fixed = true});
  key("dropout", &Model::dropout, "probability of dropping an activation", {.range = below_one});
  key("initial", &Model::initial,
      "the weights to start from: a .safetensors file, its .index.json, or the folder of a checkpoint; empty: random");
}

void parallel_keys(std::vector<Key>& keys) {
  const auto key = in_section(keys, "parallel", &Config::parallel);
  key("tensor", &Parallel::tensor, "ranks that share each layer, t", {.unit = "ranks", .range = positive});
  key("pipeline", &Parallel::pipeline, "pipeline stages, p", {.unit = "ranks", .range = positive});
  key("virtual", &Parallel::chunks, "model chunks a stage, v", {.range = positive});
  key("schedule", &Parallel::schedule, "order of forward and backward passes",
      {.words = {"1f1b", "gpipe", "interleaved", "zero-bubble", "2bw"},
       .built = {"1f1b", "gpipe", "interleaved"},
       .feature = "this schedule"});
  key("stages", &Parallel::stages, "layers of each of the p v chunks; empty: balanced", {.unit = "layers", .range = natural});
  key("sequence_parallel", &Parallel::sequence_parallel, "split layer norm, dropout and residual over the tensor ranks",
      {.built = {"false"}, .feature = "sequence parallelism"});
  key("scatter_gather", &Parallel::scatter_gather, "send each activation once between stages, in t pieces",
      {.built = {"false"}, .feature = "the scatter/gather exchange"});
  key("recompute", &Parallel::recompute, "activations recomputed in the backward pass; a number k: of every k-th layer",
      {.range = positive,
       .words = {"none", "selective", "full"},
       .or_number = true,
       .built = {"none"},
       .feature = "recomputation"});
  key("zero", &Parallel::zero, "ZeRO stage: what the data ranks split", {.range = {0, 3}, .built = {"0"}, .feature = "ZeRO"});
}

void batch_keys(std::vector<Key>& keys) {
  const auto key = in_section(keys, "batch", &Config::batch);
  key("global", &Batch::global, "samples a step over all ranks, B = b m d",
      {.unit = "samples", .range = dimension, .required = true, .fixed = true});
  key("micro", &Batch::micro, "samples a microbatch, b", {.unit = "samples", .range = dimension});
  key("ramp_start", &Batch::ramp_start, "first global batch of a ramp-up; 0: off",
      {.unit = "samples", .range = natural, .built = {"0"}, .feature = "the ramp-up of the batch"});
  key("ramp_increment", &Batch::ramp_increment, "growth of the global batch in a ramp-up; 0: off",
      {.unit = "samples", .range = natural, .built = {"0"}, .feature = "the ramp-up of the batch"});
  key("ramp_samples", &Batch::ramp_samples, "samples over which the batch grows; 0: off",
      {.unit = "samples", .range = not_negative, .built = {"0"}, .feature = "the ramp-up of the batch"});
}

void precision_keys(std::vector<Key>& keys) {
  const std::string scaling = "loss scaling";
  const auto key = in_section(keys, "precision", &Config::precision);
  key("compute", &Precision::compute, "type of activations and products",
      {.words = {"fp32", "bf16", "fp16"}, .built = {"fp32"}, .feature = "mixed precision"});
  key("loss_scale", &Precision::loss_scale, "factor on the loss in fp16; 0: dynamic",
      {.range = not_negative, .built = {"0"}, .feature = scaling});
  key("initial_scale", &Precision::initial_scale, "first dynamic loss scale",
      {.range = above_zero, .built = {"65536"}, .feature = scaling});
  key("growth_interval", &Precision::growth_interval, "finite steps before the scale doubles",
      {.unit = "steps", .range = positive, .built = {"1000"}, .feature = scaling});
  key("hysteresis", &Precision::hysteresis, "overflows before the scale halves",
      {.unit = "steps", .range = positive, .built = {"2"}, .feature = scaling});
  key("minimum_scale", &Precision::minimum_scale, "smallest dynamic loss scale",
      {.range = above_zero, .built = {"1"}, .feature = scaling});
  key("maximum_skips", &Precision::maximum_skips, "skipped steps in a row before the run stops",
      {.unit = "steps", .range = positive, .built = {"20"}, .feature = scaling});
}

void optimizer_keys(std::vector<Key>& keys) {
  const auto key = in_section(keys, "optimizer", &Config::optimizer);
  key("learning_rate", &Optimizer::learning_rate, "highest learning rate, after the warm-up",
      {.range = not_negative, .required = true});
  key("min_learning_rate", &Optimizer::min_learning_rate, "learning rate from decay_steps on", {.range = not_negative});
  key("warmup_steps", &Optimizer::warmup_steps, "linear warm-up, W", {.unit = "steps", .range = natural});
  key("decay_steps", &Optimizer::decay_steps, "step at which the cosine decay ends, D; 0: constant rate",
      {.unit = "steps", .range = natural});
  key("weight_decay", &Optimizer::weight_decay, "decoupled decay of matrices and embeddings", {.range = not_negative});
  key("beta1", &Optimizer::beta1, "decay of the first moment", {.range = below_one});
  key("beta2", &Optimizer::beta2, "decay of the second moment", {.range = below_one});
  key("epsilon", &Optimizer::epsilon, "added to the root of the second moment", {.range = above_zero});
  key("clip", &Optimizer::clip, "largest global norm of the gradient; 0: off", {.range = not_negative});
}

void data_keys(std::vector<Key>& keys) {
  const auto key = in_section(keys, "data", &Config::data);
  key("tokens", &Data::tokens, "training tokens: path without its .bin and .idx", {.without = {".bin", ".idx"}});
  key("validation", &Data::validation, "held-out tokens: path without its .bin and .idx", {.without = {".bin", ".idx"}});
  key("shuffle", &Data::shuffle, "visit the samples of an epoch in random order", {.fixed = true});
  key("order", &Data::order, "how samples are ordered",
      {.words = {"philox", "megatron"}, .built = {"philox"}, .feature = "this order", .fixed = true});
  key("synthetic", &Data::synthetic, "made-up tokens, no files; excludes tokens", {.fixed = true});
}

void run_keys(std::vector<Key>& keys) {
  const auto key = in_section(keys, "run", &Config::run);
  key("directory", &Run::directory, "folder of the results; empty: runs/ and the input file's name");
  key("steps", &Run::steps, "optimizer steps in all", {.unit = "steps", .range = positive, .required = true});
  key("seed", &Run::seed, "of weights, dropout and sample order", {.range = not_negative, .fixed = true});
  key("device", &Run::device, "where kernels run",
      {.words = {"auto", "cpu", "cuda"}, .built = {"auto", "cpu"}, .feature = "this device"});
  key("communicator", &Run::communicator, "how ranks exchange data",
      {.words = {"auto", "mpi", "nccl", "staged"}, .built = {"auto", "mpi"}, .feature = "this communicator"});
  key("threads", &Run::threads, "threads a rank, at most the cores it may use; 0: its share of them",
      {.unit = "threads", .range = {0, 4096}});
  key("time_limit", &Run::time_limit, "save and end in time for this, e.g. \"4h\", or what squeue -o %L says; 0: none",
      {.unit = "seconds", .range = not_negative, .duration = true});
  key("log_every", &Run::log_every, "steps between log lines", {.unit = "steps", .range = positive});
  key("evaluate_every", &Run::evaluate_every, "steps between evaluations on held-out samples; 0: never",
      {.unit = "steps", .range = natural});
  key("evaluate_samples", &Run::evaluate_samples, "held-out samples an evaluation", {.unit = "samples", .range = positive});
  key("watchdog", &Run::watchdog, "end the run when a rank is silent for this time, thrice it up to the first step; 0: off",
      {.unit = "seconds", .range = not_negative, .duration = true});
  key("final_weights", &Run::final_weights, "a .safetensors file to write at the end; empty: none", {.suffix = ".safetensors"});
  key("check_copies_every", &Run::check_copies_every, "steps between comparisons of copied parameters; 0: never",
      {.unit = "steps", .range = natural});
  key("reproducible", &Run::reproducible, "the same bits in every run of the same layout; always so on the CPU");
}

void other_keys(std::vector<Key>& keys) {
  const auto kernels = in_section(keys, "kernels", &Config::kernels);
  kernels("gemm", &Kernels::gemm, "whose matrix products run on a GPU",
          {.words = {"own", "cublaslt"}, .built = {"own"}, .feature = "this library"});
  const auto placement = in_section(keys, "placement", &Config::placement);
  placement("strict", &Placement::strict, "refuse a tensor group that spans nodes");
  placement("oversubscribe", &Placement::oversubscribe, "let ranks share a GPU",
            {.built = {"false"}, .feature = "the device build"});
  const auto checkpoint = in_section(keys, "checkpoint", &Config::checkpoint);
  checkpoint("every", &Checkpoint::every, "steps between checkpoints; 0: only at the end and on signals",
             {.unit = "steps", .range = natural});
  checkpoint("keep", &Checkpoint::keep, "checkpoints that are kept; 0: all", {.range = natural});
  const auto trace = in_section(keys, "trace", &Config::trace);
  trace("steps", &Trace::steps, "steps to trace, counted from 1: \"a-b\", \"a,b,c\" or both; empty: none");
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
