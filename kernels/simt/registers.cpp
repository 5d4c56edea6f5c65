// setmaxnreg: what a warp gives of its registers others of the block may take. A block has those that its threads began with, no
// more; a GPU lets a warp that takes too many wait for ever.
#include <algorithm>

#include "kernels/simt/block_sm90.h"

namespace trireme::simt {
namespace {

void converge(const char* action, Location where) {
  warp_collective(
      ~0u, action, nullptr, [](void* const*, std::uint32_t) {}, where);
}

/// The warp, together at the instruction and with a number of registers that is known
Warp& converged_warp(const char* action, Location where) {
  converge(action, where);
  Warp& warp = *current->warp;
  if (block->limits.registers == 0) fail(std::string(action) + ": the kernel has no launch bounds", where);
  if (warp.registers == 0) warp.registers = block->limits.registers;
  return warp;
}

std::string change(const char* action, const Warp& warp, int registers) {
  return std::string(action) + ": from " + std::to_string(warp.registers) + " registers to " + std::to_string(registers);
}

}  // namespace

void give_registers(int registers, Location where) {
  const Quiet quiet;
  Warp& warp = converged_warp("setmaxnreg.dec", where);
  if (current != warp.threads.front()) return converge("setmaxnreg.dec", where);
  if (registers > warp.registers) fail(change("setmaxnreg.dec", warp, registers), where);
  sm90().free_registers += 32 * (warp.registers - registers);
  warp.registers = registers;
  for (Thread* t : sm90().waiting_for_registers) t->state = State::ready;
  sm90().waiting_for_registers.clear();
  converge("setmaxnreg.dec", where);
}

void take_registers(int registers, Location where) {
  const Quiet quiet;
  Warp& warp = converged_warp("setmaxnreg.inc", where);
  if (current != warp.threads.front()) return converge("setmaxnreg.inc", where);
  if (registers < warp.registers) fail(change("setmaxnreg.inc", warp, registers), where);
  const int wanted = 32 * (registers - warp.registers);
  while (sm90().free_registers < wanted) {
    sm90().waiting_for_registers.push_back(current);
    leave_thread(State::waiting);
  }
  sm90().free_registers -= wanted;
  warp.registers = registers;
  converge("setmaxnreg.inc", where);
}

std::string missing_registers() {
  if (block->sm90 == nullptr || sm90().waiting_for_registers.empty()) return "";
  return " {" + std::to_string(sm90().free_registers) + " registers of the " +
         std::to_string(static_cast<int>(block->warps.size()) * 32 * block->limits.registers) + " are free}";
}

void end_registers() {
  for (std::size_t warp = 0; warp + 1 < block->warps.size(); ++warp)
    if (warp % 4 != 3 && block->warps[warp].registers != block->warps[warp + 1].registers)
      report("warp " + std::to_string(warp + 1) + " left out a setmaxnreg of its warpgroup", Location());
}

}  // namespace trireme::simt
