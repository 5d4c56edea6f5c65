// A group of ranks, which exchange two kinds of data: the host's, always by MPI, and the device's, in the form that fits it.
#pragma once

#include <functional>
#include <memory>

#include "grid/control.h"

namespace trireme::grid {

class MpiCommunicator;

/// Makes the communicator that carries device memory between the ranks of `host`, which outlives it. Every member calls it.
using DeviceCommunicator = std::function<std::unique_ptr<Communicator>(MpiCommunicator& host)>;

class Group {
 public:
  Group();
  /// `host` is null on ranks that are no members. Without `make` the device's memory is the host's, and MPI carries both.
  Group(std::unique_ptr<MpiCommunicator> host, const DeviceCommunicator& make);
  ~Group();
  Group(Group&& other) noexcept;
  Group& operator=(Group&& other) noexcept;

  /// Whether this rank is a member; else none of the others may be called.
  explicit operator bool() const { return host_ != nullptr; }
  MpiCommunicator& host() const { return *host_; }
  Communicator& device() const;
  Control control() const { return Control(*host_); }

 private:
  std::unique_ptr<MpiCommunicator> host_;
  std::unique_ptr<Communicator> device_;  // null: `host_` serves
};

}  // namespace trireme::grid
