// Writing what one rank owns of a checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/hdf5_file.h"
#include "store/manifest.h"

namespace trireme::store {

/// A hyperslab of a tensor and its values in host memory, dense row-major [count]. One without elements is legal and is passed
/// over.
struct TensorPart {
  Quantity quantity;
  std::string name;           // global
  Shape shape, start, count;  // of the whole tensor; of the part
  float* data;
  Box box() const { return {start, count}; }
};

struct ShardHeader {
  std::string run_id;
  std::int64_t step = 0;
  int pipeline = 0, tensor = 0, data = 0;  // coordinates of the rank
};

/// "shard-p000-t000-d000.h5"
std::string shard_name(int pipeline, int tensor, int data);

/// Writes a shard of `folder` part by part. Any rank alone, any thread. Reads the values only; no copy of them is made.
/// base::Error(failure) names the file.
class ShardWriter {
 public:
  ShardWriter(const std::string& folder, const ShardHeader& header);
  /// At most one part of a tensor a quantity.
  void write(const TensorPart& part);
  /// Makes the file durable.
  FileRecord finish();

 private:
  FileRecord record_;
  Hdf5File file_;
};

/// All of it in one call.
FileRecord write_shard(const std::string& folder, const ShardHeader& header, const std::vector<TensorPart>& parts);

}  // namespace trireme::store
