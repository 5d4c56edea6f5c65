// All that an input file can say, as plain structs. Defaults are the member initialisers. The table of keys (keys.h) maps
// names to these members; nothing else knows their names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trireme::config {

struct Model {
  std::int64_t layers = 0;      // l
  std::int64_t hidden = 0;      // h
  std::int64_t heads = 0;       // a
  std::int64_t sequence = 0;    // s, tokens of a sample
  std::int64_t vocabulary = 0;  // V
  double dropout = 0;
  std::string initial;  // a .safetensors file to start from; empty: N(0, 0.02)
  bool operator==(const Model&) const = default;
};

struct Parallel {
  std::int64_t tensor = 1;    // t
  std::int64_t pipeline = 1;  // p
  std::int64_t chunks = 1;    // v, key "virtual"
  std::string schedule = "1f1b";
  std::vector<std::int64_t> stages;  // layers of each chunk; empty: balanced
  bool sequence_parallel = false;
  bool scatter_gather = false;
  std::string recompute = "none";
  std::int64_t zero = 0;
  bool operator==(const Parallel&) const = default;
};

struct Batch {
  std::int64_t global = 0;  // B, samples a step
  std::int64_t micro = 1;   // b
  std::int64_t ramp_start = 0, ramp_increment = 0, ramp_samples = 0;
  bool operator==(const Batch&) const = default;
};

struct Precision {
  std::string compute = "fp32";
  double loss_scale = 0;  // 0: dynamic
  double initial_scale = 65536;
  std::int64_t growth_interval = 1000;
  std::int64_t hysteresis = 2;
  double minimum_scale = 1;
  std::int64_t maximum_skips = 20;
  bool operator==(const Precision&) const = default;
};

struct Optimizer {
  double learning_rate = 0;
  double min_learning_rate = 0;
  std::int64_t warmup_steps = 0;  // W
  std::int64_t decay_steps = 0;   // D; 0: constant
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double clip = 1;  // 0: off
  bool operator==(const Optimizer&) const = default;
};

struct Data {
  std::string tokens;      // prefix of .bin and .idx
  std::string validation;  // prefix of .bin and .idx
  bool shuffle = true;
  std::string order = "philox";
  bool synthetic = false;
  bool operator==(const Data&) const = default;
};

struct Run {
  std::string directory;  // default: runs/<name of the input file>
  std::int64_t steps = 0;
  std::uint64_t seed = 1;
  std::string device = "auto";
  std::string communicator = "auto";
  std::int64_t threads = 0;  // 0: the cores of the rank
  double time_limit = 0;     // seconds; 0: none
  std::int64_t log_every = 1;
  std::int64_t evaluate_every = 0;     // steps; 0: never
  std::int64_t evaluate_samples = 64;  // held-out samples an evaluation
  double watchdog = 0;                 // seconds; 0: off
  std::string final_weights;           // a .safetensors file to write
  std::int64_t check_copies_every = 0;
  bool reproducible = false;
  bool operator==(const Run&) const = default;
};

/// Whether a run evaluates after `step`, counted from 1.
inline bool evaluates_after(const Run& run, std::int64_t step) {
  return run.evaluate_every > 0 && (step % run.evaluate_every == 0 || step == run.steps);
}

struct Kernels {
  std::string gemm = "own";
  bool operator==(const Kernels&) const = default;
};

struct Placement {
  bool strict = false;
  bool oversubscribe = false;
  bool operator==(const Placement&) const = default;
};

struct Checkpoint {
  std::int64_t every = 0;
  std::int64_t keep = 2;
  bool operator==(const Checkpoint&) const = default;
};

struct Trace {
  std::string steps;
  bool operator==(const Trace&) const = default;
};

struct Config {
  Model model;
  Parallel parallel;
  Batch batch;
  Precision precision;
  Optimizer optimizer;
  Data data;
  Run run;
  Kernels kernels;
  Placement placement;
  Checkpoint checkpoint;
  Trace trace;
  bool operator==(const Config&) const = default;
};

}  // namespace trireme::config
