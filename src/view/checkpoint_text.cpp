#include "view/checkpoint_text.h"

#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"

namespace trireme::view {

std::string checkpoint_summary(const std::string& folder, const store::Manifest& manifest) {
  std::int64_t elements = 0, bytes = 0;
  for (const auto& tensor : manifest.tensors) elements += store::elements_of(tensor.shape);
  for (const auto& file : manifest.files) bytes += file.bytes;
  return fmt::format("{}\nstep {}, samples {}, loss scale {}, run {}\n{} in {}, {} Adam's moments; {}, {}\n", folder,
                     manifest.step, manifest.samples, base::real_text(manifest.loss_scale), manifest.run_id,
                     base::counted(elements, "parameter"), base::counted(std::ssize(manifest.tensors), "tensor"),
                     manifest.moments ? "with" : "without", base::counted(std::ssize(manifest.files), "file"),
                     base::bytes_text(static_cast<double>(bytes)));
}

std::string tensor_table(const store::Manifest& manifest) {
  std::map<std::string, int> slices;
  for (const auto& file : manifest.files)
    for (const auto& slice : file.slices) slices[slice.name] += slice.quantity == store::Quantity::parameters;
  std::string text = fmt::format("{:<40} {:<20} {:>6}\n", "tensor", "shape", "slices");
  for (const auto& tensor : manifest.tensors)
    text += fmt::format("{:<40} {:<20} {:>6}\n", tensor.name, store::to_string(tensor.shape), slices[tensor.name]);
  return text;
}

std::string verdict_heading() { return fmt::format("{:<32} {:>10}  {}\n", "file", "bytes", "verdict"); }

std::string verdict_line(const std::string& file, std::int64_t bytes, bool right) {
  return fmt::format("{:<32} {:>10}  {}\n", file, base::bytes_text(static_cast<double>(bytes)), right ? "right" : "WRONG");
}

}  // namespace trireme::view
