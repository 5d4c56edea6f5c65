#include "train/backend.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "spec/state.h"

namespace trireme::train {
namespace {

struct Form {
  std::string_view name;  // of run.device
  std::unique_ptr<kernels::Device> (*device)();
  std::unique_ptr<kernels::Kernels> (*kernels)(const config::Config& config, const layout::Layout& layout, int threads);
};

std::unique_ptr<kernels::Kernels> cpu_kernels(const config::Config& config, const layout::Layout& /*layout*/, int threads) {
  const config::Model& model = config.model;
  return kernels::make_cpu_kernels({threads, model.sequence, model.hidden / model.heads, spec::compute_type(config)});
}

constexpr std::array forms = {
    Form{"cpu", kernels::make_cpu_device, cpu_kernels},
    Form{"auto", kernels::make_cpu_device, cpu_kernels},
};

const Form& form_of(const config::Config& config) {
  const auto found = std::find_if(forms.begin(), forms.end(), [&](const Form& form) { return form.name == config.run.device; });
  if (found == forms.end()) base::refuse("run.device = \"{}\": this build has no such device", config.run.device);
  return *found;
}

}  // namespace

std::unique_ptr<kernels::Device> make_device(const config::Config& config) { return form_of(config).device(); }

Backend make_backend(const config::Config& config, const layout::Layout& layout, int threads) {
  return {make_device(config), form_of(config).kernels(config, layout, threads)};
}

}  // namespace trireme::train
