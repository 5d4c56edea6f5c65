// Shared memory of a block: the dynamic part from the bottom of a 32-bit window, arrays above it, everything NaN when the block
// starts. Counts what bank conflicts cost.
#include <algorithm>
#include <cstring>

#include "kernels/simt/block_sm90.h"

namespace trireme::simt {
namespace {

constexpr int nan_byte = 0xFF;  // makes NaN of fp32, bf16 and fp16, and an index that is out of any bounds

constexpr std::ptrdiff_t margin = 1024;  // beside the block's memory: still NaN when the block ends

/// A place of the source and the how-manieth time this thread is there
Visit next_visit(const Location& where) {
  Visit visit{where.file_name(), where.line(), where.column(), 0};
  visit.time = ++current->visits[visit];
  return visit;
}

/// Wavefronts of lanes first .. last - 1: the most different 4-byte words that they want of one of the 32 banks
std::uint64_t wavefronts_of(const SharedAccess& access, int first, int last) {
  std::vector<std::uint32_t> words[32];
  std::size_t most = 0;
  for (int lane = first; lane < last; ++lane) {
    if ((access.arrived >> lane & 1) == 0) continue;
    for (std::uint32_t byte = 0; byte < access.bytes; byte += 4) {
      const std::uint32_t word = (access.address[lane] + byte) / 4;
      std::vector<std::uint32_t>& bank = words[word % 32];
      if (std::find(bank.begin(), bank.end(), word) == bank.end()) bank.push_back(word);
      most = std::max(most, bank.size());
    }
  }
  return most;
}

}  // namespace

void lay_out_shared(std::size_t dynamic_bytes) {
  block->arrays.clear();
  block->static_end = block->static_pages.begin();
  block->dynamic = block->dynamic_pages.end() - (dynamic_bytes + 15) / 16 * 16;
  block->writers.resize(shared_window, -1);
  std::fill_n(block->writers.begin(), dynamic_bytes, std::int16_t{-1});
  std::fill_n(block->writers.begin() + dynamic_shared_bytes, static_shared_bytes, std::int16_t{-1});
  std::memset(block->static_pages.begin(), nan_byte, static_shared_bytes);
  std::byte* from = std::max(block->dynamic_pages.begin(), block->dynamic - margin);
  std::memset(from, nan_byte, static_cast<std::size_t>(block->dynamic_pages.end() - from));
}

std::string stray_in_shared() {
  if (first_stray(std::max(block->dynamic_pages.begin(), block->dynamic - margin), block->dynamic) != nullptr)
    return "a plain assignment wrote before the dynamic shared memory";
  if (first_stray(block->static_end, std::min(block->static_pages.end(), block->static_end + margin)) != nullptr)
    return "a plain assignment wrote past the last array in shared memory";
  return "";
}

void* static_shared(const void* key, std::size_t bytes, std::size_t alignment) {
  const Quiet quiet;
  for (const auto& [known, array] : block->arrays)
    if (known == key) return array;
  const auto used = static_cast<std::size_t>(block->static_end - block->static_pages.begin());
  const std::size_t begin = (used + alignment - 1) / alignment * alignment;
  if (begin + bytes > static_shared_bytes) fail("arrays in shared memory take more than 48 KiB: use the dynamic part");
  if (begin + bytes > block->shared_left)
    fail(std::to_string(begin + bytes) + " bytes of arrays in shared memory, where the dynamic part leaves " +
         std::to_string(block->shared_left));
  block->static_end = block->static_pages.begin() + begin + bytes;
  return block->arrays.emplace_back(key, block->static_pages.begin() + begin).second;
}

void* dynamic_shared(std::size_t most) {
  const auto bytes = static_cast<std::size_t>(block->dynamic_pages.end() - block->dynamic);
  if (bytes == 0) fail("was launched without dynamic shared memory");
  if (bytes > (most + 15) / 16 * 16)
    fail("was launched with " + std::to_string(bytes) + " bytes of dynamic shared memory, and says " + std::to_string(most) +
         " at most");
  return block->dynamic;
}

bool in_shared(const void* memory, std::size_t bytes) {
  const auto* p = static_cast<const std::byte*>(memory);
  return (p >= block->static_pages.begin() && p + bytes <= block->static_end) ||
         (p >= block->dynamic && p + bytes <= block->dynamic_pages.end());
}

std::uint32_t shared_address(const void* memory, std::size_t bytes, Location where) {
  if (!in_shared(memory, bytes)) fail("address outside the block's shared memory", where);
  const auto* p = static_cast<const std::byte*>(memory);
  const bool dynamic = p >= block->dynamic && p < block->dynamic_pages.end();
  return static_cast<std::uint32_t>(dynamic ? static_cast<std::size_t>(p - block->dynamic)
                                            : dynamic_shared_bytes + static_cast<std::size_t>(p - block->static_pages.begin()));
}

std::byte* shared_pointer(std::uint32_t address) {
  return address < dynamic_shared_bytes ? block->dynamic + address
                                        : block->static_pages.begin() + (address - dynamic_shared_bytes);
}

void count_wavefronts(const SharedAccess& access) {
  // A wavefront moves 128 bytes: all 32 lanes with up to 4 bytes each, half with 8, a quarter with 16.
  const int lanes = access.bytes <= 4 ? 32 : access.bytes == 8 ? 16 : 8;
  for (int first = 0; first < 32; first += lanes) {
    const std::uint64_t n = wavefronts_of(access, first, first + lanes);
    if (n == 0) continue;
    ++counters().wavefronts;
    counters().bank_conflicts += n - 1;
  }
}

void count_shared_access(std::uint32_t address, std::size_t bytes, const Location& where) {
  if (!options().count) return;
  const Visit visit = next_visit(where);
  SharedAccess& access = current->warp->accesses[visit];
  access.bytes = bytes;
  access.arrived |= 1u << current->lane;
  access.address[current->lane] = address;
  if (access.arrived != ~0u) return;
  count_wavefronts(access);
  current->warp->accesses.erase(visit);
}

void finish_shared_accesses() {
  for (Warp& warp : block->warps)
    for (const auto& [visit, access] : warp.accesses) count_wavefronts(access);
}

void check_access(const void* memory, std::size_t bytes, bool write, Location where) {
  const Quiet quiet;
  at(write ? "store" : "load", where);
  if (reinterpret_cast<std::uintptr_t>(memory) % bytes != 0)
    fail("address is not a multiple of the " + std::to_string(bytes) + " bytes accessed", where);
  if (!in_shared(memory, bytes)) return check_global(memory, bytes, write, where);
  const std::uint32_t address = shared_address(memory, bytes, where);
  count_shared_access(address, bytes, where);
  if (write) note_generic_write(address, bytes);
}

}  // namespace trireme::simt
