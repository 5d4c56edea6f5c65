// Host data between the ranks of a group: what they agree on, tell each other and write down. Always by MPI, whatever memory the
// device has; blocking, and counted as Traffic::control. Data in device memory goes through a Communicator.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "grid/communicator.h"

namespace trireme::grid {

class MpiCommunicator;

/// Numbers in host memory: one, or those of a vector. float, double, int32 and int64. Does not own them.
class HostSpan {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> HostSpan(T& number) : view_{&number, 1, type_of<T>()} {}
  template <class T>
  HostSpan(std::vector<T>& numbers) : view_{numbers.data(), static_cast<std::int64_t>(numbers.size()), type_of<T>()} {}

 private:
  friend class Control;
  template <class T>
  static constexpr kernels::DType type_of() {
    constexpr bool real = std::is_floating_point_v<T>;
    static_assert(sizeof(T) == 8 || sizeof(T) == 4);
    return sizeof(T) == 8 ? (real ? kernels::DType::fp64 : kernels::DType::int64)
                          : (real ? kernels::DType::fp32 : kernels::DType::int32);
  }
  kernels::View view_;
};

/// Every member calls each collective, in the same order, with as many numbers; each returns when it is done on this rank.
class Control {
 public:
  /// `group` outlives this.
  explicit Control(MpiCommunicator& group);

  int size() const { return group_.size(); }
  int rank() const { return group_.rank(); }
  /// What this speaks through.
  Communicator& group() const { return group_; }

  /// In place, element by element. Sums run in rank order.
  void all_reduce(HostSpan numbers, Reduce op);
  /// `all` has size() times as many: every member's, in rank order.
  void all_gather(HostSpan own, HostSpan all);
  /// The root's become everyone's.
  void broadcast(HostSpan numbers, int root = 0);
  /// Between two members: one sends to `peer`, the other receives as many from it.
  void send(HostSpan numbers, int peer);
  void receive(HostSpan numbers, int peer);

  /// The largest of their values; their sum, in rank order.
  double largest(double value);
  double sum(double value);
  /// `text` becomes the root's.
  void broadcast(std::string& text, int root = 0);
  /// The texts in rank order on rank 0, nothing elsewhere. Meant for short texts of similar length.
  std::vector<std::string> gather(const std::string& text);
  /// Returns when all have called.
  void barrier();

 private:
  Communicator& group_;
};

}  // namespace trireme::grid
