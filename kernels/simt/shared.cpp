// Shared memory of a block, everything NaN when the block starts. ptxas lays the arrays first and the dynamic part after them,
// each aligned as it asks for; so where they begin depends on the sizes of the others. Here each begins where it is aligned as it
// asks for and no better: what a kernel takes for granted beyond that shows. In a 32-bit window the dynamic part comes first, so
// that the descriptors of wgmma reach all of it. Counts what bank conflicts cost.
#include <algorithm>
#include <cstring>

#include "kernels/simt/block_sm90.h"

namespace trireme::simt {
namespace {

constexpr int nan_byte = 0xFF;  // makes NaN of fp32, bf16 and fp16, and an index that is out of any bounds

constexpr std::ptrdiff_t margin = 1024;  // beside the block's memory: still NaN when the block ends

std::size_t rounded_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

/// At least n, and a multiple of `alignment` but not of twice as much
std::size_t barely_aligned(std::size_t n, std::size_t alignment) {
  const std::size_t units = (n + alignment - 1) / alignment;
  return (units | 1) * alignment;
}

/// An Error when arrays and dynamic part, packed as ptxas does, are more than the architecture has
void check_total() {
  const std::size_t arrays = rounded_up(block->static_bytes, block->dynamic_alignment);
  if (block->dynamic_bytes == 0 || arrays + block->dynamic_bytes <= block->limits.shared_bytes) return;
  fail(std::to_string(block->static_bytes) + " bytes of arrays in shared memory and, from the next multiple of " +
       std::to_string(block->dynamic_alignment) + ", a dynamic part of " + std::to_string(block->dynamic_bytes) + ": " +
       std::to_string(block->limits.shared_bytes) + " bytes are all there is");
}

/// How far before the end of its pages the dynamic part begins. In ascending order the unreadable page follows it as closely as
/// its alignment allows; in the others it is aligned no better than it asks for.
std::size_t distance_from_end(std::size_t alignment) {
  if (options().order == Order::ascending) return rounded_up(block->dynamic_bytes, alignment);
  return barely_aligned(block->dynamic_bytes, alignment);
}

/// Where the dynamic part begins in the window: as aligned as its memory is
std::uint32_t dynamic_window() {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(block->dynamic) % alignment_slack);
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
  block->dynamic = nullptr;
  block->static_bytes = 0;
  block->dynamic_bytes = dynamic_bytes;
  block->dynamic_alignment = 16;
  block->writers.resize(shared_window, -1);
  std::fill_n(block->writers.begin(), dynamic_bytes + alignment_slack, std::int16_t{-1});
  std::fill_n(block->writers.begin() + static_window, static_shared_bytes + alignment_slack, std::int16_t{-1});
  std::memset(block->static_pages.begin(), nan_byte, static_shared_bytes + alignment_slack);
  const std::size_t touched = dynamic_bytes + alignment_slack + margin;
  std::memset(block->dynamic_pages.end() - touched, nan_byte, touched);
}

std::string stray_in_shared() {
  if (block->dynamic != nullptr && first_stray(block->dynamic - margin, block->dynamic) != nullptr)
    return "a plain assignment wrote before the dynamic shared memory";
  if (block->dynamic != nullptr && first_stray(block->dynamic + block->dynamic_bytes, block->dynamic_pages.end()) != nullptr)
    return "a plain assignment wrote past the dynamic shared memory";
  if (first_stray(block->static_end, std::min(block->static_pages.end(), block->static_end + margin)) != nullptr)
    return "a plain assignment wrote past the last array in shared memory";
  return "";
}

void* static_shared(const void* key, std::size_t bytes, std::size_t alignment) {
  const Quiet quiet;
  for (const auto& [known, array] : block->arrays)
    if (known == key) return array;
  block->static_bytes = rounded_up(block->static_bytes, alignment) + bytes;
  const auto used = static_cast<std::size_t>(block->static_end - block->static_pages.begin());
  const std::size_t begin = barely_aligned(used, alignment);
  if (block->static_bytes > static_shared_bytes || begin + bytes > static_shared_bytes + alignment_slack)
    fail("arrays in shared memory take more than 48 KiB: use the dynamic part");
  check_total();
  block->static_end = block->static_pages.begin() + begin + bytes;
  return block->arrays.emplace_back(key, block->static_pages.begin() + begin).second;
}

void* dynamic_shared(std::size_t most, std::size_t alignment) {
  const Quiet quiet;
  const std::size_t bytes = block->dynamic_bytes;
  if (bytes == 0) fail("was launched without dynamic shared memory");
  if (bytes > most)
    fail("was launched with " + std::to_string(bytes) + " bytes of dynamic shared memory, and says " + std::to_string(most) +
         " at most");
  if (block->dynamic != nullptr) return block->dynamic;
  block->dynamic_alignment = alignment;
  check_total();
  return block->dynamic = block->dynamic_pages.end() - distance_from_end(alignment);
}

bool in_shared(const void* memory, std::size_t bytes) {
  const auto* p = static_cast<const std::byte*>(memory);
  return (p >= block->static_pages.begin() && p + bytes <= block->static_end) ||
         (block->dynamic != nullptr && p >= block->dynamic && p + bytes <= block->dynamic + block->dynamic_bytes);
}

std::uint32_t shared_address(const void* memory, std::size_t bytes, Location where) {
  if (!in_shared(memory, bytes)) fail("address outside the block's shared memory", where);
  const auto* p = static_cast<const std::byte*>(memory);
  if (p >= block->static_pages.begin() && p < block->static_end)
    return static_window + static_cast<std::uint32_t>(p - block->static_pages.begin());
  return dynamic_window() + static_cast<std::uint32_t>(p - block->dynamic);
}

std::byte* shared_pointer(std::uint32_t address) {
  if (address >= static_window) return block->static_pages.begin() + (address - static_window);
  return block->dynamic_pages.begin() + (block->dynamic - block->dynamic_pages.begin()) + address - dynamic_window();
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
  SharedAccess& access = current->warp->shared_accesses[visit];
  access.bytes = bytes;
  access.arrived |= 1u << current->lane;
  access.address[current->lane] = address;
  if (access.arrived != ~0u) return;
  count_wavefronts(access);
  current->warp->shared_accesses.erase(visit);
}

Visit next_visit(const Location& where, const void* pc) {
  Visit visit{where.file_name(), where.line(), where.column(), 0, pc};
  visit.time = ++current->visits[visit];
  return visit;
}

void finish_accesses() {
  for (Warp& warp : block->warps) {
    for (const auto& [visit, access] : warp.shared_accesses) count_wavefronts(access);
    for (auto& [visit, access] : warp.global_accesses) count_sectors(access);
  }
}

void check_access(const void* memory, std::size_t bytes, bool write, Location where) {
  const Quiet quiet;
  at(write ? "store" : "load", where);
  if (reinterpret_cast<std::uintptr_t>(memory) % bytes != 0)
    fail("address is not a multiple of the " + std::to_string(bytes) + " bytes accessed", where);
  if (!in_shared(memory, bytes)) return check_global(memory, bytes, write, where, __builtin_return_address(0));
  const std::uint32_t address = shared_address(memory, bytes, where);
  count_shared_access(address, bytes, where);
  if (write) note_generic_write(address, bytes);
}

}  // namespace trireme::simt
