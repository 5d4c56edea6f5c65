// The actions of a pipeline stage, and all that is to be known of each kind of them, in one table. A new kind is a word in Act
// and a row; whoever must tell kinds apart asks facts().
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace trireme::schedule {

enum class Act { forward, backward, optimizer_step };

struct Action {
  Act act;
  int microbatch = 0;  // 0 .. m-1; 0 for optimizer_step
  int chunk = 0;       // 0 .. v-1 of this stage; model chunk = chunk * p + stage
  bool operator==(const Action&) const = default;
};

/// What a model chunk hands to its neighbour.
enum class Payload { activation, gradient };

struct PayloadFacts {
  Payload payload;
  std::string_view word;
  int flow;  // from the model chunk that makes it to the one that needs it: +1 towards the loss, -1 away from it
};

struct ActFacts {
  Act act;
  std::string_view word;         // in sentences
  std::string_view symbol;       // in lists, a pass's before the number of its microbatch
  std::string_view marks;        // characters of a picture, one a microbatch, from the first again after the last
  bool is_pass;                  // of one microbatch through one chunk
  int flow;                      // the order of model chunks: +1 towards the loss, -1 away from it, 0 none
  std::optional<Payload> needs;  // from the model chunk before, in the order of `flow`
  std::optional<Payload> sends;  // to the next
  std::optional<Act> after;      // the pass of the same microbatch and chunk that must have run
  bool takes_activation;         // keeps what a later pass of the same microbatch and chunk reads
  bool frees_activation;         // is the last that reads it
  bool in_evaluation;            // an evaluation runs it too
  double units;                  // its share of time where nothing else is known: a forward pass is 1
};

const ActFacts& facts(Act act);
const PayloadFacts& facts(Payload payload);

/// All rows, in the order of Act.
std::span<const ActFacts> all_acts();

}  // namespace trireme::schedule
