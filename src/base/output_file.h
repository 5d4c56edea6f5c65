// The files that a user names for results: what they may be called, and what they may replace. One rule for all commands.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace trireme::base {

/// What a result is written as.
struct OutputKind {
  const char* what;                              // "an SVG drawing"
  const char* ending;                            // of the file's name
  bool (*has_form)(std::span<const std::byte>);  // whether a file of these bytes is one
};
extern const OutputKind drawing, perfetto_trace, junit_report, weights_file;

/// Throws base::Error (bad_input), before anything is written, for a file that could not be written in the end: no folder, no
/// right, a folder of that name; and for one that must not be: its name has another ending, or a file is there that is neither
/// empty nor of this kind, and would be lost. One of this kind may be replaced. `name` begins the message. Changes nothing.
void check_output_file(const std::string& name, const std::string& path, const OutputKind& kind);

/// Refuses a path with what only a shell would replace ("~", "$NAME"): a folder of that name would be made.
void refuse_unexpanded(const std::string& path);

}  // namespace trireme::base
