// The proof that nothing of a model is missing in a checkpoint, and nothing there twice.
#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "store/manifest.h"

namespace trireme::store {
namespace {

struct Found {
  const FileRecord* file;
  const SliceRecord* slice;
};

template <class... T>
[[noreturn]] void uncovered(const std::string& dataset, fmt::format_string<T...> format, T&&... values) {
  throw base::Error(base::Exit::mismatch, fmt::format("{}: {}", base::clipped(dataset),
                                                      base::clipped(fmt::format(format, std::forward<T>(values)...), 1000)));
}

/// Slices inside the tensor that do not overlap cover it exactly when their elements add up to its.
void check_tensor(const std::string& dataset, const Shape& shape, std::vector<Found> slices) {
  if (shape.empty()) uncovered(dataset, "a tensor without axes");
  std::int64_t covered = 0;
  for (const auto& [file, slice] : slices) {
    if (slice->shape != shape)
      uncovered(dataset, "{} in {}, but {} in the list of tensors", to_string(slice->shape), file->name, to_string(shape));
    if (!inside(slice->box(), shape))
      uncovered(dataset, "{} at {} in {} is no part of {}", to_string(slice->count), to_string(slice->start), file->name,
                to_string(shape));
    covered += elements_of(slice->count);
  }
  // In order of their first axis, a slice can overlap only those that begin before it ends there.
  std::sort(slices.begin(), slices.end(), [](const Found& a, const Found& b) { return a.slice->start < b.slice->start; });
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const SliceRecord& a = *slices[i].slice;
    for (std::size_t j = i + 1; j < slices.size() && slices[j].slice->start[0] < a.start[0] + a.count[0]; ++j) {
      const Box common = intersection(a.box(), slices[j].slice->box());
      if (elements_of(common.count) > 0)
        uncovered(dataset, "{} elements at {} are twice there, in {} and in {}", elements_of(common.count),
                  to_string(common.start), slices[i].file->name, slices[j].file->name);
    }
  }
  const std::int64_t elements = elements_of(shape);
  if (covered != elements) uncovered(dataset, "{} of {} elements are in no file", elements - covered, elements);
}

}  // namespace

void check_coverage(const Manifest& manifest) {
  std::map<std::pair<Quantity, std::string>, std::vector<Found>> found;
  for (const FileRecord& file : manifest.files)
    for (const SliceRecord& slice : file.slices) found[{slice.quantity, slice.name}].push_back({&file, &slice});
  for (const TensorRecord& tensor : manifest.tensors) {
    for (const Quantity quantity : quantities) {
      if (quantity != Quantity::parameters && !manifest.moments) continue;
      const auto slices = found.extract({quantity, tensor.name});
      check_tensor(group_of(quantity) + "/" + tensor.name, tensor.shape, slices.empty() ? std::vector<Found>{} : slices.mapped());
    }
  }
  for (const auto& [key, slices] : found)
    uncovered(slices[0].slice->dataset(), "in {}, but not in the list of tensors", slices[0].file->name);
}

}  // namespace trireme::store
