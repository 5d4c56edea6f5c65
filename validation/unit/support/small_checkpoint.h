// A small model, its values by a formula, and checkpoints of it as the ranks of any layout write them, without any rank.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/philox.h"
#include "spec/parameters.h"
#include "store/checkpoint_folder.h"
#include "store/checkpoint_reader.h"

namespace trireme::test {

/// Layers are cut evenly over `pipeline`; tensor number i and what belongs to it is written by data rank i mod `data`.
struct Cut {
  int tensor = 1, pipeline = 1, data = 1;
  std::string name() const { return fmt::format("t{} p{} d{}", tensor, pipeline, data); }
};

/// h = 8, a = 4, s = 6. V = 301 rows over 4 tensor ranks: 128, 128, 45 and none.
inline config::Model small_model(std::int64_t layers, std::int64_t vocabulary = 301) {
  config::Model model;
  model.layers = layers;
  model.hidden = 8;
  model.heads = 4;
  model.sequence = 6;
  model.vocabulary = vocabulary;
  return model;
}

/// Any 32 bits, infinities and NaNs too: a pure function of its arguments.
inline std::uint32_t bits_of(store::Quantity quantity, const std::string& name, std::int64_t element, std::uint64_t seed) {
  std::uint64_t x = base::stream_id(name) + seed * 0x9e3779b97f4a7c15 +
                    static_cast<std::uint64_t>(quantity) * 0xbf58476d1ce4e5b9 +
                    static_cast<std::uint64_t>(element) * 0x94d049bb133111eb;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return static_cast<std::uint32_t>(x >> 32);
}

using Bits = std::vector<std::uint32_t>;

inline std::vector<float> floats_of(const Bits& words) {
  std::vector<float> floats;
  for (const std::uint32_t word : words) floats.push_back(std::bit_cast<float>(word));
  return floats;
}
inline Bits words_of(const std::vector<float>& floats) {
  Bits words;
  for (const float& f : floats) words.push_back(std::bit_cast<std::uint32_t>(f));
  return words;
}

/// The values of a slice, dense.
inline Bits expected(store::Quantity quantity, const spec::Parameter& parameter, const spec::Slice& slice, std::uint64_t seed) {
  Bits values;
  for (const std::int64_t first : global_offsets(parameter, slice))
    for (std::int64_t k = 0; k < slice.count.back(); ++k) values.push_back(bits_of(quantity, parameter.name, first + k, seed));
  return values;
}

/// Calls visit(parameter, slice) for what the rank owns.
template <class Visit>
void for_each_owned(const config::Model& model, const Cut& cut, int pipeline, int tensor, int data, Visit visit) {
  int number = 0;
  for (const spec::Parameter& parameter : spec::model_parameters(model)) {
    const std::int64_t layers = std::max<std::int64_t>(model.layers, 1);
    const std::int64_t layer = std::clamp<std::int64_t>(parameter.layer, 0, layers - 1);
    const bool mine = layer * cut.pipeline / layers == pipeline && number++ % cut.data == data;
    if (mine && (parameter.split_axis || tensor == 0))
      visit(parameter, slice_of(parameter, parameter.split_axis ? cut.tensor : 1, tensor));
  }
}

/// What one rank writes; `memory` keeps the values alive.
inline std::vector<store::TensorPart> owned_parts(const config::Model& model, const Cut& cut, int pipeline, int tensor, int data,
                                                  std::uint64_t seed, std::vector<std::vector<float>>& memory) {
  std::vector<store::TensorPart> parts;
  for_each_owned(model, cut, pipeline, tensor, data, [&](const spec::Parameter& parameter, const spec::Slice& slice) {
    for (const store::Quantity quantity : store::quantities) {
      auto& values = memory.emplace_back(floats_of(expected(quantity, parameter, slice, seed)));
      parts.push_back({quantity, parameter.name, parameter.shape, slice.start, slice.count, values.data()});
    }
  });
  return parts;
}

inline store::Manifest small_manifest(const config::Model& model, std::int64_t step) {
  store::Manifest manifest;
  manifest.run_id = "run-1";
  manifest.step = step;
  manifest.samples = step * 16;
  manifest.loss_scale = 0.1;
  manifest.scaling = {5, 2, 1, 7};
  manifest.config = fmt::format("[model] # é\nlayers = {}\nhidden = {}\nheads = {}\nsequence = {}\nvocabulary = {}\n",
                                model.layers, model.hidden, model.heads, model.sequence, model.vocabulary);
  for (const spec::Parameter& parameter : spec::model_parameters(model))
    manifest.tensors.push_back({parameter.name, parameter.shape});
  return manifest;
}

/// All ranks write, then the checkpoint is published; returns its folder. The values depend on the step.
inline std::string write_checkpoint(const std::string& folder, const config::Model& model, const Cut& cut, std::int64_t step,
                                    const std::string& run_id = "run-1") {
  const std::string partial = store::create_partial(folder, step);
  store::Manifest manifest = small_manifest(model, step);
  manifest.run_id = run_id;
  for (int p = 0; p < cut.pipeline; ++p)
    for (int d = 0; d < cut.data; ++d)
      for (int t = 0; t < cut.tensor; ++t) {
        std::vector<std::vector<float>> memory;
        const auto parts = owned_parts(model, cut, p, t, d, static_cast<std::uint64_t>(step), memory);
        manifest.files.push_back(store::write_shard(partial, {run_id, step, p, t, d}, parts));
      }
  const std::string published = store::publish(partial, manifest);
  store::point_latest(published);
  return published;
}

/// The faults of all files, in one list.
inline std::vector<std::string> all_faults(const store::CheckpointReader& reader) {
  std::vector<std::string> faults;
  for (std::size_t i = 0; i < reader.manifest().files.size(); ++i)
    for (const std::string& fault : reader.verify_file(i)) faults.push_back(fault);
  for (const std::string& fault : reader.verify_master()) faults.push_back(fault);
  return faults;
}

}  // namespace trireme::test
