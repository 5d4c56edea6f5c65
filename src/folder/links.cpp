#include "folder/links.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/new_file.h"

namespace trireme::folder {
namespace {

namespace fs = std::filesystem;

std::string full_path(const std::string& path) {
  std::error_code ignored;
  return fs::canonical(path, ignored).string();
}

std::string mark_of(const std::string& folder) { return folder + "/owner"; }

/// Without the end of line; empty when there is none.
std::string owner_of(const std::string& folder) {
  if (!fs::exists(mark_of(folder))) return {};
  const std::string text = base::read_file(mark_of(folder));
  return text.substr(0, text.find('\n'));
}

}  // namespace

void check_linked_folder(const std::string& run, const std::string& name) {
  const std::string path = run + "/" + name;
  std::error_code ignored;
  const bool linked = fs::is_symlink(path, ignored);
  if (linked && !fs::is_directory(path, ignored))
    base::refuse("{}: is a symbolic link to {}, which is no folder; make that folder, or remove the link", path,
                 fs::read_symlink(path, ignored).string());
  if (!fs::is_directory(path, ignored)) return;
  const std::string own = full_path(run), folder = full_path(path), owner = owner_of(path);
  const std::string cure = fmt::format("If it is this run's all the same: echo '{}' > '{}'", own, mark_of(folder));
  if (!owner.empty() && owner != own)
    base::refuse("{}: the folder {} belongs to the run in {}, and a run replaces and removes files there. Use another folder. {}",
                 path, folder, owner, cure);
  if (linked && owner.empty() && !fs::is_empty(path, ignored))
    base::refuse(
        "{}: is a symbolic link to {}, which holds files that this run did not make, and a run replaces and removes files there. "
        "Link to an empty folder. {}",
        path, folder, cure);
}

void own_linked_folder(const std::string& run, const std::string& name) {
  check_linked_folder(run, name);
  const std::string path = run + "/" + name;
  if (!fs::is_symlink(path) || !owner_of(path).empty()) return;
  const std::string text = full_path(run) + "\n";
  base::NewFile mark(mark_of(path), base::Exit::bad_input);
  mark.write(text.data(), text.size());
  mark.publish_first();
}

}  // namespace trireme::folder
