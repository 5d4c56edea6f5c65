#include "run/seen_by_all.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

namespace trireme::run {
namespace {

/// Of the file's bytes; 0: it cannot be read.
std::uint64_t hash_of(const std::string& path) {
  try {
    const std::string content = base::read_file(path);
    return base::hash64(std::as_bytes(std::span(content)));
  } catch (const base::Error&) {
    return 0;
  }
}

/// A network file system may show a new file to other nodes a moment later.
bool sees(const std::string& path, std::uint64_t hash) {
  constexpr int looks = 10;
  for (int k = 0; k < looks; ++k) {
    if (hash_of(path) == hash) return true;
    std::error_code ignored;
    std::filesystem::directory_iterator asks_the_server(std::filesystem::path(path).parent_path(), ignored);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

}  // namespace

void refuse_unless_seen_by_all(grid::World& world, const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  std::string host = world.host();
  std::int64_t hash = world.rank() == 0 ? static_cast<std::int64_t>(hash_of(path)) : 0;
  world.everyone().broadcast(hash);
  world.everyone().broadcast(host);
  world.agree([&] {
    if (!sees(path, static_cast<std::uint64_t>(hash)))
      base::refuse(
          "{}: rank {} on {} does not see what rank 0 on {} sees there: it looked for {}. Start all ranks in the same working "
          "directory, and use a file system that all nodes share",
          folder, world.rank(), world.host(), host, std::filesystem::absolute(path).lexically_normal().string());
  });
}

}  // namespace trireme::run
