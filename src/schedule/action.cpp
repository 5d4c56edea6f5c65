#include "schedule/action.h"

#include <array>
#include <cstddef>

namespace trireme::schedule {
namespace {

constexpr std::string_view digits = "0123456789", small_letters = "abcdefghijklmnopqrstuvwxyz";

constexpr std::array act_table = {
    ActFacts{.act = Act::forward,
             .word = "forward",
             .symbol = "F",
             .marks = digits,
             .is_pass = true,
             .flow = 1,
             .needs = Payload::activation,
             .sends = Payload::activation,
             .after = std::nullopt,
             .takes_activation = true,
             .frees_activation = false,
             .in_evaluation = true,
             .units = 1},
    ActFacts{.act = Act::backward,
             .word = "backward",
             .symbol = "B",
             .marks = small_letters,
             .is_pass = true,
             .flow = -1,
             .needs = Payload::gradient,
             .sends = Payload::gradient,
             .after = Act::forward,
             .takes_activation = false,
             .frees_activation = true,
             .in_evaluation = false,
             .units = 2},
    ActFacts{.act = Act::optimizer_step,
             .word = "optimizer step",
             .symbol = "step",
             .marks = "",
             .is_pass = false,
             .flow = 0,
             .needs = std::nullopt,
             .sends = std::nullopt,
             .after = std::nullopt,
             .takes_activation = false,
             .frees_activation = false,
             .in_evaluation = false,
             .units = 0},
};

constexpr std::array payload_table = {
    PayloadFacts{Payload::activation, "activation", 1},
    PayloadFacts{Payload::gradient, "gradient", -1},
};

constexpr bool sound() {
  for (std::size_t k = 0; k < payload_table.size(); ++k)
    if (payload_table[k].payload != static_cast<Payload>(k)) return false;
  for (std::size_t k = 0; k < act_table.size(); ++k) {
    const ActFacts& row = act_table[k];
    if (row.act != static_cast<Act>(k)) return false;
    for (const auto& payload : {row.needs, row.sends})
      if (payload && payload_table[static_cast<std::size_t>(*payload)].flow != row.flow) return false;
  }
  return true;
}
static_assert(sound(), "a row stands where its kind says, and a pass goes the way of what it hands on");

}  // namespace

const ActFacts& facts(Act act) { return act_table[static_cast<std::size_t>(act)]; }
const PayloadFacts& facts(Payload payload) { return payload_table[static_cast<std::size_t>(payload)]; }

std::span<const ActFacts> all_acts() { return act_table; }

}  // namespace trireme::schedule
