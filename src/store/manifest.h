// What a checkpoint is made of, as data: manifest.json of its folder. A tensor of the model appears once a quantity, cut into
// slices; each slice is one dataset of one shard file, named by group and global name ("adam/first_moment/final_norm.bias").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/shape.h"

namespace trireme::store {

enum class Quantity { parameters, first_moment, second_moment };
inline constexpr Quantity quantities[] = {Quantity::parameters, Quantity::first_moment, Quantity::second_moment};

/// "parameters", "adam/first_moment", "adam/second_moment": the group in the files.
std::string group_of(Quantity quantity);

struct SliceRecord {
  Quantity quantity;
  std::string name;            // global
  Shape shape;                 // of the whole tensor
  Shape start, count;          // the slice
  std::uint64_t checksum = 0;  // XXH3 of the slice's bytes, dense row-major
  std::int64_t offset = 0;     // its first byte in the file

  std::string dataset() const { return group_of(quantity) + "/" + name; }
  Box box() const { return {start, count}; }
  std::int64_t bytes() const { return elements_of(count) * 4; }
  bool operator==(const SliceRecord&) const = default;
};

/// One shard file.
struct FileRecord {
  std::string name;                        // in the folder of the checkpoint
  std::int64_t bytes = 0;                  // its size
  std::uint64_t frame = 0;                 // XXH3 of its bytes outside the slices
  int pipeline = 0, tensor = 0, data = 0;  // coordinates of the rank that wrote it
  std::vector<SliceRecord> slices;
  bool operator==(const FileRecord&) const = default;
};

struct TensorRecord {
  std::string name;
  Shape shape;
  bool operator==(const TensorRecord&) const = default;
};

/// checkpoint.h5
struct MasterRecord {
  std::int64_t bytes = 0;
  std::uint64_t checksum = 0;  // XXH3 of the whole file
  bool operator==(const MasterRecord&) const = default;
};

/// What the order of samples rests on, of one token file.
struct TokensRecord {
  std::int64_t tokens = 0, documents = 0;
  std::uint64_t index = 0, contents = 0;  // XXH3 of all of PREFIX.idx, and of tokens from all over PREFIX.bin
  bool operator==(const TokensRecord&) const = default;
};

/// Of what a run trains on and is judged by; nothing where tokens are made up, which the configuration tells entirely, and in
/// checkpoints that are older than this record.
struct DataRecord {
  std::optional<TokensRecord> training, validation;
  bool operator==(const DataRecord&) const = default;
};

/// What the loss scale of the next step follows from, beside itself (train/loss_scale.h).
struct ScalingRecord {
  std::int64_t good_steps = 0, overflows_left = 0, skipped_at_lowest = 0, skipped = 0;
  bool operator==(const ScalingRecord&) const = default;
};

struct Manifest {
  static constexpr std::int64_t format = 1;  // the version that this program reads and writes

  std::string run_id;
  std::int64_t step = 0;                      // steps done
  std::int64_t samples = 0;                   // samples consumed
  double loss_scale = 1;                      // of the next step
  std::optional<ScalingRecord> scaling = {};  // nothing where the run has never computed in fp16
  bool moments = true;                        // whether Adam's are there too
  std::string config;                         // the resolved input file, TOML
  DataRecord data;
  std::vector<TensorRecord> tensors;  // in table order
  std::vector<FileRecord> files;
  MasterRecord master;  // filled in by publish()
  bool operator==(const Manifest&) const = default;
};

/// As JSON text, and back. A record travels between ranks, a manifest lies in its folder and carries a checksum of itself.
/// Reading throws base::Error(mismatch) that begins with `source` for anything cut, changed, missing or of the wrong type.
std::string to_json(const FileRecord& record);
std::string to_json(const Manifest& manifest);
FileRecord file_record(const std::string& json, const std::string& source);
Manifest manifest(const std::string& json, const std::string& source);

/// Proves that the slices cover every tensor of every quantity exactly once. Else base::Error(mismatch) names the tensor, and the
/// files of slices that overlap.
void check_coverage(const Manifest& manifest);

}  // namespace trireme::store
