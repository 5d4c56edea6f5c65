// checkpoint.h5: whole tensors for people and tools, as virtual datasets over the shards beside it.
#pragma once

#include <string>

#include "store/manifest.h"

namespace trireme::store {

/// Writes `folder`/checkpoint.h5 and makes it durable. A dataset a tensor and quantity, float32, NaN where a shard is missing,
/// attribute n_sources; `config`, a text; attributes of the file: format, run_id, step, samples, loss_scale.
MasterRecord write_master(const std::string& folder, const Manifest& manifest);

}  // namespace trireme::store
