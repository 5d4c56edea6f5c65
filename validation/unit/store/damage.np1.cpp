// Damaged checkpoints: every damage is found and its file named. Oracle: what the test broke.
#include <csignal>
#include <functional>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/file.h"
#include "validation/unit/support/process.h"
#include "validation/unit/support/small_checkpoint.h"

namespace trireme::test {
namespace {

using store::CheckpointReader;

void flip(const std::string& path, std::int64_t byte, int bit = 0) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(byte);
  const char changed = static_cast<char>(file.get() ^ 1 << bit);
  file.seekp(byte);
  file.put(changed);
}

/// The one message of a checkpoint with one damage.
std::string fault(const std::string& step_folder) {
  try {
    const auto faults = all_faults(CheckpointReader(step_folder));
    EXPECT_EQ(faults.size(), 1u);
    return faults.empty() ? "" : faults[0];
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), base::Exit::mismatch) << error.what();
    return error.what();
  }
}

class StoreDamage : public testing::Test {
 protected:
  StoreDamage() {
    write_checkpoint(folder_.path(), model_, cut_, 1);
    write_checkpoint(folder_.path(), model_, cut_, 2);
    write_checkpoint(folder_ / "other", model_, cut_, 1, "run-2");
  }

  Folder folder_;
  const config::Model model_ = small_model(2);
  const Cut cut_{2, 2, 1};
  const std::string one_ = folder_ / "step-00000001", shard_ = one_ + "/shard-p001-t000-d000.h5";
};

TEST_F(StoreDamage, EachIsFoundAndItsFileNamed) {
  struct Damage {
    std::string file, says;
    std::function<void()> make;
  };
  const std::string name = "shard-p001-t000-d000.h5", manifest = one_ + "/manifest.json", master = one_ + "/checkpoint.h5";
  const auto size = static_cast<std::int64_t>(fs::file_size(shard_));
  const auto slice = CheckpointReader(one_).manifest().files[2].slices[0];
  const auto swap = [&](const std::string& from) {
    return [=, this] { fs::copy_file(from, shard_, fs::copy_options::overwrite_existing); };
  };
  const Damage damages[] = {
      {shard_, "No such file or directory", [&] { fs::remove(shard_); }},
      {shard_, fmt::format("{} bytes, expected {}", size - 1, size), [&] { fs::resize_file(shard_, size - 1); }},
      {shard_, slice.dataset() + ": its values changed", [&] { flip(shard_, slice.offset + 5, 3); }},
      {shard_, "of another step or run", swap(folder_ / "step-00000002/" + name)},
      {shard_, "of another step or run", swap(folder_ / "other/step-00000001/" + name)},
      {shard_, "bytes, expected", swap(one_ + "/shard-p000-t000-d000.h5")},
      {shard_, "bytes", [&] { std::ofstream(shard_) << "no HDF5 file"; }},
      {manifest, "No such file", [&] { fs::remove(manifest); }},
      {manifest, "cut or damaged", [&] { fs::resize_file(manifest, fs::file_size(manifest) / 2); }},
      {manifest, "cut or damaged", [&] { fs::resize_file(manifest, 0); }},
      {manifest, "its own checksum differs",
       [&] { flip(manifest, static_cast<std::int64_t>(base::read_file(manifest).find("\"samples\": 16") + 12)); }},
      {manifest, "not a JSON object", [&] { std::ofstream(manifest) << "[]"; }},
      {manifest, "format is missing", [&] { std::ofstream(manifest) << "{}"; }},
      {manifest, "format 2; this program reads 1", [&] { std::ofstream(manifest) << R"({"format": 2})"; }},
      {master, "checksum differs", [&] { flip(master, 1000); }},
      {master, "bytes, expected", [&] { fs::resize_file(master, 1000); }},
  };
  fs::copy(one_, folder_ / "good", fs::copy_options::recursive);
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.file + " " + damage.says);
    damage.make();
    const std::string text = fault(one_);
    EXPECT_NE(text.find(damage.file), std::string::npos) << text;
    EXPECT_NE(text.find(damage.says), std::string::npos) << text;
    fs::remove_all(one_);
    fs::copy(folder_ / "good", one_, fs::copy_options::recursive);
  }
  EXPECT_EQ(all_faults(CheckpointReader(one_)), std::vector<std::string>{});
}

// A bit flipped anywhere in the small file of the last stage: no byte is unwatched, and HDF5, which a damaged file can
// crash, is not asked.
TEST_F(StoreDamage, ABitAnywhereInAShardIsFound) {
  const std::string path = one_ + "/shard-p001-t001-d000.h5";
  const CheckpointReader reader(one_);
  const auto size = static_cast<std::int64_t>(fs::file_size(path));
  for (std::int64_t byte = 0; byte < size; byte += byte < 4096 ? 7 : 97) {
    const int bit = static_cast<int>(byte % 8);
    flip(path, byte, bit);
    const auto faults = reader.verify_file(3);
    ASSERT_FALSE(faults.empty()) << "byte " << byte;
    EXPECT_TRUE(faults[0].starts_with(path)) << faults[0];
    flip(path, byte, bit);
  }
  EXPECT_TRUE(reader.verify_file(3).empty());
}

TEST_F(StoreDamage, AShardThatSaysOtherThanTheManifestIsFound) {
  const store::ShardHeader wrong[] = {{"run-2", 7, 0, 0, 0}, {"run-1", 8, 0, 0, 0}};
  const std::string says[] = {"run_id is run-2, expected run-1", "step is 8, expected 7"};
  for (int k = 0; k < 2; ++k) {
    const std::string partial = store::create_partial(folder_.path(), 7);
    store::Manifest manifest = small_manifest(model_, 7);
    std::vector<std::vector<float>> memory;
    manifest.files = {store::write_shard(partial, wrong[k], owned_parts(model_, {}, 0, 0, 0, 7, memory))};
    const std::string text = fault(store::publish(partial, manifest));
    EXPECT_NE(text.find("step-00000007/shard-p000-t000-d000.h5: " + says[k]), std::string::npos) << text;
  }
}

TEST_F(StoreDamage, ReadingChecksWhatHdf5WouldBreakOn) {
  const CheckpointReader reader(one_);
  std::vector<float> values(8);
  const store::TensorPart part{store::Quantity::parameters, "final_norm.bias", {8}, {0}, {8}, values.data()};
  flip(shard_, 50);
  EXPECT_THROW(reader.read(part), base::Error);
  flip(shard_, 50);
  EXPECT_NO_THROW(reader.read(part));
}

/// Runs `check` as a user without rights, in a child; its result is the child's.
bool unprivileged(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(2);
    _exit(check() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(StoreDamage, UnreadableFilesAreNamedWithTheSystemsReason) {
  fs::permissions(folder_.path(), fs::perms(0755));
  const auto says = [](const std::string& text, const std::string& path) {
    return text.find(path) != std::string::npos && text.find("Permission denied") != std::string::npos;
  };
  const CheckpointReader reader(one_);
  EXPECT_TRUE(unprivileged([&] { return all_faults(reader).empty(); })) << "reading needs no right to write";
  fs::permissions(shard_, fs::perms::none);
  EXPECT_TRUE(unprivileged([&] {
    const auto faults = reader.verify_file(2);
    return faults.size() == 1 && says(faults[0], shard_);
  }));
  EXPECT_TRUE(unprivileged([&] {
    std::vector<float> values(8);
    try {
      reader.read({store::Quantity::parameters, "final_norm.bias", {8}, {0}, {8}, values.data()});
    } catch (const base::Error& error) {
      return error.status() == base::Exit::mismatch && says(error.what(), shard_);
    }
    return false;
  }));
  fs::permissions(one_ + "/manifest.json", fs::perms::none);
  EXPECT_TRUE(unprivileged([&] {
    try {
      const CheckpointReader again(one_);
    } catch (const base::Error& error) {
      return error.status() == base::Exit::mismatch && says(error.what(), one_ + "/manifest.json");
    }
    return false;
  }));
}

/// Saves step 3 in a process that may not write beyond `limit` bytes of a file, and ends it as a program ends. Its exit status: 0
/// when the message names one of the files and the reason, 3 when all could be written.
int save_within(const std::string& folder, const config::Model& model, const Cut& cut, rlim_t limit) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limits{limit, RLIM_INFINITY}, none{RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limits);
    alarm(20);
    try {
      write_checkpoint(folder, model, cut, 3);
    } catch (const base::Error& error) {
      const std::string text = error.what();
      setrlimit(RLIMIT_FSIZE, &none);  // there is room again: the next one is saved
      const std::string next = write_checkpoint(folder, model, cut, 4);
      const bool good = error.status() == base::Exit::failure && text.starts_with(folder + "/step-00000003.partial/") &&
                        text.find("File too large") != std::string::npos && all_faults(CheckpointReader(next)).empty();
      if (!good) std::fprintf(stderr, "%s\n", text.c_str());
      std::exit(good ? 0 : 1);  // with what the library does at the end
    }
    std::exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(StoreDamage, AFullDiskAtAnyByteIsAMessageAndLeavesThePublishedAlone) {
  int failed = 0, status = 0;
  for (rlim_t limit = 0; status == 0; limit = limit < 4096 ? limit + 509 : limit * 5 / 4) {
    status = save_within(folder_.path(), model_, cut_, limit);
    EXPECT_TRUE(status == 0 || status == 3) << limit << " bytes: " << status;
    failed += status == 0;
    if (status == 3) break;
    EXPECT_EQ(store::list_checkpoints(folder_.path()),
              (std::vector<std::string>{folder_ / "step-00000004", folder_ / "step-00000002", one_}));
    fs::remove_all(folder_ / "step-00000004");
    EXPECT_EQ(store::remove_partials(folder_.path()), std::vector<std::string>{"step-00000003.partial"});
  }
  EXPECT_GT(failed, 15);
}

class StoreCoverage : public testing::Test {
 protected:
  StoreCoverage() { manifest_ = CheckpointReader(write_checkpoint(folder_.path(), small_model(2), {4, 2, 1}, 1)).manifest(); }
  store::SliceRecord& slice(std::size_t file, const std::string& dataset) {
    for (auto& one : manifest_.files[file].slices)
      if (one.dataset() == dataset) return one;
    throw std::runtime_error(dataset);
  }
  void expect(const std::vector<std::string>& parts) const {
    try {
      store::check_coverage(manifest_);
      ADD_FAILURE() << parts[0];
    } catch (const base::Error& error) {
      EXPECT_EQ(error.status(), base::Exit::mismatch);
      for (const auto& part : parts) EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
  Folder folder_;
  store::Manifest manifest_;
};

TEST_F(StoreCoverage, HoldsForAWholeCheckpoint) { EXPECT_NO_THROW(store::check_coverage(manifest_)); }

TEST_F(StoreCoverage, GapsAreFound) {
  auto& row = slice(2, "parameters/embedding.tokens.weight");  // the last 45 rows
  row.count[0] = 44;
  expect({"parameters/embedding.tokens.weight: 8 of 2408 elements are in no file"});
  row.count[0] = 45;
  const std::string head = "adam/first_moment/layers.0.attention.qkv.weight";
  auto& slices = manifest_.files[3].slices;
  std::erase_if(slices, [&](const auto& one) { return one.dataset() == head; });
  expect({head + ": 48 of 192 elements"});
}

TEST_F(StoreCoverage, OverlapsAreFoundAlsoWhereTheNumberOfElementsIsRight) {
  slice(1, "adam/second_moment/layers.0.mlp.down.weight").start[1] = 0;  // where tensor rank 0's part lies
  expect({"adam/second_moment/layers.0.mlp.down.weight", "64 elements at [0, 0] are twice there", "t000", "t001"});
}

TEST_F(StoreCoverage, TensorsMissingUnknownOrOfAnotherShapeAreFound) {
  const auto good = manifest_;
  manifest_.tensors.push_back({"layers.9.norm1.bias", {8}});
  expect({"parameters/layers.9.norm1.bias: 8 of 8 elements"});
  manifest_ = good;
  manifest_.tensors.pop_back();
  expect({"final_norm.bias: in shard-p001-t000-d000.h5, but not in the list"});
  manifest_ = good;
  manifest_.tensors.back().shape = {9};
  expect({"final_norm.bias: [8] in shard-p001-t000-d000.h5, but [9] in the list"});
  manifest_ = good;
  manifest_.moments = false;
  expect({"adam/first_moment/", "not in the list"});
}

TEST_F(StoreCoverage, RecordsTravelAsText) {
  for (const store::FileRecord& record : manifest_.files) EXPECT_EQ(store::file_record(to_json(record), "rank 1"), record);
  EXPECT_EQ(store::manifest(to_json(manifest_), "here"), manifest_);
  std::string outside = to_json(manifest_.files[0]);
  outside.replace(outside.find("shard-"), 6, "../sha");
  EXPECT_THROW(store::file_record(outside, "rank 1"), base::Error);
}

}  // namespace
}  // namespace trireme::test
