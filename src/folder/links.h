// A folder of a run that the user made a symbolic link, `checkpoints` on a scratch file system say. A run, or `trireme plot`,
// removes and replaces what lies there, so the folder behind the link must be the run's own: empty when the run first comes, and
// marked from then on by a file `owner` in it, which holds the path of the run's folder. World rank 0 only.
#pragma once

#include <string>

namespace trireme::folder {

/// Refuses (bad_input) RUN/NAME when it is a link to nothing, to what is no folder, or to a folder with content that is not
/// marked as this run's; and, link or not, when it is marked as another's. Changes nothing.
void check_linked_folder(const std::string& run, const std::string& name);

/// Checks again and marks the folder behind a link as this run's.
void own_linked_folder(const std::string& run, const std::string& name);

}  // namespace trireme::folder
