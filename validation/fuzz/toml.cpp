// Input files. What is accepted must read back from config.toml as the same configuration.
#include <stdexcept>

#include "config/reader.h"
#include "config/write.h"
#include "validation/fuzz/format.h"

namespace trireme::fuzz {
namespace {

constexpr const char* plain = R"([model]
layers = 2          # l
hidden = 32
heads = 4
sequence = 16
vocabulary = 64
dropout = 0.1
initial = "start/step"
[parallel]
tensor = 2
stages = [1, 1]
schedule = "1f1b"
[batch]
global = 8
[optimizer]
learning_rate = 1e-3
beta2 = 0.95
[data]
synthetic = true
[run]
steps = 10
time_limit = "1-12:00:00"
[trace]
steps = "3,5-7"
)";

void read(const std::string& bytes) {
  const config::Resolved resolved = config::read_config("fuzz.toml", bytes, {}, config::Missing::allow, config::Unbuilt::allow);
  const config::Resolved again =
      config::read_config("config.toml", config::write_config(resolved), {}, config::Missing::allow, config::Unbuilt::allow);
  if (!(again.config == resolved.config)) throw std::logic_error("config.toml gives another configuration");
}

}  // namespace

Format toml() {
  return {"toml",
          [] {
            return std::vector<std::string>{plain, config::write_config(config::read_config("plain.toml", plain, {}))};
          },
          read};
}

}  // namespace trireme::fuzz
