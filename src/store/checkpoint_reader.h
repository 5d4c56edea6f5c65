// Reading a published checkpoint, whatever layout wrote it and whatever layout reads.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "store/hdf5_file.h"
#include "store/shard.h"

namespace trireme::store {

/// Any rank alone; several threads may share one. Files are opened read-only, a few at a time, and never through checkpoint.h5.
class CheckpointReader {
 public:
  /// Reads manifest.json and checks that its slices cover the tensors. base::Error(mismatch) names the file.
  explicit CheckpointReader(const std::string& step_folder);

  using Told = std::function<void(std::int64_t bytes)>;

  const std::string& folder() const { return folder_; }
  const Manifest& manifest() const { return manifest_; }

  /// What is wrong with files[i], each text beginning with the file's path; empty when it is as it was written: size, run, step,
  /// coordinates, the checksum of every byte. Memory: one piece of a tensor. `told` is called with the bytes of values that were
  /// read since the last call.
  std::vector<std::string> verify_file(std::size_t i, const Told& told = {}) const;
  /// The same of checkpoint.h5, which is for people and tools: a fault there loses nothing.
  std::vector<std::string> verify_master() const;

  /// Fills part.data from every slice that intersects the part; reads no more than that. base::Error(mismatch) names the file, or
  /// the tensor that the checkpoint has not or in another shape.
  void read(const TensorPart& part) const;

 private:
  struct SliceIndex {
    std::size_t file, slice;
  };
  const Hdf5File& opened(std::size_t file) const;

  std::string folder_;
  Manifest manifest_;
  std::map<std::pair<Quantity, std::string>, std::vector<SliceIndex>> slices_;
  mutable std::mutex mutex_;
  mutable std::map<std::size_t, Hdf5File> open_;
};

}  // namespace trireme::store
