#include "store/shard.h"

#include <filesystem>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "store/frame.h"

namespace trireme::store {
std::string shard_name(int pipeline, int tensor, int data) {
  return fmt::format("shard-p{:03}-t{:03}-d{:03}.h5", pipeline, tensor, data);
}

ShardWriter::ShardWriter(const std::string& folder, const ShardHeader& header)
    : record_{shard_name(header.pipeline, header.tensor, header.data), 0, 0, header.pipeline, header.tensor, header.data, {}},
      file_(Hdf5File::create(folder + "/" + record_.name)) {
  file_.set_attribute("/", "format", Manifest::format);
  file_.set_attribute("/", "run_id", header.run_id);
  file_.set_attribute("/", "step", header.step);
  file_.set_attribute("/", "pipeline", std::int64_t{header.pipeline});
  file_.set_attribute("/", "tensor", std::int64_t{header.tensor});
  file_.set_attribute("/", "data", std::int64_t{header.data});
}

void ShardWriter::write(const TensorPart& part) {
  if (!inside(part.box(), part.shape))
    base::fail("{}: {}: {} at {} is no part of {}", file_.path(), part.name, to_string(part.count), to_string(part.start),
               to_string(part.shape));
  if (elements_of(part.count) == 0) return;
  SliceRecord slice{part.quantity, part.name, part.shape, part.start, part.count};
  const std::span values(part.data, static_cast<std::size_t>(elements_of(part.count)));
  slice.checksum = base::hash64(std::as_bytes(values));
  slice.offset = file_.write_tensor(slice.dataset(), part.count, part.data);
  file_.set_attribute(slice.dataset(), "start", part.start);
  file_.set_attribute(slice.dataset(), "shape", part.shape);
  record_.slices.push_back(std::move(slice));
}

FileRecord ShardWriter::finish() {
  file_.close();
  record_.bytes = static_cast<std::int64_t>(std::filesystem::file_size(file_.path()));
  record_.frame = frame_checksum(file_.path(), record_);
  base::sync_file(file_.path());
  return record_;
}

FileRecord write_shard(const std::string& folder, const ShardHeader& header, const std::vector<TensorPart>& parts) {
  ShardWriter writer(folder, header);
  for (const TensorPart& part : parts) writer.write(part);
  return writer.finish();
}

}  // namespace trireme::store
