// The two ways to shared memory: threads use the generic proxy, TMA and wgmma the asynchronous one. What a thread wrote by store
// or cp.async stays hidden from the second until that thread's own fence.proxy.async. Plain assignments leave no trace, so memory
// that the asynchronous proxy reads must not be written by them: they are found where the two views differ.
#include <algorithm>
#include <cstring>

#include "kernels/simt/block_sm90.h"

namespace trireme::simt {
namespace {

ProxyView& view() {
  ProxyView& v = sm90().view;
  if (!v.bytes.empty()) return v;
  v.bytes.assign(shared_window, std::byte{0xFF});  // as shared memory begins
  for (std::uint32_t i = 0; i < shared_window; ++i)
    if (block->writers[i] >= 0) v.written[block->writers[i]].push_back({i, 1});
  return v;
}

}  // namespace

void note_generic_write(std::uint32_t address, std::size_t bytes) {
  if (block->sm90 != nullptr) view().written[current->number].push_back({address, static_cast<std::uint32_t>(bytes)});
  std::fill_n(block->writers.begin() + address, bytes, static_cast<std::int16_t>(current->number));
}

void fence_proxy_async(Location where) {
  const Quiet quiet;
  at("fence.proxy.async", where);
  mbarrier_init_fence();
  ProxyView& v = view();
  std::vector<ProxyView::Range>& own = v.written[current->number];
  for (const ProxyView::Range& range : own)
    for (std::uint32_t i = range.address; i < range.address + range.bytes; ++i)
      if (block->writers[i] == current->number) {
        v.bytes[i] = *shared_pointer(i);
        block->writers[i] = -1;
      }
  own.clear();
}

void check_visible(std::uint32_t address, std::size_t bytes, const char* reader, const Location& where) {
  const ProxyView& v = view();
  const auto writer = block->writers.begin() + address;
  const auto hidden = std::find_if(writer, writer + static_cast<std::ptrdiff_t>(bytes), [](std::int16_t w) { return w >= 0; });
  const std::string what = std::string(reader) + ": shared memory that ";
  if (hidden != writer + static_cast<std::ptrdiff_t>(bytes))
    fail(what + "thread " + std::to_string(*hidden) + " wrote without fence.proxy.async after it", where);
  if (std::memcmp(v.bytes.data() + address, shared_pointer(address), bytes) != 0)
    fail(what + "a plain assignment wrote: use ptx::store, then fence.proxy.async", where);
}

void write_async(std::uint32_t address, const std::byte* from, std::size_t bytes) {
  ProxyView& v = view();
  std::fill_n(block->writers.begin() + address, bytes, std::int16_t{-1});
  std::memcpy(v.bytes.data() + address, from, bytes);
  std::memcpy(shared_pointer(address), from, bytes);
}

}  // namespace trireme::simt
