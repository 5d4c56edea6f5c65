// A whole training step on one rank - data, forward, backward, norm, optimizer, as `trireme train` runs it - against the bare
// matrix products of the same step, measured between the steps of the same run, so that a change of the machine's clock moves
// both; then the same steps traced:
//   step [threads=1] [repeats=9] [key=value of the input file ...]      default: 6 layers, hidden 384, 4 x 256 tokens
// FLOPs are those of the matrix products, attention's counted for visible pairs only (kernels/cost.h).
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/units.h"
#include "kernels/cost.h"
#include "run/tracer.h"
#include "validation/unit/support/process.h"
#include "validation/unit/support/small_run.h"
#include "validation/unit/support/views.h"

namespace {

using namespace trireme;
using kernels::LinearShape;

const std::vector<std::string> defaults = {"model.layers=6",       "model.hidden=384", "model.heads=6", "model.sequence=256",
                                           "model.vocabulary=256", "batch.global=4",   "batch.micro=4"};

struct Product {
  LinearShape shape;
  double calls;  // a step, of each of the forward product and the two gradients
};

std::vector<Product> products(const config::Config& config, double microbatches) {
  const std::int64_t n = config.batch.micro * config.model.sequence, h = config.model.hidden;
  const double layers = static_cast<double>(config.model.layers) * microbatches;
  const std::int64_t padded = spec::padded_vocabulary(config.model.vocabulary, 1);
  return {{{n, h, 3 * h}, layers},
          {{n, h, h}, layers},
          {{n, h, 4 * h}, layers},
          {{n, 4 * h, h}, layers},
          {{n, h, padded}, microbatches}};
}

double seconds_of(const std::function<void()>& work) {
  const double begin = base::now();
  work();
  return base::now() - begin;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds of all bare products of a step.
class Yardstick {
 public:
  Yardstick(kernels::Kernels& kernels, std::vector<Product> list) : kernels_(kernels), products_(std::move(list)) {
    std::int64_t most = 0, weights = 0;
    for (const auto& [shape, calls] : products_) {
      most = std::max(most, shape.rows * std::max(shape.in, shape.out));
      weights = std::max(weights, shape.in * shape.out);
    }
    x_.resize(most, 0.5f), y_.resize(most, 0.25f), dx_.resize(most), w_.resize(weights, 0.125f), dw_.resize(weights);
  }
  double flops() const {
    double sum = 0;
    for (const auto& [shape, calls] : products_) sum += 3 * calls * kernels::cost::product(shape, 4).flops;
    return sum;
  }
  double seconds() {
    double sum = 0;
    for (const auto& [shape, calls] : products_) sum += calls * seconds_of([&] { once(shape); });
    return sum;
  }

 private:
  void once(LinearShape shape) {
    const auto part = [](std::vector<float>& v, std::int64_t count) { return test::view(v).slice(0, count); };
    const auto x = part(x_, shape.rows * shape.in), y = part(y_, shape.rows * shape.out), dx = part(dx_, shape.rows * shape.in);
    const auto w = part(w_, shape.in * shape.out), dw = part(dw_, shape.in * shape.out);
    kernels_.linear(shape, x, w, {}, y);
    kernels_.linear_input_gradient(shape, y, w, dx);
    kernels_.linear_weight_gradient(shape, y, x, dw, {});
  }
  kernels::Kernels& kernels_;
  std::vector<Product> products_;
  std::vector<float> x_, y_, dx_, w_, dw_;
};

/// Steps with and without tracing in turn, so that a change of the machine's clock moves both.
void tracing(grid::World& world, train::Trainer& trainer, const config::Config& config, int repeats) {
  const test::Folder folder;
  run::Tracer tracer(world, config, trainer.layout(), "", folder.path(), trainer.replica().device());
  std::vector<double> plain, traced, around;
  for (int k = 1; k <= repeats; ++k) {
    plain.push_back(seconds_of([&] { trainer.step(0); }));
    around.push_back(seconds_of([&] { tracer.begin(k); }));
    traced.push_back(seconds_of([&] { trainer.step(0); }));
    around.back() += seconds_of([&] { tracer.end(); });
  }
  fmt::print("a traced step takes {:.4f} times as long as one that is not; {:.2f} ms around it, for clocks and the file\n",
             median(traced) / median(plain), median(around) * 1e3);
}

int bench(grid::World& world, int repeats, const std::vector<std::string>& overrides) {
  std::vector<std::string> values = defaults;
  values.insert(values.end(), overrides.begin(), overrides.end());
  values.insert(values.end(), {fmt::format("run.steps={}", repeats), fmt::format("trace.steps=1-{}", repeats)});
  const config::Config config = test::small_config(world.size(), values);
  train::Trainer trainer = test::make_trainer(world, config);
  const double m = trainer.layout().training.schedule.microbatches;
  Yardstick yardstick(trainer.replica().kernels(), products(config, m));
  std::vector<double> step, bare;
  for (int k = -2; k < repeats; ++k) {
    const double a = yardstick.seconds(), b = seconds_of([&] { trainer.step(std::max(k, 0)); });
    if (k >= 0) bare.push_back(a), step.push_back(b);
  }
  const kernels::AttentionShape attention{
      {config.model.sequence, config.batch.micro}, config.model.heads, config.model.hidden / config.model.heads, 0};
  const double attention_flops = static_cast<double>(config.model.layers) * m *
                                 (kernels::cost::attention(attention) + kernels::cost::attention_backward(attention)).flops;
  const double bare_rate = yardstick.flops() / median(bare), rate = (yardstick.flops() + attention_flops) / median(step);
  fmt::print(
      "matrix products alone {:.2f} ms, {}FLOP/s; whole step {:.2f} ms, {}FLOP/s, {}tok/s; the step reaches {:.3f} of their "
      "rate\n",
      median(bare) * 1e3, base::rate_text(bare_rate), median(step) * 1e3, base::rate_text(rate),
      base::rate_text(static_cast<double>(config.batch.global * config.model.sequence) / median(step)), rate / bare_rate);
  tracing(world, trainer, config, repeats);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    grid::World world;
    int repeats = 9;
    std::vector<std::string> overrides;
    for (int k = 1; k < argc; ++k) {
      const std::string word = argv[k];
      if (word.starts_with("repeats="))
        repeats = static_cast<int>(std::max<std::int64_t>(base::parse_count(word.substr(8)), 1));
      else
        overrides.push_back(word.starts_with("threads=") ? "run." + word : word);
    }
    return bench(world, repeats, overrides);
  } catch (const grid::Agreed& end) {
    return static_cast<int>(end.status);
  } catch (const base::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.status());
  }
}
