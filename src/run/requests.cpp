#include "run/requests.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"

namespace trireme::run {
namespace {

struct Watched {
  int number;
  const char* name;
  bool may_be_ignored = false;  // stays so where it was when the program started
};
/// nohup starts a program with HUP ignored.
constexpr std::array<Watched, 4> watched = {{{SIGUSR1, "USR1"}, {SIGTERM, "TERM"}, {SIGINT, "INT"}, {SIGHUP, "HUP", true}}};

constexpr double seconds_between_looks = 1;  // at the files: metadata of a shared file system is dear

volatile std::sig_atomic_t first_signal = 0;

void remember(int number) {
  if (first_signal == 0) first_signal = number;
}

std::string name_of(int number) {
  for (const Watched& signal : watched)
    if (signal.number == number) return signal.name;
  return std::to_string(number);
}

bool stop_file_in(const std::string& directory) { return access((directory + "/STOP").c_str(), F_OK) == 0; }

// What ranks tell each other, each the largest of all.
enum Field { stop_file, save_file, time_up, signal_and_rank, fields };

}  // namespace

Signals::Signals() : begin_(base::now()) {
  first_signal = 0;
  struct sigaction action = {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;  // no system call of MPI or a file fails for it
  sigemptyset(&action.sa_mask);
  for (const Watched& signal : watched) {
    struct sigaction& before = before_.emplace_back();
    sigaction(signal.number, nullptr, &before);
    if (!signal.may_be_ignored || before.sa_handler != SIG_IGN) sigaction(signal.number, &action, nullptr);
  }
}

Signals::~Signals() {
  for (std::size_t k = 0; k < watched.size(); ++k) sigaction(watched[k].number, &before_[k], nullptr);
}

int Signals::received() const { return first_signal; }

bool stops_at_start(grid::World& world, const std::string& directory) {
  const bool stops = world.everyone().largest(world.rank() == 0 && stop_file_in(directory)) > 0;
  if (stops && world.rank() == 0) fmt::print("{}/STOP is there: nothing to do; remove it to go on\n", directory);
  return stops;
}

Requests::Requests(grid::World& world, const Signals& signals, std::string directory, double time_limit)
    : world_(world), signals_(signals), directory_(std::move(directory)), time_limit_(time_limit) {}

void Requests::expect_save(double seconds) { slowest_save_ = std::max(slowest_save_, seconds); }

void Requests::save_took(double seconds) {
  saving_ += seconds;
  expect_save(seconds);
}

double Requests::margin() const { return 2 * slowest_save_ + 2 * slowest_step_ + std::min(60.0, 0.05 * time_limit_); }

Request Requests::next(std::span<std::int64_t> also) {
  const double now = base::now();
  if (last_end_ >= 0) slowest_step_ = std::max(slowest_step_, now - last_end_ - saving_);
  saving_ = 0;
  message_.assign(fields, 0);
  if (world_.rank() == 0 && (last_look_ < 0 || now - last_look_ >= seconds_between_looks)) {
    last_look_ = now;
    message_[stop_file] = stop_file_in(directory_);
    message_[save_file] = unlink((directory_ + "/SAVE").c_str()) == 0;  // each asks for one save
  }
  message_[time_up] = time_limit_ > 0 && now - signals_.begin() + margin() >= time_limit_;
  if (const int number = signals_.received())  // the largest is the lowest rank's
    message_[signal_and_rank] = (std::int64_t{world_.size() - world_.rank()} << 8) + number;
  message_.insert(message_.end(), also.begin(), also.end());
  world_.everyone().all_reduce(message_, grid::Reduce::maximum);
  std::copy(message_.begin() + fields, message_.end(), also.begin());
  last_end_ = base::now();
  decide(message_);
  return request_;
}

void Requests::ask(Request request, const std::string& reason) {
  if (request <= request_) return;
  request_ = request;
  reason_ = reason;
}

void Requests::decide(std::span<const std::int64_t> agreed) {
  if (request_ == Request::none) reason_.clear();
  if (agreed[stop_file]) ask(Request::save_and_end, directory_ + "/STOP is there");
  if (const std::int64_t signal = agreed[signal_and_rank])
    ask(Request::save_and_requeue,
        fmt::format("signal {}, received by rank {}", name_of(static_cast<int>(signal & 255)), world_.size() - (signal >> 8)));
  if (agreed[time_up])
    ask(Request::save_and_requeue, fmt::format("the job's time of {} comes to its end", base::time_text(time_limit_)));
  if (agreed[save_file]) ask(Request::save, directory_ + "/SAVE was there");
}

}  // namespace trireme::run
