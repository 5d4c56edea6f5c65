#include "grid/watchdog.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"

namespace trireme::grid {
namespace {

constexpr double longest_period = 1, longest_between_looks = 10;  // seconds
constexpr double for_ever = 1e9;                                  // seconds

/// Every rank: who they all are, by rank.
std::vector<Identity> gather_names(World& world, int node, int node_rank) {
  std::string all;
  for (const std::string& line : world.everyone().gather(fmt::format("{} {} {} {}", world.host(), node, node_rank, getpid())))
    all += line + "\n";
  world.everyone().broadcast(all);
  std::vector<Identity> names;
  std::istringstream lines(all);
  for (Identity name; lines >> name.host >> name.node >> name.node_rank >> name.process;) names.push_back(name);
  return names;
}

Seen unknown(int rank) {
  Seen seen;
  seen.rank = rank;
  seen.unheard = seen.unchanged = for_ever;
  seen.known = false;
  return seen;
}

/// A thread that gets none of the process's signals: their handlers are the main thread's.
template <class Work>
std::thread thread_without_signals(Work work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(work);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

Watchdog::Watchdog(World& world, const Shape& shape, Options options)
    : Watchdog(world, shape, std::move(options), world.node_group(), world.node()) {}

Watchdog::Watchdog(World& world, const Shape& shape, Options options, Control group, int node)
    : world_(world),
      shape_(shape),
      options_(std::move(options)),
      node_(node),
      member_(group.rank()),
      period_(std::min(longest_period, options_.limit / 20)),
      table_(world, group),
      names_(gather_names(world, node, group.rank())),
      here_(static_cast<std::size_t>(group.size())),
      notes_(options_.folder, node) {
  for (int r = 0; r < world.size(); ++r) {
    const Identity& name = names_[static_cast<std::size_t>(r)];
    if (name.node == node)
      here_[static_cast<std::size_t>(name.node_rank)].seen.rank = r;
    else
      elsewhere_[name.node].rows.push_back(unknown(r));
  }
  const bool several = world.everyone().largest(static_cast<double>(elsewhere_.size())) > 0;
  world.agree([&] {
    if (!several || world.rank() != 0) return;
    std::filesystem::remove_all(options_.folder);
    std::filesystem::create_directories(options_.folder);
  });
  world.activity().publish_in(&table_.row(member_).doing);
  thread_ = thread_without_signals([this] { watch(); });
}

Watchdog::~Watchdog() {
  table_.row(member_).left = 1;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
  world_.activity().publish_in(nullptr);
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  for (double last = base::now(); !ending_;) {
    wake_.wait_for(lock, std::chrono::duration<double>(period_));
    const double now = base::now(), elapsed = std::min(now - last, 4 * period_);
    last = now;
    ++table_.row(member_).beat;
    observe(elapsed);
    if (!ending_ && lowest_living()) examine(elapsed);
  }
}

void Watchdog::observe(double elapsed) {
  for (int m = 0; m < table_.size(); ++m) {
    Watched& watched = here_[static_cast<std::size_t>(m)];
    Seen& seen = watched.seen;
    const TableRow& row = table_.row(m);
    const std::int64_t changes = row.doing.changes.load(std::memory_order_acquire);
    seen.unchanged = std::exchange(watched.changes, changes) == changes ? seen.unchanged + elapsed : 0;
    const std::int64_t beat = row.beat;
    seen.unheard = std::exchange(watched.beat, beat) == beat ? seen.unheard + elapsed : 0;
    seen.left = row.left != 0;
    seen.step = row.doing.step;
    seen.kind = row.doing.kind;
    seen.subject = {row.doing.microbatch, row.doing.chunk, row.doing.peer};
    if (watched.first_step < 0) watched.first_step = seen.step;
    seen.starting = seen.step < 0 || seen.step == watched.first_step;
  }
}

/// One thread of a node judges; should it fall silent, the next takes over.
bool Watchdog::lowest_living() const {
  const double living = std::max(1.0, 4 * period_);
  return std::none_of(here_.begin(), here_.begin() + member_,
                      [&](const Watched& lower) { return !lower.seen.left && lower.seen.unheard < living; });
}

std::vector<Seen> Watchdog::rows_here() const {
  std::vector<Seen> rows;
  for (const Watched& watched : here_) rows.push_back(watched.seen);
  return rows;
}

void Watchdog::examine(double elapsed) {
  const std::vector<Seen> rows = rows_here();
  if (const auto verdict = judge(rows, options_.limit, shape_)) return report(*verdict, rows);
  if (elsewhere_.empty()) return;
  const bool suspects = std::any_of(rows.begin(), rows.end(), [&](const Seen& seen) { return overdue(seen, options_.limit); });
  suspicious_ = suspects ? suspicious_ + elapsed : 0;
  since_look_ += elapsed;
  if (since_look_ < std::min(options_.limit / 4, longest_between_looks)) return;
  try {
    ask_other_nodes();
  } catch (const std::exception&) {  // a file system that fails: the ranks that use it will say so
  }
  since_look_ = 0;
}

/// When a rank here waits for too long and none here is at fault. Answers others in any case.
void Watchdog::ask_other_nodes() {
  const bool suspects = suspicious_ > 0;
  if (!suspects && std::exchange(wrote_, false)) notes_.withdraw();
  if (suspects) notes_.ask();
  if (suspects || notes_.asked()) {
    notes_.answer(rows_here());
    wrote_ = true;
  }
  if (!suspects) return;
  read_answers(since_look_);
  if (suspicious_ < options_.answer_seconds) return;
  const std::vector<Seen> all = everything();
  const auto verdict = judge(all, options_.limit, shape_);
  if (!verdict) return;
  // Several nodes may come to this verdict: the lowest rank that lives tells it.
  const auto living = std::find_if(all.begin(), all.end(), [&](const Seen& seen) { return seen.unheard < options_.limit; });
  if (living != all.end() && names_[static_cast<std::size_t>(living->rank)].node == node_) report(*verdict, all);
}

void Watchdog::read_answers(double elapsed) {
  for (auto& [node, answer] : elsewhere_) {
    answer.age += elapsed;
    std::vector<Seen> rows = notes_.newer_answer(node);
    if (rows.empty()) continue;
    answer = {std::move(rows), 0};
  }
}

/// Every rank, in order; unknown where the last answer is too old.
std::vector<Seen> Watchdog::everything() const {
  std::vector<Seen> all = rows_here();
  for (const auto& [node, answer] : elsewhere_)
    for (const Seen& seen : answer.rows) all.push_back(answer.age < options_.answer_seconds ? seen : unknown(seen.rank));
  std::sort(all.begin(), all.end(), [](const Seen& a, const Seen& b) { return a.rank < b.rank; });
  return all;
}

void Watchdog::report(const Verdict& verdict, const std::vector<Seen>& all) {
  if (table_.claim()) options_.end(describe(verdict, all, names_, shape_));
}

}  // namespace trireme::grid
