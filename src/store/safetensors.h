// Safetensors files: 8 bytes of little-endian header length, a JSON header, then the tensors row-major, one after another.
// The reader maps the file, so that a rank touches only the pages of its own part; the writer streams.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/new_file.h"
#include "store/shape.h"

namespace trireme::store {

struct SafetensorsTensor {
  std::string name;
  std::string dtype;       // as the format spells it: F32, BF16, ...
  Shape shape;             // empty: a scalar
  std::int64_t begin = 0;  // first byte in the file
  std::size_t file = 0;    // of a model in several files
};

/// One file, or a model in several by its index file (*.index.json). Everything that a header can get wrong is refused when the
/// file is opened: base::Error(bad_input) names file and tensor. Any rank may open and read alone.
class SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::string& path);

  const std::string& path() const { return path_; }
  /// What the file says of itself ("__metadata__"), texts only.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// In the order of the files' data.
  const std::vector<SafetensorsTensor>& tensors() const { return tensors_; }
  /// nullptr where there is none.
  const SafetensorsTensor* find(const std::string& name) const;
  /// Whether elements of this tensor convert to float: F32, F16, BF16, F64.
  static bool readable(const SafetensorsTensor& tensor);

  /// out [count], dense row-major, = tensor[start .. start + count). Refuses tensors that are absent or not floating point;
  /// a part outside the tensor is a failure.
  void read_hyperslab(const std::string& name, const Shape& start, const Shape& count, float* out) const;
  /// out [count], dense row-major: element (i0, i1, ...) is the tensor's flat element first + i0 stride[0] + i1 stride[1] ...;
  /// errors as above. Reads a transposed part without a copy of the whole.
  void read_strided(const std::string& name, std::int64_t first, const Shape& count, const Shape& stride, float* out) const;

 private:
  void add_file(const std::string& path);
  const SafetensorsTensor& at(const std::string& name) const;

  std::string path_;
  std::vector<base::MappedFile> files_;
  std::vector<SafetensorsTensor> tensors_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, std::size_t> index_;
};

struct SafetensorsEntry {
  std::string name;
  Shape shape;
};

enum class Dtype { fp32, bf16, fp16 };

/// Writes `metadata` and tensors of `dtype` in the order announced; finish() makes the file durable under its name. Without
/// finish() nothing is left behind, and what had the name stays. base::Error(failure) names the file and what the system said (a
/// full disk, say). One rank only.
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::string& path, const std::vector<SafetensorsEntry>& entries,
                    const std::map<std::string, std::string>& metadata = {}, Dtype dtype = Dtype::fp32);

  /// Appends `count` elements of tensor `name`, which must be the one whose turn it is, rounded to nearest, ties to even. A
  /// finite value beyond the largest of `dtype` is refused.
  void write(const std::string& name, const float* values, std::int64_t count);
  /// Every tensor must be complete.
  void finish();

 private:
  void put_rounded(const std::string& name, const float* values, std::int64_t count);
  void next_nonempty();

  std::string path_;
  base::NewFile file_;
  std::vector<SafetensorsEntry> entries_;
  Dtype dtype_;
  std::size_t current_ = 0;   // the entry whose turn it is
  std::int64_t missing_ = 0;  // elements that it still lacks
};

}  // namespace trireme::store
