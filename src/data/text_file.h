// The plain text that token files are made of.
#pragma once

#include <string>

#include "base/file.h"

namespace trireme::data {

/// A text's bytes. Refuses (bad_input) what is empty, no regular file, or by its name or first bytes something that holds a text
/// in another form: compressed, an archive, a document, JSON. The message says how to get the text.
base::MappedFile open_text(const std::string& path);

}  // namespace trireme::data
