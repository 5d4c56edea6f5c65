#include "grid/control.h"

#include <cstring>

#include "grid/mpi_communicator.h"

namespace trireme::grid {
namespace {

// Texts travel as int32 words, zero-padded, since communicators carry numbers.
std::vector<std::int32_t> to_words(const std::string& text, std::int64_t words) {
  std::vector<std::int32_t> result(static_cast<std::size_t>(words));
  if (!text.empty()) std::memcpy(result.data(), text.data(), text.size());
  return result;
}

std::string to_text(const std::int32_t* words, std::int64_t bytes) {
  return {reinterpret_cast<const char*>(words), static_cast<std::size_t>(bytes)};
}

}  // namespace

Control::Control(MpiCommunicator& group) : group_(group) {}

void Control::all_reduce(HostSpan numbers, Reduce op) { group_.wait(group_.all_reduce(numbers.view_, op, Traffic::control)); }

void Control::all_gather(HostSpan own, HostSpan all) { group_.wait(group_.all_gather(own.view_, all.view_, Traffic::control)); }

void Control::broadcast(HostSpan numbers, int root) { group_.wait(group_.broadcast(numbers.view_, root, Traffic::control)); }

void Control::send(HostSpan numbers, int peer) {
  group_.begin_group();
  group_.send(numbers.view_, peer, Traffic::control);
  group_.wait(group_.end_group());
}

void Control::receive(HostSpan numbers, int peer) {
  group_.begin_group();
  group_.receive(numbers.view_, peer, Traffic::control);
  group_.wait(group_.end_group());
}

double Control::largest(double value) {
  all_reduce(value, Reduce::maximum);
  return value;
}

double Control::sum(double value) {
  all_reduce(value, Reduce::sum);
  return value;
}

void Control::broadcast(std::string& text, int root) {
  auto bytes = static_cast<std::int64_t>(text.size());
  broadcast(HostSpan(bytes), root);
  std::vector<std::int32_t> words = to_words(rank() == root ? text : "", (bytes + 3) / 4);
  broadcast(HostSpan(words), root);
  text = to_text(words.data(), bytes);
}

std::vector<std::string> Control::gather(const std::string& text) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(size()));
  bytes[static_cast<std::size_t>(rank())] = static_cast<std::int64_t>(text.size());
  all_reduce(bytes, Reduce::maximum);
  std::vector<std::vector<std::int32_t>> words(rank() == 0 ? bytes.size() : 0);
  std::vector<std::int32_t> mine = to_words(text, (std::ssize(text) + 3) / 4);
  group_.begin_group();  // one group, so that rank 0 receives in the order of arrival
  for (std::size_t r = 1; r < words.size(); ++r) {
    words[r].resize(static_cast<std::size_t>((bytes[r] + 3) / 4));
    group_.receive(HostSpan(words[r]).view_, static_cast<int>(r), Traffic::control);
  }
  if (rank() != 0) group_.send(HostSpan(mine).view_, 0, Traffic::control);
  group_.wait(group_.end_group());
  if (rank() == 0) words[0] = mine;
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < words.size(); ++r) texts.push_back(to_text(words[r].data(), bytes[r]));
  return texts;
}

void Control::barrier() {
  std::int64_t token = 0;
  all_reduce(token, Reduce::maximum);
}

}  // namespace trireme::grid
