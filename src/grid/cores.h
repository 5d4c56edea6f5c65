// Which processor cores a rank may run on, and its fair share of them.
#pragma once

#include <string>
#include <vector>

#include "grid/world.h"

namespace trireme::grid {

/// The logical cores this process is allowed, ascending. Call it before OpenMP binds the main thread to one of them.
std::vector<int> allowed_cores();

/// "0-3,8,10-11"
std::string compact(const std::vector<int>& ascending);

/// This rank's share when core c is shared by users[c] ranks: at least 1.
int fair_share(const std::vector<int>& cores, const std::vector<std::int64_t>& users);

/// Every rank: threads to use when the user gives no number. All cores of the rank if no other rank of the node may use them,
/// else its share: 16 cores open to 4 ranks make 4.
int cores_of_rank(World& world);

}  // namespace trireme::grid
