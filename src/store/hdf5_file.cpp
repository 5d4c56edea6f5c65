#include "store/hdf5_file.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "store/hdf5_handle.h"

namespace trireme::store {
namespace {

static_assert(std::is_same_v<hid_t, std::int64_t>);

static_assert(std::endian::native == std::endian::little, "values go to the file as they are");

constexpr std::int64_t piece_elements = std::int64_t{64} << 20;  // of one transfer: 256 MiB

constexpr std::size_t needed_bytes = 16 << 20;  // for a file to be opened; where the library gets none, it crashes

/// File locks fail on many parallel file systems; a checkpoint's file has one writer anyway. A group of the oldest form keeps the
/// names of all its members in one block, and the library writes that again and again while it grows: with 4,096 layers for
/// minutes.
Handle access() {
  base::require_memory(needed_bytes);
  Handle list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_file_locking(list, false, true);
  H5Pset_libver_bounds(list, H5F_LIBVER_V18, H5F_LIBVER_LATEST);
  return list;
}

Handle make_groups() {
  Handle list(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(list, 1);
  return list;
}

/// Space is taken at once, and written once.
Handle plain_layout() {
  Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_layout(list, H5D_CONTIGUOUS);
  H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(list, H5D_FILL_TIME_NEVER);
  H5Pset_obj_track_times(list, false);
  return list;
}

Handle create_dataset(hid_t file, const Where& where, hid_t type, const Shape& shape, const Handle& layout) {
  return {
      checked(H5Dcreate2(file, where.object.c_str(), type, space_of(shape), make_groups(), layout, H5P_DEFAULT), where, "create"),
      H5Dclose};
}

Handle open_dataset(hid_t file, const Where& where) {
  refuse_links(file, where, where.object);
  return {checked(H5Dopen2(file, where.object.c_str(), H5P_DEFAULT), where, "open"), H5Dclose};
}

Shape extents(const Handle& dataset, const Where& where) {
  const Handle space(checked(H5Dget_space(dataset), where, "read"), H5Sclose);
  std::vector<hsize_t> sizes(static_cast<std::size_t>(checked(H5Sget_simple_extent_ndims(space), where, "read")));
  checked(H5Sget_simple_extent_dims(space, sizes.data(), nullptr), where, "read");
  return {sizes.begin(), sizes.end()};
}

Shape sum(Shape a, const Shape& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

/// Refuses a dataset of `elements` of so many bytes each unless they lie in the file, all of them, one behind the other: not in
/// another file, and not compressed.
void check_extent(hid_t file, const Handle& set, const Where& where, std::int64_t elements, std::size_t bytes) {
  hsize_t size = 0;
  checked(H5Fget_filesize(file, &size), where, "measure");
  if (elements < 0 || static_cast<hsize_t>(elements) > size / bytes)
    base::fail("{}: {}: {} elements of {} bytes in a file of {} bytes", where.file, where.object, elements, bytes, size);
  const haddr_t begin = elements > 0 ? H5Dget_offset(set) : 0;
  if (begin == HADDR_UNDEF || begin > size || static_cast<hsize_t>(elements) > (size - begin) / bytes)
    base::fail("{}: {}: {} elements that do not lie in this file as they are", where.file, where.object, elements);
}

template <class T>
hid_t column_type() {
  return std::is_same_v<T, double> ? H5T_IEEE_F64LE : H5T_STD_I64LE;
}

/// A file that cannot be written (a full disk) stays open, for ever: closing it would fail too, leave a dangling handle in the
/// library's tables, and crash the program when it ends.
/// The library keeps what it frees for later; a run that saves now and then shall not keep it.
bool flush_and_close(hid_t file) {
  return H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0 && H5Fclose(file) >= 0 && H5garbage_collect() >= 0;
}

herr_t add_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

}  // namespace

Hdf5File Hdf5File::create(const std::string& path) {
  const Library library;
  const Handle properties = access();  // closed after last_reason(), which it would wipe out
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, properties);
  if (file < 0) base::fail("{}: cannot create: {}", path, last_reason());
  return {path, file};
}

Hdf5File Hdf5File::open(const std::string& path) {
  base::require_regular(path);  // the library would wait for a pipe
  const Library library;
  const Handle properties = access();
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, properties);
  if (file < 0) base::refuse("{}: cannot open: {}", path, last_reason());
  return {path, file};
}

Hdf5File::Hdf5File(Hdf5File&& other) noexcept : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

Hdf5File& Hdf5File::operator=(Hdf5File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  return *this;
}

Hdf5File::~Hdf5File() {
  const Library library;
  if (file_ >= 0) flush_and_close(file_);
}

void Hdf5File::close() {
  const Library library;
  if (!flush_and_close(std::exchange(file_, -1))) base::fail("{}: cannot write: {}", path_, last_reason());
}

bool Hdf5File::contains(const std::string& object) const {
  const Library library;
  return Handle(H5Oopen(file_, object.c_str(), H5P_DEFAULT), H5Oclose) >= 0;
}

std::vector<std::string> Hdf5File::names(const std::string& group) const {
  const Library library;
  const Where where{path_, group};
  const Handle opened(checked(H5Gopen2(file_, group.c_str(), H5P_DEFAULT), where, "open"), H5Gclose);
  std::vector<std::string> all;
  checked(H5Literate(opened, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, add_name, &all), where, "list");
  std::sort(all.begin(), all.end());
  return all;
}

std::int64_t Hdf5File::write_tensor(const std::string& dataset, const Shape& shape, const float* data) {
  return write_plain(dataset, H5T_IEEE_F32LE, shape,
                     std::as_bytes(std::span(data, static_cast<std::size_t>(elements_of(shape)))));
}

/// The library makes the dataset, the values go past it: when its own writes fail, closing the dataset fails and leaves a
/// dangling handle, which later calls run into. H5T_C_S1 stands for one text of all the bytes.
std::int64_t Hdf5File::write_plain(const std::string& dataset, std::int64_t type, const Shape& shape,
                                   std::span<const std::byte> bytes) {
  std::int64_t offset = 0;
  int* descriptor = nullptr;
  {
    const Library library;
    const Where where{path_, dataset};
    const Handle stored = type == H5T_C_S1 ? text_type(bytes.size()) : Handle(H5Tcopy(type), H5Tclose);
    const Handle set = create_dataset(file_, where, stored, shape, plain_layout());
    checked(H5Fget_vfd_handle(file_, H5P_DEFAULT, reinterpret_cast<void**>(&descriptor)), where, "write");
    offset = static_cast<std::int64_t>(H5Dget_offset(set));
  }
  if (const int error = base::write_all(*descriptor, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, offset))
    base::fail("{}: {}: cannot write: {}", path_, dataset, base::system_words(error));
  return offset;
}

Shape Hdf5File::shape(const std::string& dataset) const {
  const Library library;
  const Where where{path_, dataset};
  return extents(open_dataset(file_, where), where);
}

void Hdf5File::require_plain(const std::string& dataset, std::int64_t offset) const {
  const Library library;
  const Where where{path_, dataset};
  const Handle set = open_dataset(file_, where);
  const Handle layout(checked(H5Dget_create_plist(set), where, "read"), H5Pclose), type(H5Dget_type(set), H5Tclose);
  if (H5Pget_layout(layout) != H5D_CONTIGUOUS || H5Pget_external_count(layout) != 0)
    base::fail("{}: {}: its values are not one block of this file", path_, dataset);
  if (H5Tequal(type, H5T_IEEE_F32LE) <= 0) base::fail("{}: {}: its values are not float32, little-endian", path_, dataset);
  if (const haddr_t found = H5Dget_offset(set); found != static_cast<haddr_t>(offset))
    base::fail("{}: {}: its values are not at byte {} of the file", path_, dataset, offset);
}

void Hdf5File::read_tensor(const std::string& dataset, const Box& from, const Shape& memory_shape, const Shape& to_start,
                           float* out) const {
  const Library library;
  const Where where{path_, dataset};
  const Handle set = open_dataset(file_, where);
  const Shape shape = extents(set, where);
  if (!inside(from, shape) || !inside({to_start, from.count}, memory_shape))
    base::fail("{}: {}: {} holds no part {} at {}", path_, dataset, to_string(shape), to_string(from.count),
               to_string(from.start));
  for (const Box& piece : pieces(from.count, piece_elements)) {
    const Handle in_file = space_of(shape, {sum(from.start, piece.start), piece.count});
    const Handle in_memory = space_of(memory_shape, {sum(to_start, piece.start), piece.count});
    checked(H5Dread(set, H5T_NATIVE_FLOAT, in_memory, in_file, H5P_DEFAULT, out), where, "read");
  }
}

void Hdf5File::write_virtual(const std::string& dataset, const Shape& shape, const std::vector<Source>& sources) {
  const Library library;
  const Where where{path_, dataset};
  const Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const float missing = std::numeric_limits<float>::quiet_NaN();
  H5Pset_fill_value(layout, H5T_NATIVE_FLOAT, &missing);
  H5Pset_obj_track_times(layout, false);
  for (const Source& source : sources)
    checked(H5Pset_virtual(layout, space_of(shape, source.box), source.file.c_str(), source.dataset.c_str(),
                           space_of(source.box.count)),
            where, "map");
  create_dataset(file_, where, H5T_IEEE_F32LE, shape, layout);
}

template <class T>
void Hdf5File::write_column(const std::string& dataset, std::span<const T> values) {
  write_plain(dataset, column_type<T>(), {std::ssize(values)}, std::as_bytes(values));
}

template <class T>
std::vector<T> Hdf5File::read_column(const std::string& dataset) const {
  const Library library;
  const Where where{path_, dataset};
  const Handle set = open_dataset(file_, where);
  const Shape shape = extents(set, where);
  if (shape.size() != 1) base::fail("{}: {}: {} is not a column", path_, dataset, to_string(shape));
  check_extent(file_, set, where, shape[0], sizeof(T));
  std::vector<T> values(static_cast<std::size_t>(shape[0]));
  checked(H5Dread(set, column_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), where, "read");
  return values;
}

void Hdf5File::write_text(const std::string& dataset, const std::string& text) {
  const std::string stored = text.empty() ? std::string(1, '\0') : text;
  write_plain(dataset, H5T_C_S1, {}, std::as_bytes(std::span(stored)));
}

std::string Hdf5File::read_text(const std::string& dataset) const {
  const Library library;
  const Where where{path_, dataset};
  const Handle set = open_dataset(file_, where);
  const Handle found(checked(H5Dget_type(set), where, "read"), H5Tclose);
  if (H5Tget_class(found) != H5T_STRING || H5Tis_variable_str(found) != 0 || !extents(set, where).empty())
    base::fail("{}: {}: not one text of fixed length", path_, dataset);
  check_extent(file_, set, where, 1, H5Tget_size(found));
  std::string text(H5Tget_size(found), '\0');
  checked(H5Dread(set, text_type(text.size()), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), where, "read");
  return text.substr(0, text.find('\0'));
}

template void Hdf5File::write_column(const std::string&, std::span<const std::int64_t>);
template void Hdf5File::write_column(const std::string&, std::span<const double>);
template std::vector<std::int64_t> Hdf5File::read_column(const std::string&) const;
template std::vector<double> Hdf5File::read_column(const std::string&) const;

}  // namespace trireme::store
