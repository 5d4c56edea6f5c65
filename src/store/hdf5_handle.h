// Handles and errors of the HDF5 library: for src/store/hdf5_*.cpp alone.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include <hdf5.h>

#include "base/error.h"
#include "store/shape.h"

namespace trireme::store {

/// The right to call the library, held while this lives; its messages are silent meanwhile.
class Library {
 public:
  Library();

 private:
  std::lock_guard<std::mutex> lock_;
};

/// The innermost reason of the last failed call; the system's words where it has them.
std::string last_reason();

/// Closes its handle. Only while a Library lives.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }  // NOLINT: a handle is used like one

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// Where an error happened: "FILE: OBJECT: cannot WHAT: reason".
struct Where {
  const std::string& file;
  const std::string& object;
};

/// `result` of a call, or base::Error(failure) when it is negative.
template <class Result>
Result checked(Result result, const Where& where, const char* what) {
  if (result < 0) base::fail("{}: {}: cannot {}: {}", where.file, where.object, what, last_reason());
  return result;
}

/// Refuses (failure) an object that lies behind a soft or an external link: it could be in any file.
void refuse_links(hid_t file, const Where& where, const std::string& object);

/// Text of so many bytes, UTF-8, filled up with zeros. It lies where the object lies: text of varying length lies on the
/// library's global heap, whose pointers in a damaged file lead the library anywhere.
Handle text_type(std::size_t bytes);

Handle space_of(const Shape& shape);
/// The part of a space of `shape`.
Handle space_of(const Shape& shape, const Box& box);

}  // namespace trireme::store
