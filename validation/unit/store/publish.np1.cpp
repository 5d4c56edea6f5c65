// Publication and removal, killed at every one of their changes of the disk. Oracle: the steps that the test knows to be
// complete; every checkpoint that is listed must verify.
#include <functional>

#include <gtest/gtest.h>

#include "validation/unit/support/file_faults.h"
#include "validation/unit/support/small_checkpoint.h"

namespace trireme::test {
namespace {

using Names = std::vector<std::string>;

const config::Model model = small_model(0, 200);  // embeddings and the last norm: few operations to be killed at
const Cut cut{2, 1, 1};

/// This program starts once more, with the library that its children die by.
[[gnu::constructor]] void start_with_faults(int, char** argv, char**) {
  if (std::getenv("FILE_FAULT_AT")) return;
  setenv("FILE_FAULT_AT", "0", 1);
  setenv("LD_PRELOAD", fault_library().c_str(), 1);
  setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
  execv("/proc/self/exe", argv);
}

/// Runs `work` in a child that dies at its n-th change of the disk below `folder`. Whether it got to the end.
bool survives(int n, const std::string& folder, const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("FILE_FAULT", killed, 1);
    setenv("FILE_FAULT_UNDER", folder.c_str(), 1);
    setenv("FILE_FAULT_AT", std::to_string(n).c_str(), 1);
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) << status;
  return status == 0;
}

Names published(const std::string& folder) {
  Names names;
  for (const std::string& path : store::list_checkpoints(folder)) {
    names.push_back(fs::path(path).filename());
    EXPECT_EQ(all_faults(store::CheckpointReader(path)), Names{}) << path;
  }
  return names;
}

Names listing(const std::string& folder) {
  Names names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

/// Kills `work` at each operation, on a fresh copy of `prepared` each time; `check` looks at what is left. Returns how many
/// operations there were.
int kill_everywhere(const std::string& prepared, const std::string& folder, const std::function<void()>& work,
                    const std::function<void()>& check) {
  for (int n = 1;; ++n) {
    SCOPED_TRACE(fmt::format("killed at operation {}", n));
    fs::remove_all(folder);
    if (fs::exists(prepared)) fs::copy(prepared, folder, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    const bool finished = survives(n, folder, work);
    check();
    if (finished || testing::Test::HasFailure()) return n - 1;
  }
}

const std::string one = "step-00000001", two = "step-00000002", three = "step-00000003";

TEST(StorePublish, OldOrNewAtEveryKill) {
  const Folder folder;
  const std::string prepared = folder / "prepared", here = folder / "here";
  write_checkpoint(prepared, model, cut, 1);
  write_checkpoint(prepared, model, cut, 2);
  bool old = false, renewed = false;
  const int operations = kill_everywhere(
      prepared, here, [&] { write_checkpoint(here, model, cut, 3), store::prune(here, 2); },
      [&] {
        const Names names = published(here);
        old |= names == Names{two, one};
        renewed |= names == Names{three, two};
        EXPECT_TRUE(names == (Names{two, one}) || names == (Names{three, two, one}) || names == (Names{three, two}));
        const auto latest = store::find_checkpoint(here + "/latest");
        EXPECT_EQ(all_faults(store::CheckpointReader(latest)), Names{});
        store::remove_partials(here);
        for (const std::string& name : listing(here))
          EXPECT_TRUE(name == "latest" || std::count(names.begin(), names.end(), name));
        // The next run goes on without help.
        write_checkpoint(here, model, cut, 4);
        EXPECT_EQ(fs::read_symlink(here + "/latest"), "step-00000004");
      });
  EXPECT_TRUE(old);
  EXPECT_TRUE(renewed);
  EXPECT_GE(operations, 40) << "2 shards of 15 slices, master, manifest, names, and a removal";
}

TEST(StorePublish, TheFirstCheckpointIsThereOrNot) {
  const Folder folder;
  fs::create_directory(folder / "run");
  const std::string here = folder / "run/checkpoints";
  kill_everywhere(
      folder / "nothing", here, [&] { write_checkpoint(here, model, cut, 1); },
      [&] {
        if (!fs::exists(here)) return;
        const Names names = published(here);
        EXPECT_TRUE(names.empty() || names == Names{one});
        store::remove_partials(here);
        EXPECT_EQ(published(here), names);
      });
  EXPECT_EQ(listing(here), (Names{"latest", one}));
}

TEST(StorePublish, AStepAgainReplacesTheOldOneInOneMoment) {
  const Folder folder;
  const std::string prepared = folder / "prepared", here = folder / "here";
  write_checkpoint(prepared, model, cut, 1, "old");
  kill_everywhere(
      prepared, here, [&] { write_checkpoint(here, model, cut, 1, "new"); }, [&] { EXPECT_EQ(published(here), Names{one}); });
  EXPECT_EQ(store::CheckpointReader(here + "/" + one).manifest().run_id, "new");
  EXPECT_EQ(listing(here), (Names{"latest", one}));
}

TEST(StorePublish, NothingIsPublishedThatDoesNotCoverTheModel) {
  const Folder folder;
  write_checkpoint(folder.path(), model, cut, 1);
  const std::string partial = store::create_partial(folder.path(), 2);
  EXPECT_THROW(store::publish(partial, small_manifest(model, 2)), base::Error);
  EXPECT_EQ(published(folder.path()), Names{one});
  EXPECT_EQ(fs::read_symlink(folder / "latest"), one);
}

TEST(StorePublish, PruneKeepsTheNewestAndWhatLatestNames) {
  const Folder folder;
  for (const int step : {1, 2, 3, 4}) write_checkpoint(folder.path(), model, cut, step);
  EXPECT_EQ(store::prune(folder.path(), 0), Names{});
  fs::remove(folder / "latest");
  fs::create_symlink(one, folder / "latest");
  EXPECT_EQ(store::prune(folder.path(), 2), Names{two});
  EXPECT_EQ(published(folder.path()), (Names{"step-00000004", three, one}));
  fs::remove(folder / "latest");
  EXPECT_EQ(store::prune(folder.path(), 1), (Names{three, one}));
  EXPECT_EQ(store::prune(folder / "nowhere", 1), Names{});
}

TEST(StorePublish, DamagedOnesDoNotCountAsKept) {
  const Folder folder;
  for (const int step : {1, 2, 3, 4}) write_checkpoint(folder.path(), model, cut, step);
  EXPECT_EQ(store::prune(folder.path(), 2, {three}), Names{one});
}

TEST(StorePublish, OnlyLeftoversAreRemovedStrangersStay) {
  const Folder folder;
  write_checkpoint(folder.path(), model, cut, 1);
  for (const char* name : {"step-00000002", "step-00000003.partial", "step-00000004.deleting", "mine.partial", "step-5", "other"})
    fs::create_directory(folder / name);
  std::ofstream(folder / "step-00000004.deleting/manifest.json") << "{}";
  EXPECT_EQ(store::remove_partials(folder.path()), (Names{"step-00000003.partial", "step-00000004.deleting"}));
  EXPECT_EQ(listing(folder.path()), (Names{"latest", "mine.partial", "other", one, two, "step-5"}));
  EXPECT_EQ(store::list_checkpoints(folder.path()), (Names{folder / two, folder / one}));
}

TEST(StorePublish, ACheckpointIsFoundByItsFolderItsRunsOrAbove) {
  const Folder folder;
  fs::create_directory(folder / "run");
  write_checkpoint(folder / "run/checkpoints", model, cut, 99999999);
  const std::string newest = write_checkpoint(folder / "run/checkpoints", model, cut, 100000000);
  for (const std::string& path : {folder / "run", folder / "run/checkpoints", newest})
    EXPECT_EQ(store::find_checkpoint(path), newest);
  for (const std::string& path : {folder.path().string(), folder / "none"}) {
    try {
      store::find_checkpoint(path);
      ADD_FAILURE() << path;
    } catch (const base::Error& error) {
      EXPECT_EQ(error.status(), base::Exit::bad_input);
      EXPECT_TRUE(std::string(error.what()).starts_with(path)) << error.what();
    }
  }
}

}  // namespace
}  // namespace trireme::test
