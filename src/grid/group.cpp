#include "grid/group.h"

#include "grid/mpi_communicator.h"

namespace trireme::grid {

Group::Group() = default;
Group::~Group() = default;
Group::Group(Group&& other) noexcept = default;
Group& Group::operator=(Group&& other) noexcept = default;

Group::Group(std::unique_ptr<MpiCommunicator> host, const DeviceCommunicator& make)
    : host_(std::move(host)), device_(host_ && make ? make(*host_) : nullptr) {}

Communicator& Group::device() const { return device_ ? *device_ : *host_; }

}  // namespace trireme::grid
