// The parameter table: what a model's parameters are called, their global shapes, who owns them, how tensor parallelism splits
// them. Initialisation, gradients, the norm, weight decay, import and export read this table and nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/config.h"

namespace trireme::spec {

/// How N(0, sigma) or a constant starts a parameter.
struct Initial {
  double mean = 0, sigma = 0;
};

struct Parameter {
  std::string name;                 // global, e.g. "layers.3.attention.qkv.weight"
  std::vector<std::int64_t> shape;  // global; qkv is [3, a, h/a, h]
  std::optional<int> split_axis;    // the axis that tensor parallelism splits
  int layer;                        // 0 .. l-1; -1 embedding, l final norm
  bool decay;                       // weight decay applies: matrices and embeddings
  Initial initial;
  std::int64_t elements() const;  // of the whole tensor
};

inline constexpr const char* token_embedding = "embedding.tokens.weight";
inline constexpr const char* position_embedding = "embedding.positions.weight";

/// Every parameter of the model once, in table order: token and position embedding, layers, final norm.
std::vector<Parameter> model_parameters(const config::Model& model);

/// The same, made once for all stages and ranks of a model: copies share it.
class ParameterTable {
 public:
  ParameterTable() : ParameterTable(std::vector<Parameter>{}) {}
  explicit ParameterTable(std::vector<Parameter> parameters);

  std::size_t size() const { return shared_->parameters.size(); }
  const Parameter& operator[](std::size_t index) const { return shared_->parameters[index]; }
  auto begin() const { return shared_->parameters.begin(); }
  auto end() const { return shared_->parameters.end(); }
  operator const std::vector<Parameter>&() const { return shared_->parameters; }
  /// The row of that name; nothing where there is none.
  std::optional<int> find(std::string_view name) const;

 private:
  struct Shared {
    std::vector<Parameter> parameters;
    std::unordered_map<std::string_view, int> rows;  // by name
  };
  std::shared_ptr<const Shared> shared_;
};

/// Number of elements of all parameters (padding not counted).
std::int64_t parameter_count(const config::Model& model);

/// The part of a parameter that one tensor rank holds: a hyperslab of the global tensor, in dense row-major local order, followed
/// by `padding` elements of memory (vocabulary rows that do not exist; never stored).
struct Slice {
  std::vector<std::int64_t> start, count;
  std::int64_t padding = 0;
  std::int64_t elements() const;  // without padding; 0 when a rank holds only padding
};

/// V rounded up to a multiple of 128 t (Megatron-LM's rule), so that every tensor rank holds equally many rows.
std::int64_t padded_vocabulary(std::int64_t vocabulary, std::int64_t tensor);

/// Slice of `parameter` on tensor rank `rank` of `tensor`. The split axis divides (checked with the configuration).
Slice slice_of(const Parameter& parameter, int tensor, int rank);

/// Where each contiguous run of slice.count.back() elements of the slice starts in the global tensor, in local order.
std::vector<std::int64_t> global_offsets(const Parameter& parameter, const Slice& slice);

}  // namespace trireme::spec
