// What the suite of communicators needs of a form, and the numbers that its tests exchange. Each number tells which rank it came
// from, so that every test computes what must arrive by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/views.h"

namespace trireme::test {

using grid::Communicator;
using grid::Reduce;
using grid::Ticket;
using grid::Traffic;
using kernels::View;

/// Two communicators of all ranks, and the device whose memory they carry.
struct Bench {
  kernels::Device& device;
  Communicator& group;
  Communicator& another;
};

struct Form {
  std::string name;
  bool rank_order;         // of sums; those of 2-byte types are rounded once
  std::int64_t most;       // elements of most tests: above what MPI sends eagerly
  std::int64_t longest;    // elements in fp32: more than one round of an exchange
  Bench (*make)(int way);  // called when a test begins
  int way = 0;
};
inline void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }

class Communicators : public ::testing::TestWithParam<Form> {
 protected:
  Communicator& group() { return bench_.group; }
  Communicator& another() { return bench_.another; }
  kernels::Device& device() { return bench_.device; }
  int size() { return bench_.group.size(); }
  int rank() { return bench_.group.rank(); }
  int next() { return (rank() + 1) % size(); }
  int last() { return (rank() + size() - 1) % size(); }
  void complete(Ticket ticket) { group().wait(ticket); }
  std::vector<std::int64_t> counts() {
    const std::int64_t k = size();
    return {0, 1, k - 1, k, k + 1, 1000, GetParam().most};
  }
  Bench bench_ = GetParam().make(GetParam().way);
};

/// Numbers in the device's memory. They get there late, as what the device made, when the device is one whose work is late.
template <class T>
class Array {
 public:
  Array(kernels::Device& device, std::vector<T> numbers) : device_(device), numbers_(std::move(numbers)) {
    memory_ = device.allocate(bytes_taken());
    set(numbers_);
  }
  Array(kernels::Device& device, std::int64_t count) : Array(device, std::vector<T>(static_cast<std::size_t>(count))) {}
  ~Array() { device_.release(memory_, bytes_taken()); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  void set(std::vector<T> numbers) {
    sources_.push_back(std::move(numbers));  // stays until the device has read it
    device_.upload_later(view(), sources_.back().data());
  }
  View view() const { return {memory_, static_cast<std::int64_t>(numbers_.size()), dtype_of<T>()}; }
  View slice(std::int64_t first, std::int64_t count) const { return view().slice(first, count); }
  /// Read by the device's own work, which is in no order with that of communicators.
  std::vector<T> numbers() {
    device_.download(numbers_.data(), view());
    return numbers_;
  }

 private:
  std::int64_t bytes_taken() const { return static_cast<std::int64_t>(numbers_.size() * sizeof(T)) + 64; }
  kernels::Device& device_;
  std::vector<T> numbers_;
  std::vector<std::vector<T>> sources_;
  void* memory_ = nullptr;
};

/// Calls work(T()) for every type of numbers.
template <class Work>
void for_each_type(const Work& work) {
  work(float());
  work(double());
  work(std::int32_t());
  work(std::int64_t());
  work(Bf16());
  work(Fp16());
}

/// Exact in sums of 8 ranks, in whatever order.
template <class T>
T value(int from, std::int64_t index) {
  return T(sizeof(T) == 2 ? static_cast<double>(from + index % 7) : static_cast<double>(1000 * from + index % 997));
}

template <class T>
std::vector<T> values(int from, std::int64_t count, std::int64_t first = 0) {
  std::vector<T> v;
  for (std::int64_t i = first; i < first + count; ++i) v.push_back(value<T>(from, i));
  return v;
}

/// Sums of values(r, count, first) over the ranks r.
template <class T>
std::vector<T> sums(int ranks, std::int64_t count, std::int64_t first = 0) {
  std::vector<T> v;
  for (std::int64_t i = first; i < first + count; ++i) {
    double sum = 0;
    for (int r = 0; r < ranks; ++r) sum += static_cast<double>(value<T>(r, i));
    v.push_back(T(sum));
  }
  return v;
}

/// Bytes, calls of `kind` that `work` adds on this rank.
inline grid::TrafficCount counted(Traffic kind, const std::function<void()>& work) {
  const grid::TrafficCount before = world().traffic()[kind];
  work();
  const grid::TrafficCount after = world().traffic()[kind];
  return {after.calls - before.calls, after.bytes - before.bytes};
}

}  // namespace trireme::test
