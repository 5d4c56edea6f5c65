// TMA between boxes of tensors and shared memory. A load's destination is NaN from issue, and filled when nothing else can run
// or, in random order, at any time. A store's source is looked at again when its reading is waited for, and must be what it was;
// its destination is NaN until the writing is waited for, or the block ends.
#include <algorithm>
#include <cstring>

#include "kernels/simt/block_sm90.h"

namespace trireme::simt {
namespace {

using kernels::ptx::Swizzle;

/// A row of a box: where it begins in the unswizzled box, and the part of it that is inside the tensor
struct Row {
  std::uint32_t offset;
  std::size_t begin, bytes;  // of the inside part, from the row's first byte
  std::byte* inside;
};

template <class Work>
void for_each_row(const Box& box, const Work& work) {
  const kernels::ptx::BoxedTensor& t = box.map.tensor;
  const std::int64_t first = std::max(0, -box.at[0]);
  const std::int64_t last = std::min<std::int64_t>(t.box[0], static_cast<std::int64_t>(t.size[0]) - box.at[0]);
  const std::uint32_t rows = t.box_bytes() / t.row_bytes();
  for (std::uint32_t r = 0; r < rows; ++r) {
    bool inside = last > first;
    std::int64_t offset = (box.at[0] + first) * t.element_bytes;
    std::uint32_t rest = r;
    for (std::size_t i = 1; i < static_cast<std::size_t>(t.rank); ++i) {
      const std::int64_t index = box.at[i] + static_cast<std::int64_t>(rest % t.box[i]);
      rest /= t.box[i];
      inside = inside && index >= 0 && index < static_cast<std::int64_t>(t.size[i]);
      offset += index * static_cast<std::int64_t>(t.stride[i - 1]);
    }
    const auto e = static_cast<std::size_t>(t.element_bytes);
    Row row{r * t.row_bytes(), 0, 0, nullptr};
    if (inside)
      row = {row.offset, static_cast<std::size_t>(first) * e, static_cast<std::size_t>(last - first) * e, box.map.data + offset};
    work(row);
  }
}

/// Calls work(offset in the box, address in shared memory) for every chunk of 16 bytes.
template <class Work>
void for_each_chunk(const Box& box, const Work& work) {
  const bool swizzle = box.map.tensor.swizzle == Swizzle::bytes128;
  for (std::uint32_t i = 0; i < box.map.tensor.box_bytes(); i += 16)
    work(i, swizzle ? swizzled(box.address + i) : box.address + i);
}

std::vector<std::byte> shared_bytes_of(const Box& box) {
  std::vector<std::byte> bytes(box.map.tensor.box_bytes());
  for_each_chunk(box, [&](std::uint32_t i, std::uint32_t address) { std::memcpy(&bytes[i], shared_pointer(address), 16); });
  return bytes;
}

void fill_shared(const Box& box, const std::vector<std::byte>& bytes) {
  for_each_chunk(box, [&](std::uint32_t i, std::uint32_t address) { write_async(address, &bytes[i], 16); });
}

/// For ThreadSanitizer: TMA works at any time from issue to wait, so what races with it is looked for at both.
void note(const Box& box, bool store) {
  if constexpr (!finds_races) return;
  for_each_chunk(
      box, [&](std::uint32_t, std::uint32_t address) { (store ? note_read : note_write)(shared_pointer(address), 16, box.pc); });
  for_each_row(box, [&](const Row& row) {
    if (row.bytes > 0) (store ? note_write : note_read)(row.inside, row.bytes, box.pc);
  });
}

Box checked(const void* memory, const TensorMap& map, const int* at, bool write, const Location& where, void* pc) {
  Box box{map, {}, shared_address(memory, map.tensor.box_bytes(), where), where, pc};
  std::copy_n(at, map.tensor.rank, box.at.begin());
  // The hardware's own rule is 128 bytes; the swizzle repeats every 1024 and the descriptors of wgmma count on it.
  const std::uint32_t alignment = map.tensor.swizzle == Swizzle::bytes128 ? 1024 : 128;
  if (box.address % alignment != 0)
    fail("TMA: address in shared memory is not a multiple of " + std::to_string(alignment), where);
  for_each_row(box, [&](const Row& row) {
    if (row.bytes > 0) check_global(row.inside, row.bytes, write, where, pc);
  });
  for_each_chunk(
      box, [&](std::uint32_t, std::uint32_t address) { check_visible(address, 16, write ? "TMA store" : "TMA load", where); });
  return box;
}

void land(const BoxLoad& load) {
  std::vector<std::byte> bytes(load.box.map.tensor.box_bytes());
  for_each_row(load.box, [&](const Row& row) {
    if (row.bytes > 0) std::memcpy(&bytes[row.offset + row.begin], row.inside, row.bytes);
  });
  fill_shared(load.box, bytes);
  complete_transaction(load.barrier, load.box.map.tensor.box_bytes(), load.box.where);
}

void finish_read(StoreGroup& group) {
  if (group.source_read) return;
  group.source_read = true;
  for (const BoxStore& store : group.stores)
    if (shared_bytes_of(store.box) != store.bytes) fail("the source of a TMA store changed before its wait", store.box.where);
}

void finish_write(StoreGroup& group) {
  if (group.written) return;
  group.written = true;
  for (const BoxStore& store : group.stores)
    for_each_row(store.box, [&](const Row& row) {
      if (row.bytes > 0) std::memcpy(row.inside, &store.bytes[row.offset + row.begin], row.bytes);
    });
}

std::vector<Box> boxes_read_by_wait(int pending) {
  const Quiet quiet;
  std::vector<Box> boxes;
  const std::vector<StoreGroup>& groups = sm90().stores[current->number].groups;
  for (std::size_t i = 0; finds_races && i + static_cast<std::size_t>(pending) < groups.size(); ++i)
    for (const BoxStore& store : groups[i].stores)
      if (!groups[i].source_read) boxes.push_back(store.box);
  return boxes;
}

}  // namespace

void tma_load(void* to, const TensorMap& map, std::uint64_t* barrier, const int* coordinates, Location where) {
  Box box;
  {
    const Quiet quiet;
    at("TMA load", where);
    check_transaction_barrier(barrier, where);
    box = checked(to, map, coordinates, false, where, __builtin_return_address(0));
    fill_shared(box, std::vector<std::byte>(map.tensor.box_bytes(), std::byte{0xFF}));
    sm90().loads.push_back({box, barrier});
  }
  note(box, false);
  release_transaction(barrier);
}

bool land_load() {
  if (block->sm90 == nullptr || sm90().loads.empty()) return false;
  std::vector<BoxLoad>& loads = sm90().loads;
  auto next = loads.begin();
  if (options().order == Order::descending) next = loads.end() - 1;
  if (options().order == Order::random) next += static_cast<std::ptrdiff_t>(block->random() % loads.size());
  const BoxLoad load = *next;
  loads.erase(next);
  land(load);
  return true;
}

void tma_store(const TensorMap& map, const int* coordinates, const void* from, Location where) {
  Box box;
  {
    const Quiet quiet;
    at("TMA store", where);
    box = checked(from, map, coordinates, true, where, __builtin_return_address(0));
    for_each_row(box, [](const Row& row) {
      if (row.bytes > 0) std::memset(row.inside, 0xFF, row.bytes);
    });
    sm90().stores[current->number].open.push_back({box, shared_bytes_of(box)});
  }
  note(box, true);
}

void tma_store_commit() {
  const Quiet quiet;
  ThreadStores& own = sm90().stores[current->number];
  own.groups.push_back({std::move(own.open)});
  own.open.clear();
  if (options().order != Order::random || block->random() % 4 != 0) return;
  finish_read(own.groups.back());
  finish_write(own.groups.back());
}

void tma_store_wait(int pending, bool read_only, Location where) {
  at(read_only ? "TMA store wait.read" : "TMA store wait", where);
  for (const Box& box : boxes_read_by_wait(pending)) note(box, true);
  const Quiet quiet;
  std::vector<StoreGroup>& groups = sm90().stores[current->number].groups;
  for (std::size_t i = 0; i + static_cast<std::size_t>(pending) < groups.size(); ++i) {
    finish_read(groups[i]);
    if (!read_only) finish_write(groups[i]);
  }
  while (!groups.empty() && groups.front().written) groups.erase(groups.begin());
}

void end_stores() {
  for (auto& [thread, own] : sm90().stores)
    for (StoreGroup& group : own.groups) finish_write(group);
}

}  // namespace trireme::simt
