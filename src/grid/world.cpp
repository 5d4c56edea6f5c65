#include "grid/world.h"

#include <array>
#include <cstdlib>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include "base/process.h"
#include "grid/launcher.h"
#include "grid/mpi_check.h"
#include "grid/mpi_communicator.h"

namespace trireme::grid {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

MPI_Comm all_ranks() {
  MPI_Comm all;
  TRIREME_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &all));
  return all;
}

MPI_Comm ranks_of_node(int rank) {
  MPI_Comm node;
  TRIREME_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node));
  return node;
}

LastWords::Write last_words;

[[noreturn]] void end_all_ranks(base::Exit status, const std::string& message) {
  base::print_error(message);
  if (last_words) last_words(status, message);
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(status));
  std::_Exit(static_cast<int>(status));
}

/// How launchers tell a process how many there are and which one it is.
struct LauncherVariables {
  const char* size;
  const char* rank;
  bool of_job = false;  // the size is that of the job, and the process may be in no step of it
};
// The first that is set decides: mpiexec inside a job leaves the job's own variables as they are.
constexpr LauncherVariables launchers[] = {{"PMI_SIZE", "PMI_RANK"},
                                           {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                           {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
                                           {"FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
                                           {"JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"},
                                           {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
                                           {"SLURM_NTASKS", "SLURM_PROCID", true}};

/// An exception that nothing caught, e.g. in a thread.
[[noreturn]] void terminated() {
  std::string why = "ended by std::terminate";
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::exception& error) {
    why = base::words_of(error);
  } catch (...) {
  }
  end_all_ranks(base::Exit::failure, fmt::format("a rank on {}: {}", host_name(), why));
}

}  // namespace

void mpi_failed(int error, const char* call, const char* file, int line) {
  std::array<char, MPI_MAX_ERROR_STRING> words{};
  int length = 0, rank = -1;
  MPI_Error_string(error, words.data(), &length);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  end_all_ranks(base::Exit::failure,
                fmt::format("rank {} on {}: {}:{}: {} failed: {}", rank, host_name(), file, line, call, words.data()));
}

LastWords::LastWords(Write write) : terminate_(std::set_terminate(terminated)) { last_words = std::move(write); }

LastWords::~LastWords() {
  last_words = nullptr;
  std::set_terminate(terminate_);
}

LaunchedProcess launched_process(const std::function<const char*(const char*)>& variable) {
  for (const LauncherVariables& launcher : launchers) {
    const char *count = variable(launcher.size), *rank = variable(launcher.rank);
    if (count && !launcher.of_job) return {std::atoi(count), rank ? std::atoi(rank) : 0};
  }
  return {};
}

void say_as_one(const std::string& message) {
  const LaunchedProcess process = launched_process([](const char* name) { return std::getenv(name); });
  if (process.rank == 0) return base::print_error(message);
  sleep(2);  // some launchers end all processes when one has ended, and the first may not have spoken yet
}

std::optional<std::string> launcher_mismatch(int size, const std::function<const char*(const char*)>& variable) {
  if (size > 1) return std::nullopt;
  for (const LauncherVariables& launcher : launchers) {
    const char* value = variable(launcher.size);
    if (!value) continue;
    const int expected = std::atoi(value);
    if (expected <= 1) return std::nullopt;
    return fmt::format(
        "error: {}={}, but MPI sees one rank only: {}.\n"
        "  under Slurm:  srun --mpi=pmi2 ...   (or export SLURM_MPI_TYPE=pmi2; one rank alone: srun --mpi=pmi2 -n 1 ...)\n"
        "  otherwise:    the mpiexec of the MPI that the program was built with, for MPICH mpiexec.mpich -n {} ...",
        launcher.size, expected,
        launcher.of_job ? "the program was started inside a job, but not by srun"
                        : "the launcher and this program's MPI do not speak to each other",
        expected);
  }
  return std::nullopt;
}

World::Session::Session() {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) std::abort();
  TRIREME_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  int size = 0;
  TRIREME_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
  std::optional<std::string> refusal = launcher_mismatch(size, [](const char* name) { return std::getenv(name); });
  if (provided < MPI_THREAD_MULTIPLE) refusal = "error: this MPI library has no MPI_THREAD_MULTIPLE, which the watchdog needs";
  if (!refusal) return;
  MPI_Finalize();
  say_as_one(*refusal);
  throw Agreed{base::Exit::bad_input, *refusal};
}

World::Session::~Session() { MPI_Finalize(); }

World::World()
    : host_(host_name()),
      all_ranks_(std::make_unique<MpiCommunicator>(all_ranks(), progress_, activity_)),
      node_ranks_(std::make_unique<MpiCommunicator>(ranks_of_node(all_ranks_->rank()), progress_, activity_)),
      everyone_(*all_ranks_),
      node_(*node_ranks_) {
  std::int64_t lowest = rank();
  node_.broadcast(lowest);
  node_number_ = static_cast<int>(lowest);
}

World::~World() = default;

void World::agree(const std::function<void()>& work) {
  std::optional<base::Error> error;
  try {
    work();
  } catch (const base::Error& thrown) {
    error = thrown;
  } catch (const std::exception& thrown) {
    error.emplace(base::Exit::failure, fmt::format("rank {} on {}: {}", rank(), host_, base::words_of(thrown)));
  }
  // The maximum is the lowest failing rank's, with its status in the last eight bits.
  const std::int64_t mine = error ? (std::int64_t{size() - rank()} << 8) + static_cast<int>(error->status()) : 0;
  std::int64_t first = mine;
  everyone_.all_reduce(first, Reduce::maximum);
  if (first == 0) return;
  if (first == mine) base::print_error(error->what());
  throw Agreed{static_cast<base::Exit>(first & 255), first == mine ? error->what() : ""};
}

std::string World::said(const Agreed& end) {
  std::string all;
  for (const std::string& text : everyone_.gather(end.message)) all += text;  // one rank has it
  return all;
}

void World::abort(base::Exit status, const std::string& message) const {
  end_all_ranks(status, fmt::format("rank {} on {}: {}", rank(), host_, message));
}

}  // namespace trireme::grid
