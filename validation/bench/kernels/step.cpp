#include "validation/bench/kernels/step.h"

#include <algorithm>
#include <utility>

#include "base/half.h"
#include "base/philox.h"

namespace trireme::bench {
namespace {

using namespace kernels;

/// Buffers and kernels of one layer's shapes; every layer does the same work.
class StepKernels {
 public:
  StepKernels(const Settings& s, const Backend& backend)
      : device_(*backend.device),
        kernels_(*backend.kernels),
        rows_(rows_of(s)),
        h_(s["hidden"]),
        width_(s["width"]),
        layers_(static_cast<double>(s["layers"])),
        range_(range_of(s)),
        attention_(attention_of(s)),
        dropout_{static_cast<float>(s["dropout"]) / 100, 42, 0},
        parameters_(parameters_of(s)) {
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < n(); ++i) {
      const auto word = base::philox(1, 0, static_cast<std::uint64_t>(i))[0];
      tokens.push_back(static_cast<std::int32_t>(word % static_cast<std::uint32_t>(range_.valid)));
    }
    device_.upload(tokens_, tokens.data());
    const StepOutcome record{.scale = 1};
    device_.upload(record_, &record);
  }

  std::vector<Entry> entries() {
    add_product("product of qkv", qkv_of(n(), h_));
    add_product("product of attention output", projection_of(n(), h_));
    add_product("product of MLP 1", first_of(n(), h_));
    add_product("product of MLP 2", second_of(n(), h_));
    add_product("product of logits", {n(), h_, range_.rows}, 1);
    embedding();
    layer_forward();
    layer_backward();
    head();
    optimizer();
    return std::move(entries_);
  }

 private:
  std::int64_t n() const { return rows_.count(); }
  /// The same 2^20 numbers again and again
  View random(std::int64_t count, double scale, std::int64_t width = 4) {
    constexpr std::int64_t period = 1 << 20;
    const View v = arena_.take(width == 2 ? DType::bf16 : DType::fp32, count);
    std::vector<float> values;
    std::vector<std::uint16_t> halves;
    for (std::int64_t i = 0; i < std::min(count, period); ++i) {
      values.push_back(static_cast<float>(scale * (base::uniform(base::philox(2, 0, static_cast<std::uint64_t>(i))[0]) - 0.5)));
      if (width == 2) halves.push_back(base::to_bf16(values.back()));
    }
    const void* from = width == 2 ? static_cast<const void*>(halves.data()) : values.data();
    for (std::int64_t at = 0; at < count; at += period) device_.upload(v.slice(at, std::min(period, count - at)), from);
    return v;
  }
  View wide(double scale = 1) { return random(n() * std::max(4 * h_, range_.rows), scale, width_); }
  void add(std::string name, double count, cost::Cost cost, std::function<void()> call, bool product = false) {
    entries_.push_back({std::move(name), count, cost, std::move(call), product});
  }
  /// The three products of a linear layer, each as the step makes it
  void add_product(const std::string& name, LinearShape shape, double count = 0) {
    const double calls = count > 0 ? count : layers_;
    add(
        name + ", forward", calls, cost::product(shape, width_), [=, this] { kernels_.linear(shape, x_, weight_, {}, y_); },
        true);
    add(
        name + ", input gradient", calls, cost::product(shape, width_),
        [=, this] { kernels_.linear_input_gradient(shape, y_, weight_, dx_); }, true);
    add(
        name + ", weight gradient", calls, cost::product(shape, width_),
        [=, this] { kernels_.linear_weight_gradient(shape, y_, x_, dweight_, {}); }, true);
  }
  void linear_backward(const std::string& name, LinearShape shape) {
    add(name + " input gradient", layers_, cost::linear_input_gradient(shape, width_),
        [=, this] { kernels_.linear_input_gradient(shape, y_, weight_, dx_); });
    add(name + " weight gradient", layers_, cost::linear_weight_gradient(shape, width_),
        [=, this] { kernels_.linear_weight_gradient(shape, y_, x_, dweight_, dbias_); });
  }
  void embedding();
  void layer_forward();
  void layer_backward();
  void head();
  void optimizer();

  Device& device_;
  Kernels& kernels_;
  Arena arena_{device_, "bench"};
  Rows rows_;
  std::int64_t h_, width_;
  double layers_;
  VocabularyRange range_;
  AttentionShape attention_;
  Dropout dropout_;
  std::int64_t parameters_;
  View tokens_ = arena_.take(DType::int32, n());
  View x_ = wide(), y_ = wide(), dx_ = wide(), residual_ = wide(), pre_ = wide(4);
  View weight_ = random(std::max(range_.rows, 4 * h_) * h_, 0.1, width_), dweight_ = random(weight_.count, 1);
  View bias_ = random(std::max(range_.rows, 4 * h_), 1, width_), dbias_ = random(bias_.count, 1);
  View mean_ = random(n(), 1), rstd_ = random(n(), 1), log_sum_ = random(n() * attention_.heads, 1);
  View positions_ = random(rows_.sequence * h_, 1, width_), dpositions_ = random(positions_.count, 1);
  View logits_ = random(n() * range_.rows, 8, width_);
  View maximum_ = random(n(), 1), sums_ = random(n(), 1), losses_ = random(n(), 1);
  View parameter_ = random(parameters_, 1), gradient_ = random(parameters_, 1), first_ = random(parameters_, 1);
  View second_ = arena_.take(DType::fp32, parameters_);
  View record_ = arena_.take(DType::fp64, StepOutcome::cells), cell_ = arena_.take(DType::fp64, 1);
  std::vector<Entry> entries_;
};

void StepKernels::embedding() {
  add("embedding", 1, cost::embedding(rows_, h_, width_), [this] {
    kernels_.embedding({.rows = rows_,
                        .hidden = h_,
                        .tokens = tokens_,
                        .table = weight_,
                        .range = range_,
                        .positions = positions_,
                        .dropout = dropout_,
                        .y = y_});
  });
  add("embedding backward", 1, cost::embedding_backward(rows_, h_, width_), [this] {
    kernels_.embedding_backward({.rows = rows_,
                                 .hidden = h_,
                                 .tokens = tokens_,
                                 .dy = y_,
                                 .range = range_,
                                 .dtable = dweight_,
                                 .dpositions = dpositions_});
  });
}

void StepKernels::layer_forward() {
  const LinearShape qkv = qkv_of(n(), h_), projection = projection_of(n(), h_), first = first_of(n(), h_),
                    second = second_of(n(), h_);
  add("layer_norm", 2 * layers_ + 1, cost::layer_norm(n(), h_, width_), [this] {
    kernels_.layer_norm(
        {.rows = n(), .hidden = h_, .x = x_, .gain = bias_, .bias = bias_, .y = y_, .mean = mean_, .rstd = rstd_});
  });
  add("qkv linear", layers_, cost::linear(qkv, width_), [=, this] { kernels_.linear(qkv, x_, weight_, bias_, y_); });
  add("attention", layers_, cost::attention(attention_, width_),
      [this] { kernels_.attention(attention_, x_, dropout_, y_, log_sum_); });
  add("projection linear_residual", layers_, cost::linear_residual(projection, width_), [=, this] {
    kernels_.linear_residual({.shape = projection,
                              .rows = rows_,
                              .x = x_,
                              .weight = weight_,
                              .bias = bias_,
                              .dropout = dropout_,
                              .residual = residual_,
                              .y = y_});
  });
  add("MLP 1 linear_gelu", layers_, cost::linear_gelu(first, width_),
      [=, this] { kernels_.linear_gelu(first, x_, weight_, bias_, pre_, y_); });
  add("MLP 2 linear_residual", layers_, cost::linear_residual(second, width_), [=, this] {
    kernels_.linear_residual({.shape = second,
                              .rows = rows_,
                              .x = x_,
                              .weight = weight_,
                              .bias = bias_,
                              .dropout = dropout_,
                              .residual = residual_,
                              .y = y_});
  });
}

void StepKernels::layer_backward() {
  const LinearShape qkv = qkv_of(n(), h_), projection = projection_of(n(), h_), first = first_of(n(), h_),
                    second = second_of(n(), h_);
  add("bias_residual backward", 2 * layers_, cost::bias_residual_backward(rows_, h_, width_),
      [this] { kernels_.bias_residual_backward(rows_, h_, y_, dropout_, y_, dbias_); });
  add("MLP 2 input gradient gelu", layers_, cost::linear_input_gradient_gelu(second, width_),
      [=, this] { kernels_.linear_input_gradient_gelu(second, y_, weight_, pre_, dx_); });
  add("MLP 2 weight gradient", layers_, cost::linear_weight_gradient(second, width_),
      [=, this] { kernels_.linear_weight_gradient(second, y_, x_, dweight_, {}); });
  linear_backward("MLP 1", first);
  add("projection input gradient", layers_, cost::linear_input_gradient(projection, width_),
      [=, this] { kernels_.linear_input_gradient(projection, y_, weight_, dx_); });
  add("projection weight gradient", layers_, cost::linear_weight_gradient(projection, width_),
      [=, this] { kernels_.linear_weight_gradient(projection, y_, x_, dweight_, {}); });
  add("attention backward", layers_, cost::attention_backward(attention_, width_), [this] {
    kernels_.attention_backward(
        {.shape = attention_, .dout = residual_, .qkv = x_, .out = y_, .log_sum = log_sum_, .dropout = dropout_, .dqkv = dx_});
  });
  linear_backward("qkv", qkv);
  add("layer_norm backward", 2 * layers_ + 1, cost::layer_norm_backward(n(), h_, width_), [this] {
    kernels_.layer_norm_backward({.rows = n(),
                                  .hidden = h_,
                                  .dy = y_,
                                  .x = x_,
                                  .gain = bias_,
                                  .mean = mean_,
                                  .rstd = rstd_,
                                  .dresidual = dx_,
                                  .dx = dx_,
                                  .dgain = dweight_,
                                  .dbias = dbias_});
  });
}

void StepKernels::head() {
  const LinearShape shape{n(), h_, range_.rows};
  add("logits linear", 1, cost::linear(shape, width_), [=, this] { kernels_.linear(shape, x_, weight_, {}, logits_); });
  add("cross_entropy_maximum", 1, cost::cross_entropy_maximum(n(), range_, width_),
      [this] { kernels_.cross_entropy_maximum(n(), logits_, range_, maximum_); });
  add("cross_entropy_sums", 1, cost::cross_entropy_sums(n(), range_, width_), [this] {
    kernels_.cross_entropy_sums({.rows = n(),
                                 .logits = logits_,
                                 .range = range_,
                                 .targets = tokens_,
                                 .maximum = maximum_,
                                 .sums = sums_,
                                 .target_logits = rstd_});
  });
  add("cross_entropy_gradient", 1, cost::cross_entropy_gradient(n(), range_, width_), [this] {
    kernels_.cross_entropy_gradient({.rows = n(),
                                     .logits = logits_,
                                     .range = range_,
                                     .targets = tokens_,
                                     .sums = sums_,
                                     .target_logits = rstd_,
                                     .scale = 1,
                                     .losses = losses_});
  });
  add("logits input gradient", 1, cost::linear_input_gradient(shape, width_),
      [=, this] { kernels_.linear_input_gradient(shape, logits_, weight_, dx_); });
  add("logits weight gradient", 1, cost::linear_weight_gradient(shape, width_),
      [=, this] { kernels_.linear_weight_gradient(shape, logits_, x_, dweight_, {}); });
}

void StepKernels::optimizer() {
  add("squared_norm", 1, cost::squared_norm(parameters_), [this] { kernels_.squared_norm(gradient_, cell_); });
  add("adamw", 1, cost::adamw(parameters_), [this] {
    kernels_.adamw({1e-4f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.5f, 0.5f, record_}, parameter_, gradient_, first_, second_, {});
  });
}

}  // namespace

Step make_step(const Settings& settings, const Backend& backend) {
  const auto kernels = std::make_shared<StepKernels>(settings, backend);
  return {kernels, kernels->entries()};
}

}  // namespace trireme::bench
