// The files that a user names for a command's results.
#pragma once

#include <string>
#include <vector>

#include "base/output_file.h"

namespace trireme::command {

struct Output {
  std::string path;  // empty: it is not asked for
  const base::OutputKind& kind;
};

/// Throws base::Error (bad_input), before anything is written, for an output that is one of the inputs or another output (by
/// path, or the same file through links), and for what base::check_output_file refuses: no folder is made, and no file of
/// another kind is replaced. Empty names are passed over.
void check_outputs(const std::vector<std::string>& inputs, const std::vector<Output>& outputs);

/// Writes a file that check_outputs let pass, and says so.
void write_output(const std::string& path, const std::string& content);

}  // namespace trireme::command
