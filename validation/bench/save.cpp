// How fast a checkpoint is written, beside the disk's own rate: one file of the same size, written in pieces of 16 MiB and made
// durable, as dd conv=fsync does. In turns, in one run; the medians are compared. Arguments: folder (default: the current one)
// and parameters in millions (default 100).
#include <algorithm>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/checkpoint_writer.h"
#include "validation/unit/support/small_run.h"

namespace {

using namespace trireme;

constexpr int rounds = 5;

/// Seconds to write `bytes` to a new file at `path` and make them durable. One rank.
double plain_write(const std::string& path, std::int64_t bytes) {
  const std::vector<char> piece(16 << 20, 'x');
  const double begin = base::now();
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  for (std::int64_t left = bytes; left > 0;) {
    const auto written = write(file, piece.data(), static_cast<std::size_t>(std::min<std::int64_t>(left, std::ssize(piece))));
    if (written < 0) base::fail("{}: cannot write: is the disk full?", path);
    left -= written;
  }
  fsync(file);
  close(file);
  const double seconds = base::now() - begin;
  unlink(path.c_str());
  return seconds;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + rounds / 2, values.end());
  return values[rounds / 2];
}

void measure(grid::World& world, const std::string& folder, int millions) {
  // 12 h^2 parameters a layer
  const config::Config config =
      test::small_config(world.size(), {"model.hidden=1024", "model.heads=16", "model.sequence=16", "checkpoint.every=1",
                                        fmt::format("model.layers={}", (millions * 1000000 + (12 << 20) - 1) / (12 << 20)),
                                        fmt::format("batch.global={}", world.size())});
  train::Trainer trainer = test::make_trainer(world, config);
  const std::int64_t bytes = spec::checkpoint_bytes(config.model);
  run::CheckpointWriter writer(trainer.state(), {folder + "/bench-save", "", 1, 1, {}}, trainer.replica().device(),
                               trainer.grid(),
                               trainer.layout().memory[trainer.grid().at().pipeline][spec::MemoryClass::snapshot]);
  std::vector<double> plain, waited, saved;
  for (int round = 0; round < rounds; ++round) {
    world.everyone().barrier();
    if (world.rank() == 0) plain.push_back(plain_write(folder + "/bench-save.plain", bytes));
    world.everyone().barrier();
    const double begin = base::now();
    writer.save(round + 1);
    waited.push_back(base::now() - begin);
    writer.finish();
    saved.push_back(base::now() - begin);
  }
  world.everyone().barrier();
  if (world.rank() != 0) return;
  std::filesystem::remove_all(folder + "/bench-save");
  const double disk = median(plain), save = median(saved), mib = static_cast<double>(bytes) / (1 << 20);
  fmt::print("checkpoint of {:.0f} M parameters, {:.0f} MiB, {} ranks, medians of {}\n", static_cast<double>(bytes) / 12e6, mib,
             world.size(), rounds);
  fmt::print("  one plain file, durable    {:8.2f} s {:8.0f} MiB/s\n", disk, mib / disk);
  fmt::print("  checkpoint, published      {:8.2f} s {:8.0f} MiB/s  {:.2f} of the plain file's rate\n", save, mib / save,
             disk / save);
  fmt::print("  of that a step waits       {:8.2f} s\n", median(waited));
}

}  // namespace

int main(int argc, char** argv) {
  grid::World world;
  try {
    measure(world, argc > 1 ? argv[1] : ".", argc > 2 ? std::atoi(argv[2]) : 100);
    return 0;
  } catch (const std::exception& error) {
    world.abort(base::Exit::failure, error.what());
  }
}
