// Pipeline schedules as data: for each stage an ordered list of actions. The executor runs the list, the simulator times it,
// the timeline draws it. Letters as in arXiv 2104.04473: p stages, v chunks a stage, m microbatches.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/action.h"

namespace trireme::schedule {

/// In the order of the table in schedule.cpp.
enum class Kind { gpipe, one_f_one_b, interleaved };

struct Schedule {
  Kind kind;
  int stages, chunks, microbatches;          // p, v, m
  std::vector<std::vector<Action>> actions;  // [p], each ends with optimizer_step
};

/// The kind an input file calls `name` ("gpipe", "1f1b", "interleaved"); nothing for a name that no schedule has.
std::optional<Kind> kind_named(std::string_view name);
/// The same; throws base::Error (bad_input) that names parallel.schedule and the names there are.
Kind require_kind(std::string_view name);
std::string name_of(Kind kind);

/// All names, in the order of the table, separated by ", ": for messages.
std::string kind_names();

/// The bubble by formula for equal stages, as a share of the work, in words: "(p-1)/(v m)" (section 2.2).
std::string_view bubble_words(Kind kind);
double bubble_formula(Kind kind, int stages, int chunks, int microbatches);

/// The number of a stage's chunk among the p v chunks of the model, first layers first.
constexpr int model_chunk(int stages, int stage, int chunk) { return chunk * stages + stage; }

/// Pure. p, m >= 1; v = 1 for gpipe (section 2.2.1, figure 3) and 1f1b (figure 4 top); v >= 2 and p >= 2 for interleaved
/// (section 2.2.2, figure 4 bottom), where m need not be a multiple of p.
/// Backward passes run microbatches in the order 0 .. m-1 in every schedule.
/// Throws base::Error (bad_input) that names the key of a value that will not do.
Schedule make_schedule(Kind kind, int stages, int chunks, int microbatches);

}  // namespace trireme::schedule
