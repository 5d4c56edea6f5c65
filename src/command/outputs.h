// The files that a user names for a command's results.
#pragma once

#include <string>
#include <vector>

namespace trireme::command {

/// Throws base::Error (bad_input), before anything is written, for an output that is one of the inputs or another output (by
/// path, or the same file through links), that is a folder, or whose folder is not there or may not be written: no folder is
/// made. Empty names are passed over.
void check_outputs(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

/// Refuses a path with what only a shell would replace ("~", "$NAME"): a folder of that name would be made.
void refuse_unexpanded(const std::string& output);

}  // namespace trireme::command
