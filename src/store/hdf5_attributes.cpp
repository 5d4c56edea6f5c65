#include <algorithm>
#include <cstring>
#include <type_traits>

#include "store/hdf5_file.h"
#include "store/hdf5_handle.h"

namespace trireme::store {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr std::size_t most_text = 60000;  // bytes: an attribute of the file holds 64 KiB

/// As `value` is stored; one zero stands for no text.
template <class T>
Handle type_of(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) return text_type(std::max<std::size_t>(value.size(), 1));
  return {H5Tcopy(std::is_same_v<T, double> ? H5T_IEEE_F64LE : H5T_STD_I64LE), H5Tclose};
}

template <class T>
bool fits(hid_t type, std::int64_t elements) {
  const H5T_class_t found = H5Tget_class(type);
  if constexpr (std::is_same_v<T, std::string>)
    return found == H5T_STRING && H5Tis_variable_str(type) == 0 && H5Tget_size(type) <= most_text && elements == 1;
  if constexpr (std::is_same_v<T, double>) return found == H5T_FLOAT && elements == 1;
  return found == H5T_INTEGER && (std::is_same_v<T, Integers> || elements == 1);
}

}  // namespace

template <class T>
void Hdf5File::set_attribute(const std::string& object, const std::string& name, const T& value) {
  const Library library;
  const std::string full = object + ": attribute " + name;
  const Where where{path_, full};
  const Handle type = type_of(value);
  Shape shape;
  const void* data = &value;
  if constexpr (std::is_same_v<T, std::string>) {
    if (value.size() > most_text) base::fail("{}: {}: {} bytes, an attribute takes {}", path_, full, value.size(), most_text);
    data = value.c_str();
  }
  if constexpr (std::is_same_v<T, Integers>) {
    shape = {std::ssize(value)};
    data = value.data();
  }
  const Handle attribute(checked(H5Acreate_by_name(file_, object.c_str(), name.c_str(), type, space_of(shape), H5P_DEFAULT,
                                                   H5P_DEFAULT, H5P_DEFAULT),
                                 where, "create"),
                         H5Aclose);
  if (elements_of(shape) > 0) checked(H5Awrite(attribute, type, data), where, "write");
}

template <class T>
T Hdf5File::attribute(const std::string& object, const std::string& name) const {
  const Library library;
  const std::string full = object + ": attribute " + name;
  const Where where{path_, full};
  refuse_links(file_, where, object);
  const Handle attribute(checked(H5Aopen_by_name(file_, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), where, "open"),
                         H5Aclose);
  const Handle found(checked(H5Aget_type(attribute), where, "read"), H5Tclose);
  const Handle space(checked(H5Aget_space(attribute), where, "read"), H5Sclose);
  const std::int64_t elements = H5Sget_simple_extent_npoints(space);
  if (!fits<T>(found, elements)) base::fail("{}: {}: of another type", path_, full);
  T value{};
  void* data = &value;
  if constexpr (std::is_same_v<T, std::string>) value.resize(H5Tget_size(found));
  if constexpr (std::is_same_v<T, Integers>) value.resize(static_cast<std::size_t>(elements));
  if constexpr (!std::is_arithmetic_v<T>) data = value.data();
  const Handle type = type_of(value);
  if (elements > 0) checked(H5Aread(attribute, type, data), where, "read");
  if constexpr (std::is_same_v<T, std::string>) value.resize(std::strlen(value.c_str()));
  return value;
}

template void Hdf5File::set_attribute(const std::string&, const std::string&, const std::string&);
template void Hdf5File::set_attribute(const std::string&, const std::string&, const std::int64_t&);
template void Hdf5File::set_attribute(const std::string&, const std::string&, const double&);
template void Hdf5File::set_attribute(const std::string&, const std::string&, const Integers&);
template std::string Hdf5File::attribute(const std::string&, const std::string&) const;
template std::int64_t Hdf5File::attribute(const std::string&, const std::string&) const;
template double Hdf5File::attribute(const std::string&, const std::string&) const;
template Integers Hdf5File::attribute(const std::string&, const std::string&) const;

}  // namespace trireme::store
