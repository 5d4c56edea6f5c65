// The entry of libFuzzer. FUZZ_FORMAT names the format; FUZZ_SEEDS a folder to write its seeds into first.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "validation/fuzz/format.h"

namespace {

trireme::fuzz::Format chosen;

void write_seeds(const std::string& folder) {
  int number = 0;
  for (const std::string& seed : chosen.seeds())
    std::ofstream(folder + "/seed-" + std::to_string(number++), std::ios::binary) << seed;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const name = std::getenv("FUZZ_FORMAT");
  for (const trireme::fuzz::Format& format : trireme::fuzz::all_formats()) {
    if (!name) std::puts(format.name.c_str());
    if (name && format.name == name) chosen = format;
  }
  if (!chosen.read) std::exit(name ? 1 : 0);
  if (const char* const folder = std::getenv("FUZZ_SEEDS")) write_seeds(folder);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    chosen.read(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const trireme::base::Error& error) {
    if (std::string(error.what()).empty()) std::abort();
  }
  return 0;
}
