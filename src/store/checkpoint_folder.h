// RUN/checkpoints: folders step-00000100 of published checkpoints, and the symbolic link `latest`. What is being written is
// step-N.partial, what is being removed step-N.deleting; a crash at any moment leaves every published checkpoint whole. One
// process at a time changes the folder. Errors are base::Error(failure) unless said otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/manifest.h"

namespace trireme::store {

/// "step-00000100"
std::string step_folder_name(std::int64_t step);
/// N of such a name; nothing for others.
std::optional<std::int64_t> step_of_folder(const std::string& name);

/// Makes `folder`/step-N.partial, empty, and `folder` if needed, but none above it, which may have been moved away. Returns its
/// path.
std::string create_partial(const std::string& folder, std::int64_t step);

/// Once every shard of `partial_folder` (as create_partial returned it) is durable: checks coverage, writes checkpoint.h5, then
/// manifest.json, makes all durable, takes away ".partial" (one published under that name before is replaced in one step).
/// Returns the folder's new path. base::Error(mismatch) when the slices do not cover the tensors: nothing
/// is published then.
std::string publish(const std::string& partial_folder, Manifest manifest);

/// Points the link `latest`, which is for people only, at a published checkpoint.
void point_latest(const std::string& published);

/// The part of publish() inside the folder, for a checkpoint that stands for itself: proves coverage, writes checkpoint.h5, then
/// manifest.json.
void complete(const std::string& folder, Manifest manifest);

/// Paths of the folders step-N in `folder`, newest first, whether or not they verify; none when there is no such folder.
std::vector<std::string> list_checkpoints(const std::string& folder);

/// The checkpoint that `path` means: itself when it is one, else the newest of `path`/checkpoints or of `path`, also when that
/// one is damaged; empty when there is none.
std::string find_checkpoint_in(const std::string& path);
/// The same; base::Error(bad_input) when there is none, which tells what is there instead.
std::string find_checkpoint(const std::string& path);

/// Removes what a write or a deletion that did not end left; returns the names.
std::vector<std::string> remove_partials(const std::string& folder);

/// Removes the checkpoints but the newest `keep` (0: keeps all), the one that `latest` names, and `damaged` ones, which count for
/// nothing. Returns the names of the removed.
std::vector<std::string> prune(const std::string& folder, std::int64_t keep, const std::vector<std::string>& damaged = {});

}  // namespace trireme::store
