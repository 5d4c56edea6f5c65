// The bits of every operation's result: the same when it is repeated, at any alignment, and on one and on two threads except
// where the BLAS makes the product.
#include "validation/unit/kernels/fixture.h"
#include "validation/unit/support/views.h"

namespace trireme::kernels {
namespace {

using test::view;

using Values = std::vector<float>;

Values joined(std::initializer_list<const Buffer*> buffers) {
  Values all;
  for (const Buffer* buffer : buffers) {
    const Values values = buffer->values();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

struct Operation {
  const char* name;
  bool product;                            // by the BLAS: depends on the number of threads
  Values (*call)(Kernels&, std::int64_t);  // with buffers that start so many elements after an aligned address
};

constexpr std::int64_t n = 134, h = 197;
const Rows rows{67, 2, 3};
const Dropout mask{0.1f, 11, 12};

Buffer values(std::uint64_t stream, std::int64_t count, std::int64_t offset) {
  return Buffer(random_values(stream, count), offset);
}

const Operation operations[] = {
    {"linear", true,
     [](Kernels& k, std::int64_t o) {
       const Buffer x = values(1, n * 3, o), w = values(2, h * 3, o), b = values(3, h, o), pre(n * h, 0, o), y(n * h, 0, o);
       k.linear_gelu({n, 3, h}, x, w, b, pre, y);
       k.linear_residual(
           {.shape = {n, 3, h}, .rows = rows, .x = x, .weight = w, .bias = b, .dropout = mask, .residual = y, .y = y});
       return joined({&pre, &y});
     }},
    {"linear gradients", true,
     [](Kernels& k, std::int64_t o) {
       const Buffer dy = values(1, n * 5, o), w = values(2, h * 5, o), x = values(3, n * h, o), dx(n * h, 0, o), dw(5 * h, 0, o),
                    db(5, 0, o);
       k.linear_input_gradient_gelu({n, h, 5}, dy, w, x, dx);
       k.linear_weight_gradient({n, h, 5}, dy, x, dw, db);
       return joined({&dx, &dw, &db});
     }},
    {"bias and residual", false,
     [](Kernels& k, std::int64_t o) {
       const Buffer x = values(1, n * h, o), b = values(2, h, o), r = values(3, n * h, o), y(n * h, 0, o), db(h, 0, o);
       k.bias_residual({.rows = rows, .hidden = h, .x = x, .bias = b, .dropout = mask, .residual = r, .y = y});
       k.bias_residual_backward(rows, h, y, mask, x, db);
       return joined({&y, &x, &db});
     }},
    {"layer norm", false,
     [](Kernels& k, std::int64_t o) {
       const Buffer x = values(1, n * h, o), g = values(2, h, o), b = values(3, h, o), r = values(4, n * h, o), s(n * h, 0, o),
                    y(n * h, 0, o), mean(n, 0, o), rstd(n, 0, o), dx(n * h, 0, o), dg(h, 0, o), db(h, 0, o);
       k.residual_layer_norm({.rows = rows,
                              .hidden = h,
                              .x = x,
                              .linear_bias = b,
                              .dropout = mask,
                              .residual = r,
                              .sum = s,
                              .gain = g,
                              .bias = b,
                              .y = y,
                              .mean = mean,
                              .rstd = rstd});
       k.layer_norm_backward({.rows = n,
                              .hidden = h,
                              .dy = y,
                              .x = s,
                              .gain = g,
                              .mean = mean,
                              .rstd = rstd,
                              .dresidual = r,
                              .dx = dx,
                              .dgain = dg,
                              .dbias = db});
       return joined({&s, &y, &mean, &rstd, &dx, &dg, &db});
     }},
    {"attention", false,  // its products run on one thread each
     [](Kernels& k, std::int64_t o) {
       const AttentionShape shape{{150, 2}, 3, 20, 0};
       constexpr std::int64_t count = 300 * 60;
       const Buffer qkv = values(1, 3 * count, o), out(count, 0, o), sums(900, 0, o), dout = values(2, count, o),
                    dqkv(3 * count, 0, o);
       k.attention(shape, qkv, mask, out, sums);
       k.attention_backward(
           {.shape = shape, .dout = dout, .qkv = qkv, .out = out, .log_sum = sums, .dropout = mask, .dqkv = dqkv});
       return joined({&out, &sums, &dqkv});
     }},
    {"embedding", false,
     [](Kernels& k, std::int64_t o) {
       auto tokens = random_tokens(1, n, 9);
       const Buffer table = values(2, 9 * h, o), places = values(3, 67 * h, o), y(n * h, 0, o), dt(9 * h, 0, o), dp(67 * h, 0, o);
       k.embedding({.rows = rows,
                    .hidden = h,
                    .tokens = view(tokens),
                    .table = table,
                    .range = {0, 9, 9},
                    .positions = places,
                    .dropout = mask,
                    .y = y});
       k.embedding_backward(
           {.rows = rows, .hidden = h, .tokens = view(tokens), .dy = y, .range = {0, 9, 9}, .dtable = dt, .dpositions = dp});
       return joined({&y, &dt, &dp});
     }},
    {"cross-entropy", false,
     [](Kernels& k, std::int64_t o) {
       auto targets = random_tokens(1, n, h);
       const Buffer logits = values(2, n * h, o), maximum(n, 0, o), sums(n, 0, o), target(n, 0, o), loss(n, 0, o);
       k.cross_entropy_maximum(n, logits, {0, h, h}, maximum);
       k.cross_entropy_sums({.rows = n,
                             .logits = logits,
                             .range = {0, h, h},
                             .targets = view(targets),
                             .maximum = maximum,
                             .sums = sums,
                             .target_logits = target});
       k.cross_entropy_gradient({.rows = n,
                                 .logits = logits,
                                 .range = {0, h, h},
                                 .targets = view(targets),
                                 .sums = sums,
                                 .target_logits = target,
                                 .scale = 1,
                                 .losses = loss});
       return joined({&logits, &maximum, &sums, &target, &loss});
     }},
    {"optimizer", false, [](Kernels& k, std::int64_t o) {
       const Buffer w = values(1, n * h, o), g = values(2, n * h, o), m = values(3, n * h, o), v(n * h, 0.5, o),
                    y = values(4, n * h, o);
       std::vector<double> record = {0, 0, 1, 0};
       k.adamw({1e-3f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.1f, 0.05f, view(record)}, w, g, m, v, {});
       k.add(y, w);
       Values all = joined({&w, &m, &v, &y});
       double norm = 0;  // both halves of it
       k.squared_norm(g, view(norm));
       all.push_back(static_cast<float>(norm));
       all.push_back(static_cast<float>(norm - static_cast<double>(static_cast<float>(norm))));
       return all;
     }}};

TEST(Determinism, SameBits) {
  for (const Operation& operation : operations) {
    Values on_one_thread;
    for (const int threads : {1, 2}) {
      const auto kernels = make_cpu_kernels({threads, 150, 20});
      const Values expected = operation.call(*kernels, 0);
      EXPECT_FALSE(expected.empty());
      EXPECT_EQ(operation.call(*kernels, 0), expected) << operation.name << " repeated on " << threads;
      for (const std::int64_t offset : {1, 3, 8, 13})
        EXPECT_EQ(operation.call(*kernels, offset), expected)
            << operation.name << " at alignment " << offset << " on " << threads;
      if (threads == 1) on_one_thread = expected;
      if (!operation.product) {
        EXPECT_EQ(expected, on_one_thread) << operation.name << " on " << threads << " threads";
      }
    }
  }
}

}  // namespace
}  // namespace trireme::kernels
