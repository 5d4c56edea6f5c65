// A step takes no memory: everything is planned before the first one. Counts every operator new of this process.
#include <atomic>
#include <cstdlib>
#include <new>

#include "config/check.h"
#include "train/sources.h"
#include "train/trainer.h"
#include "validation/unit/mpi_main.h"

namespace {
std::atomic<long> allocations{0};

void* counted(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace trireme::test {
namespace {

const char* const input = R"(
[model]
layers = 4
hidden = 32
heads = 4
sequence = 16
vocabulary = 96
dropout = 0.1
[batch]
global = 8
[optimizer]
learning_rate = 1e-3
[data]
synthetic = true
[run]
steps = 1
threads = 1
evaluate_every = 1
evaluate_samples = 8
)";

TEST(Allocations, StepsAndEvaluationsTakeNone) {
  for (const std::vector<std::string>& layout :
       {std::vector<std::string>{"parallel.tensor=2", "parallel.pipeline=2"},
        {"parallel.pipeline=2"},
        {"parallel.tensor=4"},
        {"parallel.pipeline=2", "parallel.virtual=2", "parallel.schedule=interleaved"}}) {
    const auto resolved = config::read_config("test", input, layout);
    check_layout(resolved, world().size());
    train::Trainer trainer(resolved.config, 1, world(), train::open_sources(resolved.config, world()).sources, nullptr);
    trainer.step(0);  // communicators' queues and scratch reach their size
    trainer.evaluate();
    const long before = allocations;
    ASSERT_GT(before, 0);  // the count works
    trainer.step(1);
    trainer.step(2);
    trainer.evaluate();
    EXPECT_EQ(allocations - before, 0) << layout.front();
  }
}

}  // namespace
}  // namespace trireme::test

TRIREME_TEST_MAIN(4)
