#include "schedule/schedule.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"

namespace trireme::schedule {
namespace {

using Actions = std::vector<Action>;

/// What the makers below need: p, v, m. A maker lists the passes of one stage, without the optimizer step.
struct Shape {
  int stages, chunks, microbatches;
};

/// All forward passes, then all backward passes (figure 3).
Actions gpipe(const Shape& shape, int /*stage*/) {
  Actions actions;
  for (int i = 0; i < shape.microbatches; ++i) actions.push_back({Act::forward, i});
  for (int i = 0; i < shape.microbatches; ++i) actions.push_back({Act::backward, i});
  return actions;
}

/// Warm-up forward passes until the first gradient can arrive, then one forward and one backward in turn, then the backward
/// passes that are left (figure 4 top). With m < p the warm-up takes all there is.
Actions one_f_one_b(const Shape& shape, int stage) {
  const int warmup = std::min(shape.stages - stage - 1, shape.microbatches);
  Actions actions;
  for (int i = 0; i < warmup; ++i) actions.push_back({Act::forward, i});
  for (int i = 0; i < shape.microbatches; ++i) {
    if (warmup + i < shape.microbatches) actions.push_back({Act::forward, warmup + i});
    actions.push_back({Act::backward, i});
  }
  return actions;
}

/// The order in which a stage's chunks and microbatches take turns: groups of p microbatches go through chunk after chunk, so
/// that a group's last microbatch leaves the last stage just when its first may enter the next chunk. When m is no multiple of
/// p the last group takes the rest, too: a group shorter than p would wait for itself in every chunk, and can deadlock.
Actions turns(const Shape& shape, Act act) {
  Actions passes;
  for (int first = 0, end = 0; first < shape.microbatches; first = end) {
    end = shape.microbatches - first < 2 * shape.stages ? shape.microbatches : first + shape.stages;
    for (int turn = 0; turn < shape.chunks; ++turn)
      for (int i = first; i < end; ++i) passes.push_back({act, i, facts(act).flow > 0 ? turn : shape.chunks - 1 - turn});
  }
  return passes;
}

/// As 1f1b over the turns (figure 4 bottom): the warm-up brings a group's first microbatch through the last chunk of the last
/// stage and back, 2 (p - r - 1) + (v - 1) g forward passes on stage r, g the longest group.
Actions interleaved(const Shape& shape, int stage) {
  const Actions forward = turns(shape, Act::forward), backward = turns(shape, Act::backward);
  const int group = shape.microbatches < shape.stages ? shape.microbatches : shape.stages + shape.microbatches % shape.stages;
  const std::size_t warmup = 2ul * (shape.stages - stage - 1) + (shape.chunks - 1ul) * group;
  Actions actions(forward.begin(), forward.begin() + std::min(warmup, forward.size()));
  for (std::size_t k = 0; k < backward.size(); ++k) {
    if (warmup + k < forward.size()) actions.push_back(forward[warmup + k]);
    actions.push_back(backward[k]);
  }
  return actions;
}

/// The bubble of schedules that fill and drain the pipeline once a step (section 2.2).
double filled_once(const Shape& shape) {
  return static_cast<double>(shape.stages - 1) / (static_cast<double>(shape.chunks) * shape.microbatches);
}

struct Form {
  std::string_view name;
  Kind kind;
  Actions (*maker)(const Shape&, int stage);
  int min_chunks, max_chunks;      // v
  int min_stages;                  // p
  std::string_view bubble_words;   // the formula
  double (*bubble)(const Shape&);  // its value
};

constexpr std::array forms = {
    Form{"gpipe", Kind::gpipe, gpipe, 1, 1, 1, "(p-1)/(v m)", filled_once},
    Form{"1f1b", Kind::one_f_one_b, one_f_one_b, 1, 1, 1, "(p-1)/(v m)", filled_once},
    Form{"interleaved", Kind::interleaved, interleaved, 2, std::numeric_limits<int>::max(), 2, "(p-1)/(v m)", filled_once},
};

constexpr bool in_order() {
  for (std::size_t k = 0; k < forms.size(); ++k)
    if (forms[k].kind != static_cast<Kind>(k)) return false;
  return forms.size() == static_cast<std::size_t>(Kind::interleaved) + 1;
}
static_assert(in_order(), "every Kind has a row, in its order");

const Form& form_of(Kind kind) { return forms[static_cast<std::size_t>(kind)]; }

}  // namespace

std::optional<Kind> kind_named(std::string_view name) {
  for (const Form& form : forms)
    if (form.name == name) return form.kind;
  return std::nullopt;
}

Kind require_kind(std::string_view name) {
  const auto kind = kind_named(name);
  if (!kind) base::refuse("parallel.schedule = \"{}\": the schedules are {}", name, kind_names());
  return *kind;
}

std::string name_of(Kind kind) { return std::string(form_of(kind).name); }

std::string kind_names() {
  std::string names;
  for (const Form& form : forms) names += (names.empty() ? "" : ", ") + std::string(form.name);
  return names;
}

std::string_view bubble_words(Kind kind) { return form_of(kind).bubble_words; }

double bubble_formula(Kind kind, int stages, int chunks, int microbatches) {
  return form_of(kind).bubble({stages, chunks, microbatches});
}

Schedule make_schedule(Kind kind, int stages, int chunks, int microbatches) {
  const Form& form = form_of(kind);
  if (stages < form.min_stages)
    base::refuse("parallel.pipeline = {}: the schedule {} needs at least {}", stages, form.name, form.min_stages);
  if (microbatches < 1) base::refuse("{} microbatches a pipeline and step: at least 1 is needed", microbatches);
  if (chunks < form.min_chunks || chunks > form.max_chunks)
    base::refuse(
        "parallel.virtual = {}: the schedule {} runs with {}", chunks, form.name,
        form.min_chunks == form.max_chunks ? fmt::format("{}", form.min_chunks) : fmt::format("{} or more", form.min_chunks));
  const Shape shape{stages, chunks, microbatches};
  Schedule schedule{kind, stages, chunks, microbatches, {}};
  for (int stage = 0; stage < stages; ++stage) {
    schedule.actions.push_back(form.maker(shape, stage));
    schedule.actions.back().push_back({Act::optimizer_step});
  }
  return schedule;
}

}  // namespace trireme::schedule
