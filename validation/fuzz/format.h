// The formats that the program reads from outside, but for the shards of checkpoints (HDF5), in one table: the mutation test of
// `make test` and the harness of `make fuzz` run over it.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace trireme::fuzz {

struct Format {
  std::string name;
  /// Contents of valid files, made by the program's own writers.
  std::function<std::vector<std::string>()> seeds;
  /// Reads a file of this content as the program does, and uses what it got. Throws base::Error for one that it refuses; a seed
  /// must pass. Nothing else may be thrown.
  std::function<void(const std::string& bytes)> read;
};

inline std::ostream& operator<<(std::ostream& out, const Format& format) { return out << format.name; }

Format toml();
Format arguments();
Format tokens();
Format safetensors();
Format safetensors_index();
Format gpt2_config();
Format manifest();
Format metrics();
Format tolerance();
Format trace();

inline std::vector<Format> all_formats() {
  return {toml(),        arguments(), tokens(),  safetensors(), safetensors_index(),
          gpt2_config(), manifest(),  metrics(), tolerance(),   trace()};
}

}  // namespace trireme::fuzz
