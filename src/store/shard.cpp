#include "store/shard.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/error.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "store/frame.h"
#include "store/hdf5_file.h"

namespace trireme::store {
namespace {

void write_identity(Hdf5File& file, const ShardHeader& header) {
  file.set_attribute("/", "format", Manifest::format);
  file.set_attribute("/", "run_id", header.run_id);
  file.set_attribute("/", "step", header.step);
  file.set_attribute("/", "pipeline", std::int64_t{header.pipeline});
  file.set_attribute("/", "tensor", std::int64_t{header.tensor});
  file.set_attribute("/", "data", std::int64_t{header.data});
}

SliceRecord write_part(Hdf5File& file, const TensorPart& part) {
  if (!inside(part.box(), part.shape))
    base::fail("{}: {}: {} at {} is no part of {}", file.path(), part.name, to_string(part.count), to_string(part.start),
               to_string(part.shape));
  SliceRecord slice{part.quantity, part.name, part.shape, part.start, part.count};
  const std::span values(part.data, static_cast<std::size_t>(elements_of(part.count)));
  slice.checksum = base::hash64(std::as_bytes(values));
  base::file_operation("write a tensor");
  slice.offset = file.write_tensor(slice.dataset(), part.count, part.data);
  file.set_attribute(slice.dataset(), "start", part.start);
  file.set_attribute(slice.dataset(), "shape", part.shape);
  return slice;
}

}  // namespace

std::string shard_name(int pipeline, int tensor, int data) {
  return fmt::format("shard-p{:03}-t{:03}-d{:03}.h5", pipeline, tensor, data);
}

FileRecord write_shard(const std::string& folder, const ShardHeader& header, const std::vector<TensorPart>& parts) {
  FileRecord record;
  record.name = shard_name(header.pipeline, header.tensor, header.data);
  record.pipeline = header.pipeline;
  record.tensor = header.tensor;
  record.data = header.data;
  const std::string path = folder + "/" + record.name;
  base::file_operation("create a shard");
  Hdf5File file = Hdf5File::create(path);
  write_identity(file, header);
  for (const TensorPart& part : parts)
    if (elements_of(part.count) > 0) record.slices.push_back(write_part(file, part));
  base::file_operation("close a shard");
  file.close();
  record.bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
  record.frame = frame_checksum(path, record);
  base::sync_file(path);
  return record;
}

}  // namespace trireme::store
