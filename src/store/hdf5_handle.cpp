#include "store/hdf5_handle.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace trireme::store {
namespace {

std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// The library's own ending would close, and crash on, files that could not be written; all others are closed by then. It runs at
/// the end of the process and, where MPI is up when the library starts, in MPI_Finalize: so it starts before main.
[[maybe_unused]] const bool without_ending = H5dont_atexit() >= 0 && H5open() >= 0;

/// Called with the innermost error first.
herr_t keep_first(unsigned number, const H5E_error2_t* error, void* text) {
  if (number == 0 && error->desc) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

std::vector<hsize_t> sizes(const Shape& shape) { return {shape.begin(), shape.end()}; }

}  // namespace

Library::Library() : lock_(library_mutex()) { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

std::string last_reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
  // What the system said is in there as "..., errno = 28, error message = '...'", behind the file's name.
  constexpr std::string_view before = "errno = ";
  if (const auto begin = text.rfind(before); begin != std::string::npos)
    return base::system_words(std::atoi(text.c_str() + begin + before.size()));
  return text.empty() ? "the HDF5 library gives no reason" : text;
}

void refuse_links(hid_t file, const Where& where, const std::string& object) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = object.find('/', end + 1);
    H5L_info_t info;  // of what is not there nothing is known; opening it says so
    if (H5Lget_info(file, object.substr(0, end).c_str(), &info, H5P_DEFAULT) >= 0 && info.type != H5L_TYPE_HARD)
      base::fail("{}: {}: {} is a link to elsewhere, which is not followed", where.file, where.object, object.substr(0, end));
  }
}

Handle text_type(std::size_t bytes) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, bytes);
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

Handle space_of(const Shape& shape) {
  const auto extents = sizes(shape);
  return {shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(shape.size()), extents.data(), nullptr),
          H5Sclose};
}

Handle space_of(const Shape& shape, const Box& box) {
  Handle space = space_of(shape);
  const auto start = sizes(box.start), count = sizes(box.count);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
  return space;
}

}  // namespace trireme::store
