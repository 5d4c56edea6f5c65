// The table of keys as text: for --help, and as Markdown for input/README.md.
#pragma once

#include <string>

namespace trireme::config {

/// Of every key: its default, the values it takes, what this version can do, its meaning.
std::string keys_text();

/// The same as Markdown: a heading and a table for each section.
std::string keys_markdown();

}  // namespace trireme::config
