// The plain text that token files are made of.
#pragma once

#include <string>

#include "base/file.h"

namespace trireme::data {

/// A text's bytes. Refuses (bad_input) what is empty, no regular file, or by its name or first bytes something else or a text in
/// another form: compressed, an archive, a document, JSON, UTF-16, a program. The message says how to get the text. A zero byte
/// among the first 65,536 is enough: no plain text has one.
base::MappedFile open_text(const std::string& path);

}  // namespace trireme::data
