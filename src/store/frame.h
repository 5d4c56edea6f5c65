// The bytes of a shard that are not tensors: what HDF5 itself keeps in the file.
#pragma once

#include <cstdint>
#include <string>

#include "store/manifest.h"

namespace trireme::store {

/// XXH3 of the bytes of the file outside record.slices, in order, read without HDF5.
/// base::Error names the file.
std::uint64_t frame_checksum(const std::string& path, const FileRecord& record);

/// Whether the file may be given to HDF5, which a damaged one can crash: what is wrong with its size or frame, else nothing.
std::string frame_fault(const std::string& path, const FileRecord& record);

}  // namespace trireme::store
