// A checksum at the end of a file, for formats whose readers a damaged file could harm and which pass over what follows their own
// end (HDF5 does): the last line of a sealed file is "trireme: XXH3 of all bytes before this line: 0123456789abcdef".
#pragma once

#include <string>

namespace trireme::store {

/// Appends the line. Throws base::Error (failure) with the file's name when it cannot be written.
void seal(const std::string& path);

/// What is wrong with a file that ought to be sealed, in words; empty: its bytes are those that were sealed. Throws base::Error
/// (bad_input) for a file that cannot be read.
std::string seal_fault(const std::string& path);

}  // namespace trireme::store
