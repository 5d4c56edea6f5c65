// HDF5 files behind a small move-only class, written and read by one process each (no MPI). All calls of the library go through
// one mutex, so several threads may use this class, also one object. No file locks are taken. The library's own messages are
// silent; errors are base::Error that name file, object and the innermost reason: bad_input when a file cannot be opened to read,
// failure otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/shape.h"

namespace trireme::store {

class Hdf5File {
 public:
  /// A new file, which replaces one of that name.
  static Hdf5File create(const std::string& path);
  /// Read-only.
  static Hdf5File open(const std::string& path);

  Hdf5File(Hdf5File&& other) noexcept;
  Hdf5File& operator=(Hdf5File&& other) noexcept;
  ~Hdf5File();
  const std::string& path() const { return path_; }
  /// A written file is complete only after this: it reports what could not be written. Not durable yet: base::sync_file.
  void close();

  // Objects are named by their path in the file, "parameters/final_norm.bias"; groups on the way are made as needed.
  bool contains(const std::string& object) const;
  /// Names of the members of a group ("/": the root), sorted.
  std::vector<std::string> names(const std::string& group) const;

  /// A contiguous float32 dataset of `shape` from dense memory. Returns its first byte in the file.
  std::int64_t write_tensor(const std::string& dataset, const Shape& shape, const float* data);
  Shape shape(const std::string& dataset) const;
  /// Throws base::Error(failure) unless the dataset is what write_tensor() makes: values of the type and layout said there, at
  /// `offset` of this very file, reached by no link into elsewhere. Opens nothing else meanwhile.
  void require_plain(const std::string& dataset, std::int64_t offset) const;
  /// Reads the part `from` of a dataset to `to_start` of dense memory of `memory_shape`.
  void read_tensor(const std::string& dataset, const Box& from, const Shape& memory_shape, const Shape& to_start,
                   float* out) const;

  struct Source {
    std::string file, dataset;  // the file's name, relative to the folder of this one
    Box box;                    // of the virtual dataset; the source dataset is all of it
  };
  /// A float32 dataset made of others; NaN where a source is missing.
  void write_virtual(const std::string& dataset, const Shape& shape, const std::vector<Source>& sources);

  /// One-dimensional datasets, whole; T is std::int64_t or double. Reading fails for one that claims more than the file holds.
  template <class T>
  void write_column(const std::string& dataset, std::span<const T> values);
  template <class T>
  std::vector<T> read_column(const std::string& dataset) const;

  /// A text of any length, as one element.
  void write_text(const std::string& dataset, const std::string& text);
  std::string read_text(const std::string& dataset) const;

  /// Attributes of the file ("/"), a group or a dataset; T is std::string (60,000 bytes at most, without zeros), std::int64_t,
  /// double or std::vector<std::int64_t>.
  template <class T>
  void set_attribute(const std::string& object, const std::string& name, const T& value);
  template <class T>
  T attribute(const std::string& object, const std::string& name) const;

 private:
  std::int64_t write_plain(const std::string& dataset, std::int64_t type, const Shape& shape, std::span<const std::byte> bytes);
  Hdf5File(std::string path, std::int64_t file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  std::int64_t file_ = -1;  // the library's handle
};

}  // namespace trireme::store
