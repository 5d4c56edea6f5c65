// The one interface to the hand-written kernels: every operation of a GPT's training step, forward and backward.
//
// Letters as in arXiv 2104.04473: a heads, b micro-batch size, h hidden, s sequence, t tensor-parallel size, V vocabulary;
// n = s b rows of a microbatch, row i b + j being position i of sample j. Matrices are row-major and dense. "dx" is the gradient
// of the loss with respect to x. Every operation is deterministic for a given number of threads, and runs in the order of the
// calls. An operation of seven arguments or more takes them by name, in a struct that stands before it. flops and bytes of each,
// but of what touches a few cells, stand in cost.h. A view of another type, or shorter than its shape, is a std::logic_error.
//
// Types: activations, their gradients, logits, weights and biases of one call have one type, the compute type: bf16, fp16 or
// fp32. All arithmetic is in fp32 at least, and what is formed is rounded once, to nearest, where it is stored. Gradients of
// weights (dweight, dbias, dgain, dtable, dpositions) accumulate in fp32; statistics and sums of rows (mean, rstd, log_sum,
// maximum, sums, target_logits, losses) are fp32, tokens and targets int32, the optimizer's operands fp32 and cells of a record
// fp64.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/device.h"

namespace trireme::kernels {

/// Rows of a [s, b, ...] activation.
struct Rows {
  std::int64_t sequence = 0;  // positions held here
  std::int64_t batch = 0;     // samples of the microbatch, b
  std::int64_t first = 0;     // position of the first one in the sequence: not 0 on the ranks of sequence parallelism
  constexpr std::int64_t count() const { return sequence * batch; }
};

/// Inverted dropout whose mask is a pure function of (key, sample, element), whatever the layout: element e of sample g is kept
/// when word e % 4 of philox(key, g, e / 4) >= rate 2^32, and then scaled by 1 / (1 - rate). For a row of n columns e is
/// (index of the row) * (n rounded up to a multiple of 4) + column; the index of the row is the position in the sequence, in
/// attention (global head) s + query position.
struct Dropout {
  float rate = 0;                  // 0: none; below 1
  std::uint64_t key = 0;           // base::stream_key(seed, site)
  std::uint64_t first_sample = 0;  // position in the run's sample order of the microbatch's sample 0
};

struct LinearShape {
  std::int64_t rows, in, out;  // n, columns of x, columns of y
};

struct AttentionShape {
  Rows rows;
  std::int64_t heads;       // held here, a/t
  std::int64_t head_size;   // h/a
  std::int64_t first_head;  // global index of the first head held here
};

/// The slice of the vocabulary held here: `rows` rows of memory, of which the first `valid` are real tokens first ..
/// first + valid - 1, the rest padding. valid may be 0.
struct VocabularyRange {
  std::int64_t first = 0, valid = 0, rows = 0;
};

struct AdamW {
  float learning_rate;
  double beta1, beta2;  // 1 - beta is formed in double: near 1 the difference of two fp32 is far off, or 0
  float epsilon, weight_decay;
  float correction1, correction2;  // 1 - beta1^k, 1 - beta2^k at step k >= 1
  View record;                     // StepOutcome::scale and skipped, formed by clip
};

/// What the update of a step follows from and what the host is told of it. Formed in device memory, as fp64 [4] in this order;
/// the host downloads it whole.
struct StepOutcome {
  double loss = 0;     // sum over the targets of the global batch, nats
  double norm = 0;     // of the gradient of the loss, before clipping
  double scale = 0;    // of the gradient as it was accumulated, in the update
  double skipped = 0;  // 1: the norm is not finite, and nothing was updated

  static constexpr DType type = DType::fp64;  // of a cell
  enum Cell : std::int64_t { loss_cell, norm_cell, scale_cell, skipped_cell, cells };
};
static_assert(sizeof(StepOutcome) == StepOutcome::cells * sizeof(double));

class Kernels {
 public:
  virtual ~Kernels() = default;

  // ---- linear: W [out, in]
  /// y [n, out] = x [n, in] W^T (+ bias [out] when given)
  virtual void linear(LinearShape shape, View x, View weight, View bias, View y) = 0;
  /// pre [n, out] = x W^T + bias; y = gelu(pre), the tanh form
  virtual void linear_gelu(LinearShape shape, View x, View weight, View bias, View pre, View y) = 0;

  struct LinearResidual {
    LinearShape shape;
    Rows rows;  // the n rows of shape
    View x, weight, bias;
    Dropout dropout = {};
    View residual, y;  // [n, out]; y may be residual
  };
  /// y = residual + dropout(x W^T + bias)
  virtual void linear_residual(const LinearResidual& op) = 0;
  /// dx [n, in] = dy [n, out] W
  virtual void linear_input_gradient(LinearShape shape, View dy, View weight, View dx) = 0;
  /// dpre [n, in] = (dy [n, out] W) * gelu'(pre [n, in]): through W and the GELU before it
  virtual void linear_input_gradient_gelu(LinearShape shape, View dy, View weight, View pre, View dpre) = 0;
  /// dweight [out, in] += dy^T x; dbias [out] += column sums of dy, when given
  virtual void linear_weight_gradient(LinearShape shape, View dy, View x, View dweight, View dbias) = 0;

  // ---- what follows a row-parallel product after its all-reduce
  struct BiasResidual {
    Rows rows;
    std::int64_t hidden;  // h
    View x, bias;         // [n, h], [h]
    Dropout dropout = {};
    View residual, y;  // [n, h]; y may be x or residual
  };
  /// y = residual + dropout(x + bias)
  virtual void bias_residual(const BiasResidual& op) = 0;
  /// dx = mask dy / (1 - rate); dbias += column sums of dx. Serves linear_residual too; the residual's gradient is dy itself.
  /// dx may be dy; with rate 0 dx = dy is not written when they are the same memory.
  virtual void bias_residual_backward(Rows rows, std::int64_t hidden, View dy, Dropout dropout, View dx, View dbias) = 0;

  // ---- layer norm, epsilon 1e-5
  struct LayerNorm {
    std::int64_t rows, hidden;  // n, h
    View x, gain, bias;         // [n, h], [h], [h]
    View y, mean, rstd;         // [n, h], [n], [n]
  };
  /// y = gain * (x - mean) / sqrt(var + 1e-5) + bias; mean, rstd are kept for the backward pass
  virtual void layer_norm(const LayerNorm& op) = 0;

  struct ResidualLayerNorm {
    Rows rows;
    std::int64_t hidden;  // h
    View x, linear_bias;  // [n, h], [h]
    Dropout dropout = {};
    View residual, sum;  // [n, h]
    View gain, bias;     // [h]
    View y, mean, rstd;  // [n, h], [n], [n]
  };
  /// layer_norm with bias_residual before it: sum = residual + dropout(x + linear_bias), y = layer norm of sum
  virtual void residual_layer_norm(const ResidualLayerNorm& op) = 0;

  struct LayerNormBackward {
    std::int64_t rows, hidden;  // n, h
    View dy, x, gain;           // [n, h], [n, h], [h]
    View mean, rstd;            // [n], of the forward pass
    View dresidual = {};        // [n, h], may be dx; none: not added
    View dx, dgain, dbias;      // [n, h], [h], [h]
  };
  /// dx = dresidual + gradient through the norm; dgain, dbias accumulate
  virtual void layer_norm_backward(const LayerNormBackward& op) = 0;

  // ---- attention, causal, scaled by 1/sqrt(h/a)
  /// qkv [s, b, 3, a/t, h/a] -> out [s, b, a/t, h/a], log_sum [b, a/t, s] (log of the sum of exponentials of a row's scaled
  /// scores). Dropout acts on the probabilities. Scratch is linear in s.
  virtual void attention(AttentionShape shape, View qkv, Dropout dropout, View out, View log_sum) = 0;

  struct AttentionBackward {
    AttentionShape shape;
    View dout, qkv, out, log_sum;  // qkv, out, log_sum as of the forward pass
    Dropout dropout = {};
    View dqkv;
  };
  /// dqkv is written, not accumulated
  virtual void attention_backward(const AttentionBackward& op) = 0;

  // ---- embedding: tokens [s, b] int32; table [rows of the range, h]
  struct Embedding {
    Rows rows;
    std::int64_t hidden;  // h
    View tokens, table;
    VocabularyRange range;
    View positions = {};  // [s, h]; none: not added
    Dropout dropout = {};
    View y;  // [n, h]
  };
  /// y = dropout(table row of the token (0 where it is outside the range) + positions)
  virtual void embedding(const Embedding& op) = 0;
  /// y = dropout(x); y may be x. Its own gradient is itself with dy.
  virtual void dropout(Rows rows, std::int64_t hidden, View x, Dropout dropout, View y) = 0;

  struct EmbeddingBackward {
    Rows rows;
    std::int64_t hidden;  // h
    View tokens, dy;      // dy [n, h] is after the dropout's own gradient
    VocabularyRange range;
    View dtable;
    View dpositions = {};  // [s, h]; none: not formed
  };
  /// dtable, dpositions accumulate, rows of a token in the order of the rows of dy
  virtual void embedding_backward(const EmbeddingBackward& op) = 0;

  // ---- cross-entropy over a vocabulary range, in place of the logits [n, rows of the range]; padding never counts
  /// maximum [n] of the valid logits (-infinity where there is none)
  virtual void cross_entropy_maximum(std::int64_t rows, View logits, VocabularyRange range, View maximum) = 0;

  struct CrossEntropySums {
    std::int64_t rows;  // n
    View logits;
    VocabularyRange range;
    View targets, maximum;     // [n] int32; [n], of the whole vocabulary
    View sums, target_logits;  // [n], of the range
  };
  /// logits := exp(logits - maximum) (0 on padding); sums = their sum; target_logits = the target's logit - maximum where the
  /// target is in the range, else 0
  virtual void cross_entropy_sums(const CrossEntropySums& op) = 0;

  struct CrossEntropyGradient {
    std::int64_t rows;  // n
    View logits;        // after cross_entropy_sums
    VocabularyRange range;
    View targets, sums, target_logits;  // [n] int32; [n], of the whole vocabulary
    float scale;
    View losses;  // [n]
  };
  /// logits := scale (exp / sum - [target]), the gradient of scale * sum of losses; losses = log(sum) - target_logit
  virtual void cross_entropy_gradient(const CrossEntropyGradient& op) = 0;

  // ---- optimizer and reductions; results stay in device memory, fp64
  /// squares [any number] of gradients of loss_scale times the loss, added in their order: record's norm := the root of their sum
  /// / loss_scale, scale := min(1, clip / (norm + 1e-6)), or 1 where clip is 0, / loss_scale; skipped := whether the norm is not
  /// finite. Its loss stays.
  virtual void clip(double clip, double loss_scale, View squares, View record) = 0;
  /// Decoupled weight decay (Loshchilov and Hutter, 2019), epsilon outside the root; g = record's scale * gradient. `copy`, of
  /// any compute type, becomes the new weights, rounded; none: not written. Where the record says skipped nothing changes.
  virtual void adamw(AdamW step, View weight, View gradient, View first_moment, View second_moment, View copy) = 0;
  /// to := from, rounded to nearest; fp32 to bf16 or fp16, or back
  virtual void cast(View to, View from) = 0;
  /// y += x, both fp32 or both fp64
  virtual void add(View y, View x) = 0;
  /// out [1] := sum of squares of x, fp32, independent of the number of threads
  virtual void squared_norm(View x, View out) = 0;
  /// out [1] := sum of x. Of fp32 in an order that follows from the number of elements alone; of fp64, a few cells, in their
  /// order.
  virtual void sum(View x, View out) = 0;
  /// How many elements, of any compute type, are infinite or not a number. Waits for the device.
  virtual std::int64_t non_finite_count(View x) = 0;
};

/// `threads` OpenMP threads a rank; matrix products by the system's BLAS with as many. Longest sequence and largest head size
/// bound the scratch, taken here once; that for elements of 2 bytes where `compute` is such a type.
struct CpuLimits {
  int threads = 1;
  std::int64_t sequence = 0, head_size = 0;
  DType compute = DType::fp32;
};
std::unique_ptr<Kernels> make_cpu_kernels(CpuLimits limits);

}  // namespace trireme::kernels
