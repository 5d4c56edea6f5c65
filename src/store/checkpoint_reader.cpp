#include "store/checkpoint_reader.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "store/checkpoint_folder.h"
#include "store/frame.h"

namespace trireme::store {
namespace {

constexpr std::size_t most_open = 8;                            // files
constexpr std::int64_t piece_elements = std::int64_t{1} << 22;  // of a tensor while it is verified: 16 MiB

/// Calls, and turns whatever is wrong with a file into a failed verification.
template <class Call>
auto as_mismatch(Call call) {
  try {
    return call();
  } catch (const base::Error& error) {
    throw base::Error(base::Exit::mismatch, error.what());
  }
}

using Faults = std::vector<std::string>;

Faults identity_faults(const Hdf5File& file, const Manifest& manifest, const FileRecord& record) {
  Faults faults;
  const auto compare = [&](const char* name, const auto& expected) {
    const auto found = file.attribute<std::remove_cvref_t<decltype(expected)>>("/", name);
    if (found != expected) faults.push_back(fmt::format("{}: {} is {}, expected {}", file.path(), name, found, expected));
  };
  compare("format", Manifest::format);
  compare("run_id", manifest.run_id);
  compare("step", manifest.step);
  compare("pipeline", std::int64_t{record.pipeline});
  compare("tensor", std::int64_t{record.tensor});
  compare("data", std::int64_t{record.data});
  return faults;
}

/// Empty when the slice is as it was written.
std::string slice_fault(const Hdf5File& file, const SliceRecord& slice, const CheckpointReader::Told& told) {
  const std::string dataset = slice.dataset(), where = fmt::format("{}: {}", file.path(), dataset);
  file.require_plain(dataset, slice.offset);
  if (const Shape found = file.shape(dataset); found != slice.count)
    return fmt::format("{}: {}, expected {}", where, to_string(found), to_string(slice.count));
  if (file.attribute<Shape>(dataset, "start") != slice.start || file.attribute<Shape>(dataset, "shape") != slice.shape)
    return fmt::format("{}: not the part at {} of {}", where, to_string(slice.start), to_string(slice.shape));
  base::Hash64 hash;
  std::vector<float> values;
  for (const Box& piece : pieces(slice.count, piece_elements)) {
    values.resize(static_cast<std::size_t>(elements_of(piece.count)));
    file.read_tensor(dataset, piece, piece.count, Shape(piece.count.size(), 0), values.data());
    hash.add(std::as_bytes(std::span(values)));
    if (told) told(static_cast<std::int64_t>(std::span(values).size_bytes()));
  }
  return hash.value() == slice.checksum ? "" : where + ": its values changed since they were written: the checksum differs";
}

Faults file_faults(const std::string& path, const Manifest& manifest, const FileRecord& record,
                   const CheckpointReader::Told& told) {
  if (const std::string fault = frame_fault(path, record); !fault.empty()) return {fault};
  const Hdf5File file = Hdf5File::open(path);
  Faults faults = identity_faults(file, manifest, record);
  if (!faults.empty()) return faults;
  for (const SliceRecord& slice : record.slices)
    if (const std::string fault = slice_fault(file, slice, told); !fault.empty()) faults.push_back(fault);
  return faults;
}

/// The faults that `find` returns or throws.
template <class Find>
Faults faults_or_error(Find find) {
  try {
    return find();
  } catch (const base::Error& error) {
    return {error.what()};
  }
}

}  // namespace

CheckpointReader::CheckpointReader(const std::string& step_folder) : folder_(step_folder) {
  const std::string path = folder_ + "/manifest.json";
  manifest_ = as_mismatch([&] { return store::manifest(base::read_file(path), path); });
  try {
    check_coverage(manifest_);
  } catch (const base::Error& error) {
    throw base::Error(base::Exit::mismatch, fmt::format("{}: {}", path, error.what()));
  }
  const auto step = step_of_folder(std::filesystem::path(folder_).filename());  // a folder of another kind of name may hold any
  if (step && *step != manifest_.step)
    throw base::Error(base::Exit::mismatch,
                      fmt::format("{}: holds step {}, not {}: it was renamed", path, manifest_.step, *step));
  for (std::size_t f = 0; f < manifest_.files.size(); ++f)
    for (std::size_t s = 0; s < manifest_.files[f].slices.size(); ++s) {
      const SliceRecord& slice = manifest_.files[f].slices[s];
      slices_[{slice.quantity, slice.name}].push_back({f, s});
    }
}

Faults CheckpointReader::verify_file(std::size_t i, const Told& told) const {
  const FileRecord& record = manifest_.files.at(i);
  const std::string path = folder_ + "/" + record.name;
  return faults_or_error([&] { return file_faults(path, manifest_, record, told); });
}

Faults CheckpointReader::verify_master() const {
  const std::string path = folder_ + "/checkpoint.h5";
  return faults_or_error([&]() -> Faults {
    const base::MappedFile file(path);
    const auto bytes = std::ssize(file.bytes());
    if (bytes != manifest_.master.bytes) return {fmt::format("{}: {} bytes, expected {}", path, bytes, manifest_.master.bytes)};
    if (base::hash64(file.bytes()) != manifest_.master.checksum)
      return {fmt::format("{}: changed since it was written: the checksum differs", path)};
    return {};
  });
}

const Hdf5File& CheckpointReader::opened(std::size_t file) const {
  if (const auto found = open_.find(file); found != open_.end()) return found->second;
  if (open_.size() == most_open) open_.clear();
  const FileRecord& record = manifest_.files[file];
  const std::string path = folder_ + "/" + record.name;
  if (const std::string fault = frame_fault(path, record); !fault.empty()) base::fail("{}", fault);
  return open_.emplace(file, Hdf5File::open(path)).first->second;
}

void CheckpointReader::read(const TensorPart& part) const {
  const std::string dataset = group_of(part.quantity) + "/" + part.name;
  const auto slices = slices_.find({part.quantity, part.name});
  if (slices == slices_.end()) throw base::Error(base::Exit::mismatch, fmt::format("{}: holds no {}", folder_, dataset));
  const std::lock_guard lock(mutex_);
  for (const auto& [file, number] : slices->second) {
    const SliceRecord& slice = manifest_.files[file].slices[number];
    if (slice.shape != part.shape || !inside(part.box(), part.shape))
      throw base::Error(base::Exit::mismatch,
                        fmt::format("{}: {} is {}; wanted is {} at {} of {}", folder_, dataset, to_string(slice.shape),
                                    to_string(part.count), to_string(part.start), to_string(part.shape)));
    const Box common = intersection(slice.box(), part.box());
    if (elements_of(common.count) == 0) continue;
    Box from = common;
    Shape to = common.start;
    for (std::size_t k = 0; k < to.size(); ++k) {
      from.start[k] -= slice.start[k];
      to[k] -= part.start[k];
    }
    as_mismatch([&] {
      const Hdf5File& shard = opened(file);
      shard.require_plain(dataset, slice.offset);
      shard.read_tensor(dataset, from, part.count, to, part.data);
    });
  }
}

}  // namespace trireme::store
