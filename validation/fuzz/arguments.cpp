// section.key=value on the command line; here one a line.
#include <sstream>

#include "config/keys.h"
#include "config/reader.h"
#include "validation/fuzz/format.h"

namespace trireme::fuzz {
namespace {

void read(const std::string& bytes) {
  std::vector<std::string> words;
  std::istringstream lines(bytes);
  for (std::string line; std::getline(lines, line);) words.push_back(line);
  config::read_config("fuzz.toml", "", words, config::Missing::allow, config::Unbuilt::allow);
}

/// Every key with its default, and forms of numbers.
std::vector<std::string> seeds() {
  std::string all;
  config::Config defaults;
  for (const config::Key& key : config::all_keys())
    if (!key.required) all += key.full_name() + "=" + config::plain_text(key.slot(defaults)) + "\n";
  return {all,
          "model.layers=1_000\nmodel.hidden=1e3\nrun.time_limit=1-12:00:00\nrun.watchdog=30m\ntrace.steps=10-12,50\n"
          "parallel.stages=[1, 2]\noptimizer.learning_rate=1e-3\ndata.shuffle=no\nrun.directory='a b'\n"};
}

}  // namespace

Format arguments() { return {"arguments", seeds, read}; }

}  // namespace trireme::fuzz
