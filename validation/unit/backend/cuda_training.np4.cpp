// A whole training step by the CUDA kernels: fp32, in the simulator, on several ranks. Oracle: the CPU's kernels on the same
// ranks, which sum in another order; losses and weights of three steps may differ by what fp32 rounds.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/simt/engine.h"
#include "kernels/simt/memory.h"
#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/small_run.h"

namespace trireme::test {
namespace {

/// Device memory that MPI can read. All that is given to the null stream is done when the call returns, as on the CPU.
class SimulatedDevice final : public kernels::Device {
 public:
  void* allocate(std::int64_t bytes) override {
    void* memory = simt::allocate_device(static_cast<std::size_t>(bytes));
    std::memset(memory, 0, static_cast<std::size_t>(bytes));
    return memory;
  }
  void release(void* memory, std::int64_t) noexcept override { simt::release_device(memory); }
  void* allocate_pinned(std::int64_t bytes) override { return host_->allocate_pinned(bytes); }
  void release_pinned(void* memory, std::int64_t bytes) noexcept override { host_->release_pinned(memory, bytes); }
  bool is_host() const override { return true; }
  void zero(kernels::View v) override { host_->zero(v); }
  void copy(kernels::View to, kernels::View from) override { host_->copy(to, from); }
  void upload(kernels::View to, const void* host) override { host_->upload(to, host); }
  void download(void* host, kernels::View from) override { host_->download(host, from); }
  void upload_later(kernels::View to, const void* pinned) override { host_->upload(to, pinned); }
  void download_later(void* pinned, kernels::View from) override { host_->download(pinned, from); }
  void synchronize() override {}
  std::unique_ptr<kernels::Event> make_event() override { return host_->make_event(); }
  void order_after(const kernels::Event&) override {}
  std::string name() const override { return "simulated GPU"; }

 private:
  std::unique_ptr<kernels::Device> host_ = kernels::make_cpu_device();
};

/// Kernels with the scratch they need, which is of `device`
train::Backend simulated(const config::Config& config, kernels::View& scratch) {
  const config::Model& model = config.model;
  const std::int64_t t = config.parallel.tensor, h = model.hidden;
  const kernels::Rows rows{model.sequence, config.batch.micro};
  kernels::cuda::CudaLimits limits{rows, h, {rows, model.heads / t, h / model.heads, 0}, {}, 1 << 16};
  for (const auto& [in, out] : {std::pair{h, 3 * h / t}, {h / t, h}, {h, 4 * h / t}, {4 * h / t, h}, {h, model.vocabulary}})
    limits.products.push_back({rows.count(), in, out});
  auto device = std::make_unique<SimulatedDevice>();
  const std::int64_t bytes = kernels::cuda::scratch_bytes(limits);
  scratch = {device->allocate(bytes), bytes / 4, kernels::DType::fp32};
  auto kernels = kernels::cuda::make_cuda_kernels(*device, {}, scratch);
  return {std::move(device), std::move(kernels)};
}

void expect_equal_training(const std::vector<std::string>& values) {
  const config::Config config = small_config(world().size(), values);
  kernels::View scratch;
  train::Trainer cpu = make_trainer(world(), config), gpu = make_trainer(world(), config, simulated(config, scratch));
  simt::counters() = {};
  for (int step = 0; step < 3; ++step) {
    const train::StepResult expected = cpu.step(step), actual = gpu.step(step);
    EXPECT_NEAR(actual.loss, expected.loss, 2e-6 * expected.loss) << values.back() << " step " << step;
    EXPECT_NEAR(actual.gradient_norm, expected.gradient_norm, 1e-5 * expected.gradient_norm) << values.back() << " step " << step;
  }
  EXPECT_GT(simt::counters().launches, 100u) << "the kernels ran";
  EXPECT_NEAR(gpu.evaluate(), cpu.evaluate(), 1e-5) << values.back();
  simt::release_device(scratch.data);
}

TEST(CudaTraining, AsOnTheCpu) {
  const std::vector<std::string> common = {"model.dropout=0.1", "model.vocabulary=96", "run.evaluate_every=1",
                                           "run.evaluate_samples=8"};
  for (const std::vector<std::string>& layout :
       {std::vector<std::string>{"parallel.tensor=2", "parallel.pipeline=2"},
        {"parallel.tensor=4"},
        {"batch.micro=2"},
        {"parallel.pipeline=2", "parallel.virtual=2", "parallel.schedule=interleaved"}}) {
    std::vector<std::string> values = common;
    values.insert(values.end(), layout.begin(), layout.end());
    expect_equal_training(values);
  }
}

}  // namespace
}  // namespace trireme::test

TRIREME_TEST_MAIN(4)
