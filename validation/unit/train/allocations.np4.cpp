// A step takes no memory: everything is planned before the first one. Counts every operator new of this process.
#include <atomic>
#include <cstdlib>
#include <new>

#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/small_run.h"

namespace trireme::test {
namespace {

std::atomic<long> allocations{0};

void* counted(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}

TEST(Allocations, StepsAndEvaluationsTakeNone) {
  const std::vector<std::string> common = {"model.dropout=0.1", "model.vocabulary=96", "run.evaluate_every=1",
                                           "run.evaluate_samples=8"};
  for (const std::vector<std::string>& layout :
       {std::vector<std::string>{"parallel.tensor=2", "parallel.pipeline=2"},
        {"parallel.pipeline=2"},
        {"parallel.tensor=4"},
        {"parallel.pipeline=2", "parallel.virtual=2", "parallel.schedule=interleaved"}}) {
    std::vector<std::string> values = common;
    values.insert(values.end(), layout.begin(), layout.end());
    train::Trainer trainer = make_trainer(world(), small_config(world().size(), values));
    trainer.step(0);  // communicators' queues and scratch reach their size
    trainer.evaluate();
    std::vector<grid::Event> events;  // traced steps take none either
    events.reserve(10000);
    world().activity().record(&events);
    const long before = allocations;
    ASSERT_GT(before, 0);  // the count works
    trainer.step(1);
    trainer.step(2);
    trainer.evaluate();
    EXPECT_EQ(allocations - before, 0) << layout.front();
    EXPECT_EQ(world().activity().missed(), 0);
    EXPECT_GT(events.size(), 0u);
    world().activity().record(nullptr);
  }
}

}  // namespace
}  // namespace trireme::test

TRIREME_TEST_MAIN(4)

void* operator new(std::size_t size) { return trireme::test::counted(size); }
void* operator new[](std::size_t size) { return trireme::test::counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
