// wgmma m64nNk16 by the tables of the PTX manual ("Asynchronous warpgroup level matrix instructions"), operands with the 128-byte
// swizzle. Each warp works on its 16 of the 64 rows by itself, so nothing orders the warps of a warpgroup but the kernel. At
// issue the accumulators become NaN and the operands are noted; the wait compares the operands and delivers the sums.
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/simt/block_sm90.h"
#include "kernels/simt/numbers.h"

namespace trireme::simt {
namespace {

constexpr int depth = 16;
constexpr std::uint64_t field = 0x3FFF;  // of a descriptor, in units of 16 bytes

/// Rows of A, or columns of B, in shared memory
struct Operand {
  std::uint64_t descriptor;
  int first, count;
  bool transposed;  // m- or n-major
};
Operand operand_a(const Wgmma& w) { return {w.descriptor_a, current->number / 32 % 4 * 16, 16, w.a_m_major}; }
Operand operand_b(const Wgmma& w) { return {w.descriptor_b, 0, w.n, w.b_n_major}; }

/// Calls work(address, row, k) for every 8 elements that lie together: along k, or along the rows when transposed.
template <class Work>
void for_each_chunk(const Operand& o, const Work& work) {
  const auto start = static_cast<std::uint32_t>(o.descriptor & field) << 4;
  const auto leading = static_cast<std::uint32_t>(o.descriptor >> 16 & field) << 4;
  const auto stride = static_cast<std::uint32_t>(o.descriptor >> 32 & field) << 4;
  for (int row = o.first; row < o.first + o.count; row += o.transposed ? 8 : 1)
    for (int k = 0; k < depth; k += o.transposed ? 1 : 8) {
      const auto r = static_cast<std::uint32_t>(row), c = static_cast<std::uint32_t>(k);
      const std::uint32_t offset =
          o.transposed ? r / 64 * leading + r % 64 * 2 + c / 8 * stride + c % 8 * 128 : r / 8 * stride + r % 8 * 128 + c * 2;
      work(swizzled(start + offset), row - o.first, k);
    }
}

void check_descriptor(std::uint64_t descriptor, const Location& where) {
  if (descriptor >> 62 != 1) fail("wgmma: a descriptor without the 128-byte swizzle", where);
  if ((descriptor & 0x38) != 0 || (descriptor >> 49 & 7) != 0)
    fail("wgmma: a tile that does not begin at a multiple of 1024 bytes", where);
}

void check_operand(const Operand& o, const Location& where) {
  for_each_chunk(o, [&](std::uint32_t address, int, int) {
    if (!in_shared(shared_pointer(address), 16)) fail("wgmma: a descriptor reaches outside the block's shared memory", where);
    check_visible(address, 16, "wgmma", where);
  });
}

void append(std::vector<std::byte>& bytes, const void* from) {
  const auto* p = static_cast<const std::byte*>(from);
  bytes.insert(bytes.end(), p, p + 16);
}

/// B, then A
std::vector<std::byte> operands_of(const Product& p) {
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(p.arguments.n + 16) * depth * 2);
  const auto take = [&](std::uint32_t address, int, int) { append(bytes, shared_pointer(address)); };
  for_each_chunk(operand_b(p.arguments), take);
  if (p.arguments.a == nullptr)
    for_each_chunk(operand_a(p.arguments), take);
  else
    for (const std::uint32_t* registers : p.registers) append(bytes, registers);
  return bytes;
}

float element(Element type, const std::byte* from) {
  std::uint16_t bits;
  std::memcpy(&bits, from, 2);
  return type == Element::bf16 ? bf16_to_float(bits) : fp16_to_float(bits);
}

/// [16, count], k first
std::vector<float> decode(const Operand& o, Element type, const std::byte* bytes) {
  std::vector<float> values(static_cast<std::size_t>(depth * o.count));
  for_each_chunk(o, [&](std::uint32_t, int row, int k) {
    for (int i = 0; i < 8; ++i, bytes += 2) {
      const int r = o.transposed ? row + i : row, c = o.transposed ? k : k + i;
      values[static_cast<std::size_t>(c * o.count + r)] = element(type, bytes);
    }
  });
  return values;
}

/// A from registers: register r of lane l holds row l / 4, + 8 for r odd, and k = 2 (l % 4) and the next, + 8 for r >= 2.
std::vector<float> decode_registers(Element type, const std::byte* bytes) {
  std::vector<float> values(depth * 16);
  for (int l = 0; l < 32; ++l)
    for (int r = 0; r < 4; ++r)
      for (int e = 0; e < 2; ++e, bytes += 2)
        values[static_cast<std::size_t>((l % 4 * 2 + e + r / 2 * 8) * 16 + l / 4 + r % 2 * 8)] = element(type, bytes);
  return values;
}

/// Where register i of a lane is in the sums [16, n]
std::size_t place_of(int lane, int i, int n) {
  return static_cast<std::size_t>((lane / 4 + i / 2 % 2 * 8) * n + i / 4 * 8 + lane % 4 * 2 + i % 2);
}

void multiply(const Product& p, std::vector<float>& sums) {
  const Wgmma& w = p.arguments;
  const auto n = static_cast<std::size_t>(w.n);
  const std::byte* bytes_a = p.operands.data() + n * depth * 2;
  const std::vector<float> b = decode(operand_b(w), w.element, p.operands.data());
  const std::vector<float> a = w.a != nullptr ? decode_registers(w.element, bytes_a) : decode(operand_a(w), w.element, bytes_a);
  if (!w.accumulate) std::fill(sums.begin(), sums.end(), 0.0f);
  for (std::size_t k = 0; k < depth; ++k)
    for (std::size_t m = 0; m < 16; ++m)
      for (std::size_t j = 0; j < n; ++j) sums[m * n + j] += a[k * 16 + m] * b[k * n + j];
}

struct Arguments {
  Wgmma product;
  Location where;
  void* pc;
};

/// The registers' sums, from now on in flight and NaN in the registers
Accumulator& accumulator_of(WarpProducts& warp, void* const* arguments, const Location& where) {
  const Wgmma& first = static_cast<Arguments*>(arguments[0])->product;
  const bool has_registers = first.a != nullptr;
  const auto known = std::find_if(warp.accumulators.begin(), warp.accumulators.end(),
                                  [&](const Accumulator& a) { return a.registers[0] == first.d; });
  if (!warp.fenced && (has_registers || known == warp.accumulators.end()))
    fail("wgmma without wgmma.fence since its registers may have been touched", where);
  if (known != warp.accumulators.end()) {
    if (known->n != first.n) fail("wgmma: the accumulators are in flight with another shape", where);
    return *known;
  }
  Accumulator a{{}, first.n, 0, std::vector<float>(static_cast<std::size_t>(16 * first.n))};
  for (int l = 0; l < 32; ++l) {
    a.registers[l] = static_cast<Arguments*>(arguments[l])->product.d;
    for (int i = 0; i < first.n / 2; ++i) a.sums[place_of(l, i, first.n)] = a.registers[l][i];
    std::memset(a.registers[l], 0xFF, static_cast<std::size_t>(first.n) * 2);
  }
  return warp.accumulators.emplace_back(std::move(a));
}

/// The four warps of a warpgroup execute the same wgmma in the same sequence.
void check_issue(WarpProducts& warp, const Wgmma& w, const Location& where) {
  std::vector<Issue>& issues = sm90().issues[current->number / 128];
  const Issue own{w.descriptor_a, w.descriptor_b, w.n, where.line()};
  if (warp.issued == issues.size()) issues.push_back(own);
  if (issues[warp.issued] != own) fail("wgmma: another warp of the warpgroup has executed a different one here", where);
  ++warp.issued;
}

void issue(void* const* arguments, std::uint32_t) {
  const auto* first = static_cast<Arguments*>(arguments[0]);
  const Wgmma& w = first->product;
  Product p{w, {}, {}, first->where, first->pc};
  for (int l = 0; l < 32; ++l) {
    const Wgmma& other = static_cast<Arguments*>(arguments[l])->product;
    if (other.descriptor_a != w.descriptor_a || other.descriptor_b != w.descriptor_b || other.accumulate != w.accumulate)
      fail("wgmma: descriptors or scale differ between lanes", first->where);
    p.registers[l] = other.a;
  }
  WarpProducts& warp = sm90().products[current->number / 32];
  check_issue(warp, w, first->where);
  check_operand(operand_b(w), first->where);
  if (w.a == nullptr) check_operand(operand_a(w), first->where);
  p.operands = operands_of(p);
  Accumulator& accumulator = accumulator_of(warp, arguments, first->where);
  ++accumulator.users;
  multiply(p, accumulator.sums);
  counters().matrix_products += static_cast<std::uint64_t>(w.n / 8);
  warp.open.push_back(std::move(p));
}

void deliver(WarpProducts& warp, const Product& p) {
  if (operands_of(p) != p.operands) fail("an operand of a wgmma in flight changed (or its array's scope has ended)", p.where);
  const auto a = std::find_if(warp.accumulators.begin(), warp.accumulators.end(),
                              [&](const Accumulator& other) { return other.registers[0] == p.arguments.d; });
  if (--a->users > 0) return;
  for (int l = 0; l < 32; ++l)
    for (int i = 0; i < a->n / 2; ++i) {
      if (std::bit_cast<std::uint32_t>(a->registers[l][i]) != ~0u)
        fail("accumulators of a wgmma in flight were written", p.where);
      a->registers[l][i] = a->sums[place_of(l, i, a->n)];
    }
  warp.accumulators.erase(a);
  warp.fenced = false;
}

/// For ThreadSanitizer: the warp's reads, as the first lane's, at issue and at the wait, since they happen at any time between.
/// The wait puts the lanes in order, for any of them may say afterwards that the warp is done with the operands.
void note(const Wgmma& w, void* pc) {
  if (!finds_races || current->lane != 0) return;
  const auto read = [&](std::uint32_t address, int, int) { note_read(shared_pointer(address), 16, pc); };
  for_each_chunk(operand_b(w), read);
  if (w.a == nullptr) for_each_chunk(operand_a(w), read);
}

WarpProducts& own() { return sm90().products[current->number / 32]; }

std::vector<std::pair<Wgmma, void*>> completed_by_wait(int pending) {
  const Quiet quiet;
  std::vector<std::pair<Wgmma, void*>> products;
  const std::vector<std::vector<Product>>& groups = own().groups;
  for (std::size_t g = 0; finds_races && g + static_cast<std::size_t>(pending) < groups.size(); ++g)
    for (const Product& p : groups[g]) products.emplace_back(p.arguments, p.pc);
  return products;
}

void check_warpgroup(const Location& where) {
  const auto threads = static_cast<int>(block->size.x * block->size.y * block->size.z);
  if (current->number / 128 * 128 + 128 > threads) fail("wgmma: the block has no whole warpgroup here", where);
}

}  // namespace

void wgmma(const Wgmma& product, Location where) {
  Arguments arguments{product, where, __builtin_return_address(0)};
  {
    const Quiet quiet;
    at("wgmma", where);
    check_warpgroup(where);
    if (product.a == nullptr) check_descriptor(product.descriptor_a, where);
    check_descriptor(product.descriptor_b, where);
    warp_collective(~0u, "wgmma", &arguments, issue, where);
  }
  note(product, arguments.pc);
}

void wgmma_fence(Location where) {
  warp_collective(
      ~0u, "wgmma.fence", nullptr, [](void* const*, std::uint32_t) { own().fenced = true; }, where);
}

void wgmma_commit(Location where) {
  const auto commit = [](void* const*, std::uint32_t) {
    own().groups.push_back(std::move(own().open));
    own().open.clear();
  };
  warp_collective(~0u, "wgmma.commit_group", nullptr, commit, where);
}

void wgmma_wait(int pending, Location where) {
  const auto wait = [](void* const* arguments, std::uint32_t) {
    WarpProducts& warp = own();
    while (warp.groups.size() > static_cast<std::size_t>(*static_cast<int*>(arguments[0]))) {
      for (const Product& p : warp.groups.front()) deliver(warp, p);
      warp.groups.erase(warp.groups.begin());
    }
  };
  for (const auto& [product, pc] : completed_by_wait(pending)) note(product, pc);
  const Warp* const warp = current->warp;
  hb_release(warp);
  warp_collective(~0u, "wgmma.wait_group", &pending, wait, where);
  hb_acquire(warp);
}

void end_products(int warp) {
  const auto own = sm90().products.find(warp);
  if (own == sm90().products.end()) return;
  if (!own->second.open.empty()) fail("ends with wgmma that it never committed", own->second.open.front().where);
  for (const auto& group : own->second.groups)
    if (!group.empty()) fail("ends with wgmma that it never waited for", group.front().where);
}

}  // namespace trireme::simt
