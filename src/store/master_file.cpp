#include "store/master_file.h"

#include <map>

#include "base/file.h"
#include "base/hash.h"
#include "store/hdf5_file.h"

namespace trireme::store {

MasterRecord write_master(const std::string& folder, const Manifest& manifest) {
  std::map<std::string, std::vector<Hdf5File::Source>> sources;  // by dataset
  for (const FileRecord& file : manifest.files)
    for (const SliceRecord& slice : file.slices) sources[slice.dataset()].push_back({file.name, slice.dataset(), slice.box()});
  const std::string path = folder + "/checkpoint.h5";
  Hdf5File file = Hdf5File::create(path);
  file.set_attribute("/", "format", Manifest::format);
  file.set_attribute("/", "run_id", manifest.run_id);
  file.set_attribute("/", "step", manifest.step);
  file.set_attribute("/", "samples", manifest.samples);
  file.set_attribute("/", "loss_scale", manifest.loss_scale);
  file.write_text("config", manifest.config);
  for (const TensorRecord& tensor : manifest.tensors)
    for (const Quantity quantity : quantities) {
      if (quantity != Quantity::parameters && !manifest.moments) continue;
      const std::string dataset = group_of(quantity) + "/" + tensor.name;
      file.write_virtual(dataset, tensor.shape, sources[dataset]);
      file.set_attribute(dataset, "n_sources", static_cast<std::int64_t>(std::ssize(sources[dataset])));
    }
  file.close();
  base::sync_file(path);
  const base::MappedFile bytes(path);
  return {std::ssize(bytes.bytes()), base::hash64(bytes.bytes())};
}

}  // namespace trireme::store
