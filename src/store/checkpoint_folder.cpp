#include "store/checkpoint_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "store/gpt2_folder.h"
#include "store/master_file.h"

namespace trireme::store {
namespace {

namespace fs = std::filesystem;

constexpr const char *prefix = "step-", *partial = ".partial", *deleting = ".deleting", *latest = "latest";

bool is_published(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "manifest.json", ignored);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error && error != std::errc::no_such_file_or_directory)
    base::fail("{}: cannot list: {}", folder.string(), base::system_words(error));
  return names;
}

void move(const fs::path& from, const fs::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    base::fail("{}: cannot rename to {}: {}", from.string(), to.string(), base::system_words(errno));
}

void erase(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) base::fail("{}: cannot remove: {}", path.string(), base::system_words(error));
}

/// The manifest first, so that what is left of it at any moment is no checkpoint. Of a link, the link alone: what it leads to may
/// be the only copy.
void remove_folder(const fs::path& folder) {
  if (fs::is_symlink(folder)) return erase(folder);
  if (is_published(folder)) {
    erase(folder / "manifest.json");
    base::sync_folder(folder.string());
  }
  for (const std::string& name : names_in(folder)) erase(folder / name);
  erase(folder);
}

/// Under the name `.deleting`, which nothing reads.
void delete_checkpoint(const fs::path& folder) {
  const fs::path doomed = folder.string() + deleting;
  erase(doomed);
  move(folder, doomed);
  base::sync_folder(folder.parent_path().string());
  remove_folder(doomed);
}

/// Gives the new checkpoint its name. One of that name before (of a run that went back) goes in the same moment, where the file
/// system can exchange two names; elsewhere just before.
void take_name(const fs::path& from, const fs::path& to) {
  std::error_code ignored;
  if (!fs::exists(to, ignored)) return move(from, to);
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    base::sync_folder(to.parent_path().string());
    return remove_folder(from);
  }
  delete_checkpoint(to);
  move(from, to);
}

}  // namespace

std::string step_folder_name(std::int64_t step) { return fmt::format("{}{:08}", prefix, step); }

std::optional<std::int64_t> step_of_folder(const std::string& name) {
  if (!name.starts_with(prefix)) return {};
  const std::string digits = name.substr(std::strlen(prefix));
  if (digits.size() < 8 || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos) return {};
  const std::int64_t step = std::stoll(digits);
  return step_folder_name(step) == name ? std::optional(step) : std::nullopt;
}

std::string create_partial(const std::string& folder, std::int64_t step) {
  const fs::path path = fs::path(folder) / (step_folder_name(step) + partial);
  erase(path);
  for (const fs::path& made : {fs::path(folder), path}) {
    std::error_code error;
    fs::create_directory(made, error);
    if (error) base::fail("{}: cannot make this folder: {}", made.string(), base::system_words(error));
  }
  base::sync_folder(fs::path(folder).parent_path().string());
  return path.string();
}

void complete(const std::string& folder, Manifest manifest) {
  check_coverage(manifest);
  manifest.master = write_master(folder, manifest);
  base::write_file_atomically(folder + "/manifest.json", to_json(manifest));  // syncs the folder too
}

std::string publish(const std::string& partial_folder, Manifest manifest) {
  const std::string name = step_folder_name(manifest.step);
  const fs::path from = partial_folder, parent = from.parent_path(), to = parent / name;
  if (from.filename() != name + partial) base::fail("{}: not the folder of step {}", partial_folder, manifest.step);
  complete(partial_folder, std::move(manifest));
  take_name(from, to);
  base::sync_folder(parent.string());
  return to.string();
}

void point_latest(const std::string& published) {
  const fs::path folder = fs::path(published).parent_path(), link = folder / latest;
  const fs::path temporary = link.string() + partial;
  erase(temporary);
  std::error_code error;
  fs::create_symlink(fs::path(published).filename(), temporary, error);
  if (error) base::fail("{}: cannot make this symbolic link: {}", link.string(), base::system_words(error));
  try {
    move(temporary, link);
  } catch (const base::Error&) {
    erase(temporary);
    throw;
  }
  base::sync_folder(folder.string());
}

std::vector<std::string> list_checkpoints(const std::string& folder) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  for (const std::string& name : names_in(folder)) {
    if (const auto step = step_of_folder(name)) found.emplace_back(*step, (fs::path(folder) / name).string());
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> paths;
  for (auto& [step, path] : found) paths.push_back(std::move(path));
  return paths;
}

std::string find_checkpoint_in(const std::string& path) {
  if (is_published(path) || step_of_folder(fs::path(path).filename())) return path;
  for (const fs::path& folder : {fs::path(path) / "checkpoints", fs::path(path)}) {
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) continue;
    if (const auto found = list_checkpoints(folder.string()); !found.empty()) return found.front();
  }
  return "";
}

std::string find_checkpoint(const std::string& path) {
  if (std::string found = find_checkpoint_in(path); !found.empty()) return found;
  if (!fs::exists(path)) base::refuse("{}: no checkpoint here: there is no such folder{}", path, base::looked_for(path));
  if (!fs::is_directory(path))
    base::refuse("{}: no checkpoint here: it is a file; give the folder of a run or of a checkpoint", path);
  if (!find_gpt2(path).empty())
    base::refuse("{}: no checkpoint here, but weights; trireme checkpoint import makes a checkpoint of them", path);
  base::refuse(
      "{}: no checkpoint here: the folder of a run holds them in its folder checkpoints, and a checkpoint itself holds a "
      "manifest.json",
      path);
}

std::vector<std::string> remove_partials(const std::string& folder) {
  std::vector<std::string> removed;
  for (const std::string& name : names_in(folder)) {
    const std::string stem = fs::path(name).stem().string();
    const bool ours = step_of_folder(stem) || stem == latest;
    if (!ours || !(name.ends_with(partial) || name.ends_with(deleting))) continue;
    erase(fs::path(folder) / name);
    removed.push_back(name);
  }
  std::sort(removed.begin(), removed.end());
  return removed;
}

std::vector<std::string> prune(const std::string& folder, std::int64_t keep, const std::vector<std::string>& damaged) {
  if (keep == 0) return {};
  std::error_code ignored;
  const fs::path newest = fs::read_symlink(fs::path(folder) / latest, ignored).filename();
  std::vector<std::string> removed;
  std::int64_t kept = 0;
  for (const fs::path path : list_checkpoints(folder)) {
    const std::string name = path.filename();
    if (std::find(damaged.begin(), damaged.end(), name) != damaged.end() || kept++ < keep || name == newest) continue;
    delete_checkpoint(path);
    removed.push_back(name);
  }
  return removed;
}

}  // namespace trireme::store
