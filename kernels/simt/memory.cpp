#include "kernels/simt/memory.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include <sys/mman.h>

#include "kernels/simt/block.h"

namespace trireme::simt {
namespace {

constexpr std::size_t page = 4096, sector = 32;
constexpr std::size_t sparse_bytes = std::size_t{1} << 28;  // a buffer of so many is NaN at its ends alone, 0 between them

struct Buffer {
  GuardedPages pages;
  std::size_t bytes;
  Requested requested{0, 0};
  std::vector<bool> read, written;  // by sector, in this launch
  explicit Buffer(std::size_t n) : pages(n), bytes(n) {}
};

/// By address
std::map<const std::byte*, std::unique_ptr<Buffer>>& buffers() {
  static std::map<const std::byte*, std::unique_ptr<Buffer>> instance;
  return instance;
}

/// The buffer that begins at or before p, with its beginning
std::pair<const std::byte*, Buffer*> buffer_before(const std::byte* p) {
  auto next = buffers().upper_bound(p);
  if (next == buffers().begin()) return {nullptr, nullptr};
  --next;
  return {next->first, next->second.get()};
}

void mark(std::vector<bool>& sectors, std::size_t offset, std::size_t bytes) {
  for (std::size_t s = offset / sector; s <= (offset + bytes - 1) / sector; ++s) sectors[s] = true;
}

/// The warp instruction that a lane's access belongs to; complete, it is counted.
void join_instruction(std::uintptr_t first, std::size_t bytes, bool write, const Visit& visit) {
  GlobalAccess& access = current->warp->global_accesses[visit];
  access.write = write;
  access.arrived |= 1u << current->lane;
  if (bytes > 0) access.ranges.emplace_back(first, bytes);
  if (access.arrived != ~0u) return;
  count_sectors(access);
  current->warp->global_accesses.erase(visit);
}

std::uint64_t marked_bytes(const std::vector<bool>& sectors) {
  std::uint64_t n = 0;
  for (const bool touched : sectors) n += touched ? sector : 0;
  return n;
}

}  // namespace

GuardedPages::GuardedPages(std::size_t bytes) : bytes_((bytes + page - 1) / page * page) {
  void* memory = mmap(nullptr, bytes_ + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw Error("no " + std::to_string(bytes) + " bytes of memory for the simulator");
  begin_ = static_cast<std::byte*>(memory) + page;
  mprotect(memory, page, PROT_NONE);
  mprotect(begin_ + bytes_, page, PROT_NONE);
}

GuardedPages::~GuardedPages() { munmap(begin_ - page, bytes_ + 2 * page); }

void* allocate_device(std::size_t bytes) {
  auto buffer = std::make_unique<Buffer>(bytes);
  std::byte* begin = buffer->pages.end() - (bytes + 15) / 16 * 16;
  const auto all = static_cast<std::size_t>(buffer->pages.end() - buffer->pages.begin()),
             some = bytes < sparse_bytes ? all : page;
  std::memset(buffer->pages.begin(), 0xFF, some);  // pages that nobody touches take no memory
  std::memset(buffer->pages.end() - some, 0xFF, some);
  buffers()[begin] = std::move(buffer);
  return begin;
}

void release_device(void* memory) noexcept { buffers().erase(static_cast<std::byte*>(memory)); }

bool is_device_memory(const void* memory, std::size_t bytes) {
  const auto* p = static_cast<const std::byte*>(memory);
  const auto [begin, buffer] = buffer_before(p);
  return buffer != nullptr && p + bytes <= begin + buffer->bytes;
}

bool begins_device_buffer(const void* memory) { return buffers().contains(static_cast<const std::byte*>(memory)); }

std::string near_buffer(const void* memory) {
  const auto* p = static_cast<const std::byte*>(memory);
  const auto [begin, buffer] = buffer_before(p);
  if (buffer != nullptr && p < begin + buffer->bytes + page)
    return ", " + std::to_string(p - begin) + " bytes into one of " + std::to_string(buffer->bytes);
  const auto next = buffers().upper_bound(p);
  if (next == buffers().end() || next->first - p > std::ptrdiff_t{2 * page}) return "";
  return ", " + std::to_string(next->first - p) + " bytes before one of " + std::to_string(next->second->bytes);
}

const std::byte* first_stray(std::byte* begin, std::byte* end) {
  for (std::byte* p = begin; p < end; ++p)
    if (*p != std::byte{0xFF}) {
      std::memset(p, 0xFF, static_cast<std::size_t>(end - p));  // reported once
      return p;
    }
  return nullptr;
}

std::string stray_writes(const std::string& kernel) {
  for (const auto& [start, buffer] : buffers()) {
    std::byte *begin = const_cast<std::byte*>(start), *end = begin + buffer->bytes;
    const std::byte* stray = first_stray(buffer->pages.begin(), begin);
    if (stray == nullptr) stray = first_stray(end, buffer->pages.end());
    if (stray != nullptr)
      return kernel + ": a plain assignment wrote outside every device buffer" + near_buffer(stray) +
             " (ptx::store would name the line)";
  }
  return "";
}

Requested requested_of(const void* memory) { return buffers().at(static_cast<const std::byte*>(memory))->requested; }

void begin_sectors() {
  if (!options().count) return;
  for (auto& [begin, buffer] : buffers()) {
    buffer->read.assign(buffer->bytes / sector + 1, false);
    buffer->written.assign(buffer->bytes / sector + 1, false);
  }
}

void finish_sectors() {
  if (!options().count) return;
  for (const auto& [begin, buffer] : buffers()) {
    counters().moved_read += marked_bytes(buffer->read);
    counters().moved_written += marked_bytes(buffer->written);
  }
}

void count_sectors(GlobalAccess& access) {
  std::sort(access.ranges.begin(), access.ranges.end());
  std::uint64_t sectors = 0, bytes = 0;
  std::uintptr_t byte_end = 0, sector_end = 0;  // of what was counted
  for (const auto& [first, count] : access.ranges) {
    const std::uintptr_t begin = std::max(first, byte_end), end = std::max(first + count, byte_end);
    bytes += end - begin;
    byte_end = end;
    const std::uintptr_t from = std::max(first / sector, sector_end), to = (first + count - 1) / sector + 1;
    sectors += to - from;
    sector_end = to;
  }
  const std::uint64_t fewest = (bytes + sector - 1) / sector;
  (access.write ? counters().moved_written : counters().moved_read) += (sectors - fewest) * sector;
}

void check_global(const void* memory, std::size_t bytes, bool write, const Location& where, const void* pc) {
  const auto* p = static_cast<const std::byte*>(memory);
  if (options().count) join_instruction(reinterpret_cast<std::uintptr_t>(p), bytes, write, next_visit(where, pc));
  if (bytes == 0) return;
  const auto [begin, buffer] = buffer_before(p);
  if (buffer == nullptr || p + bytes > begin + buffer->bytes)
    fail(std::to_string(bytes) + " bytes outside every device buffer and the block's shared memory" + near_buffer(p), where);
  (write ? buffer->requested.written : buffer->requested.read) += bytes;
  (write ? counters().requested_written : counters().requested_read) += bytes;
  if (options().count) mark(write ? buffer->written : buffer->read, static_cast<std::size_t>(p - begin), bytes);
}

}  // namespace trireme::simt
