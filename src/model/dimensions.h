// Sizes of what one rank computes on, for one microbatch.
#pragma once

#include "config/config.h"
#include "kernels/kernels.h"
#include "spec/buffers.h"

namespace trireme::model {

struct Dimensions {
  kernels::Rows rows;         // s, b
  std::int64_t hidden;        // h
  std::int64_t local_hidden;  // h/t, columns of the attention's output held here
  std::int64_t feed_forward;  // 4h/t
  kernels::AttentionShape attention;
  kernels::VocabularyRange vocabulary;
  spec::Sizes sizes;  // the same numbers, for what is taken of memory
  std::int64_t n() const { return rows.count(); }
};

Dimensions make_dimensions(const config::Config& config, int tensor_rank);

}  // namespace trireme::model
