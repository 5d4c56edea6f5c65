#include "kernels/simt/nccl_launch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/simt/nccl_words.h"
#include "kernels/simt/numbers.h"

namespace trireme::simt::nccl {
namespace {

template <class T>
struct Plain {
  using Stored = T;
  static T load(T x) { return x; }
  static T store(T x) { return x; }
};
template <float (*widen)(std::uint16_t), std::uint16_t (*narrow)(float)>
struct Half {
  using Stored = std::uint16_t;
  static float load(std::uint16_t x) { return widen(x); }
  static std::uint16_t store(float x) { return narrow(x); }
};

/// Each part of the span begins with another member, as rings do, and every addition is rounded.
template <class Type>
void reduce_as(std::byte* out, std::int64_t count, const std::vector<std::vector<std::byte>>& from, bool sum) {
  using Stored = typename Type::Stored;
  const auto size = static_cast<std::int64_t>(from.size());
  for (std::int64_t i = 0; i < count; ++i) {
    Stored result{};
    for (std::int64_t k = 0; k < size; ++k) {
      Stored next;
      const std::int64_t member = (i * size / count + 1 + k) % size;
      std::memcpy(&next, from[static_cast<std::size_t>(member)].data() + i * std::int64_t{sizeof next}, sizeof next);
      const auto a = Type::load(result), b = Type::load(next);
      result = k == 0 ? next : sum ? Type::store(a + b) : a < b ? next : result;
    }
    std::memcpy(out + i * std::int64_t{sizeof result}, &result, sizeof result);
  }
}

void test_all(std::vector<MPI_Request>& requests, int& done) {
  MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
}

}  // namespace

Launch::Launch(ncclComm& comm, std::vector<Request> requests)
    : comm_(comm), requests_(std::move(requests)), heard_(comm.world.size(), false) {}

bool Launch::takes_part(int member) const {
  if (member == comm_.rank) return false;
  const auto concerns = [&](const Request& r) { return (r.kind != Kind::send && r.kind != Kind::receive) || r.other == member; };
  return std::any_of(requests_.begin(), requests_.end(), concerns);
}

std::string Launch::name() const {
  int member = 0;
  while (!takes_part(member)) ++member;
  return described(words_of(comm_, requests_, member));
}

void Launch::announce() {
  announced_ = true;
  for (int member = 0; member < comm_.size(); ++member)
    if (takes_part(member))
      send_words(comm_.world[static_cast<std::size_t>(member)], call_tag, words_of(comm_, requests_, member));
}

bool Launch::match() {
  if (comm_.aborted) return true;
  if (!announced_) announce();
  for (int member = 0; member < comm_.size(); ++member) {
    if (!takes_part(member) || heard_[static_cast<std::size_t>(member)]) continue;
    const int peer = comm_.world[static_cast<std::size_t>(member)];
    const auto received = take_words(peer, call_tag);
    if (!received) continue;
    heard_[static_cast<std::size_t>(member)] = true;
    const Words mine = words_of(comm_, requests_, member);
    if (received->words != mirrored(mine))
      fault("NCCL: ranks " + std::to_string(world_rank()) + " and " + std::to_string(peer) + " disagree: rank " +
            std::to_string(world_rank()) + " calls " + described(mine) + ", rank " + std::to_string(peer) + " calls " +
            described(received->words));
  }
  matched_ = true;
  for (int member = 0; member < comm_.size(); ++member)
    matched_ = matched_ && (!takes_part(member) || heard_[static_cast<std::size_t>(member)]);
  return matched_;
}

bool Launch::attempt() {
  look_for_faults();
  if (comm_.aborted) return finished_ = true;
  int sent = 0, received = 0;
  if (started_) {
    test_all(sends_, sent);
    test_all(receives_, received);
  }
  if (!started_ && matched_) start();  // never done at once
  if (!sent || !received) {
    patience_.check([&] { return name(); });
    return false;
  }
  finish();
  return finished_ = true;
}

// ---- data

void Launch::post_send(const std::byte* data, std::size_t bytes, int member) {
  MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, comm_.world[static_cast<std::size_t>(member)], first_data_tag + comm_.number,
            MPI_COMM_WORLD, &sends_.emplace_back());
}

void Launch::post_receive(Bytes& data, std::size_t bytes, int member) {
  data.resize(bytes);
  MPI_Irecv(data.data(), static_cast<int>(bytes), MPI_BYTE, comm_.world[static_cast<std::size_t>(member)],
            first_data_tag + comm_.number, MPI_COMM_WORLD, &receives_.emplace_back());
}

void Launch::start() {
  started_ = true;
  const Kind kind = requests_.front().kind;
  kind == Kind::send || kind == Kind::receive ? start_transfers() : start_collective();
  guard();
}

void Launch::start_collective() {
  const Request& r = requests_.front();
  const auto size = static_cast<std::size_t>(comm_.size()), bytes = static_cast<std::size_t>(r.count) * bytes_of(r.type);
  const bool scatters = r.kind == Kind::reduce_scatter, rooted = r.kind == Kind::broadcast;
  const std::size_t given = scatters ? size * bytes : rooted && comm_.rank != r.other ? 0 : bytes;
  const auto* in = static_cast<const std::byte*>(r.in);
  given_.emplace_back(in, in + given);
  inputs_.push_back({const_cast<std::byte*>(in), given});
  outputs_.push_back({static_cast<std::byte*>(r.out), r.kind == Kind::all_gather ? size * bytes : bytes});
  arrived_.resize(size);
  for (int member = 0; member < comm_.size(); ++member) {
    const std::byte* part = given_[0].data() + (scatters ? static_cast<std::size_t>(member) * bytes : 0);
    const bool from_me = !rooted || comm_.rank == r.other, from_it = !rooted || member == r.other;
    Bytes& arrived = arrived_[static_cast<std::size_t>(member)];
    if (member == comm_.rank) {
      if (from_me) arrived.assign(part, part + bytes);
      continue;
    }
    if (from_me) post_send(part, bytes, member);
    if (from_it) post_receive(arrived, bytes, member);
  }
}

void Launch::start_transfers() {
  given_.resize(requests_.size());
  arrived_.resize(requests_.size());
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const Request& r = requests_[i];
    const std::size_t bytes = static_cast<std::size_t>(r.count) * bytes_of(r.type);
    if (r.kind == Kind::send) {
      const auto* in = static_cast<const std::byte*>(r.in);
      given_[i].assign(in, in + bytes);
      inputs_.push_back({const_cast<std::byte*>(in), bytes});
      post_send(given_[i].data(), bytes, r.other);
    } else {
      outputs_.push_back({static_cast<std::byte*>(r.out), bytes});
      post_receive(arrived_[i], bytes, r.other);
    }
  }
}

/// Until the end outputs are NaN, and inputs stay as they are.
void Launch::guard() {
  for (const Span& out : outputs_)
    if (out.bytes > 0) std::memset(out.data, 0xFF, out.bytes);
  for (const auto* spans : {&inputs_, &outputs_})
    for (const Span& span : *spans) guarded_.emplace_back(span.data, span.data + span.bytes);
}

void Launch::check_guarded() const {
  std::size_t i = 0;
  for (const auto* spans : {&inputs_, &outputs_})
    for (const Span& span : *spans)
      if (!std::equal(span.data, span.data + span.bytes, guarded_[i++].begin()))
        fault("NCCL: rank " + std::to_string(world_rank()) + ": memory of " + name() + " was written while it ran");
}

void Launch::finish() {
  check_guarded();
  const Kind kind = requests_.front().kind;
  if (kind != Kind::send && kind != Kind::receive) return finish_collective();
  for (std::size_t i = 0; i < requests_.size(); ++i)
    if (requests_[i].kind == Kind::receive)
      std::copy(arrived_[i].begin(), arrived_[i].end(), static_cast<std::byte*>(requests_[i].out));
}

void Launch::finish_collective() {
  const Request& r = requests_.front();
  auto* out = static_cast<std::byte*>(r.out);
  if (r.kind == Kind::all_reduce || r.kind == Kind::reduce_scatter) return reduce();
  for (const Bytes& part : arrived_) out = std::copy(part.begin(), part.end(), out);  // of a broadcast: the root's alone
}

void Launch::reduce() {
  const Request& r = requests_.front();
  auto* out = static_cast<std::byte*>(r.out);
  const bool sum = r.other == ncclSum;
  switch (r.type) {
    case ncclInt32:
      return reduce_as<Plain<std::int32_t>>(out, r.count, arrived_, sum);
    case ncclInt64:
      return reduce_as<Plain<std::int64_t>>(out, r.count, arrived_, sum);
    case ncclFloat32:
      return reduce_as<Plain<float>>(out, r.count, arrived_, sum);
    case ncclFloat64:
      return reduce_as<Plain<double>>(out, r.count, arrived_, sum);
    case ncclFloat16:
      return reduce_as<Half<fp16_to_float, float_to_fp16>>(out, r.count, arrived_, sum);
    case ncclBfloat16:
      return reduce_as<Half<bf16_to_float, float_to_bf16>>(out, r.count, arrived_, sum);
  }
}

bool Launch::all_sent() {
  int done = 0;
  test_all(sends_, done);
  return done != 0;
}

void Launch::cancel() {
  for (MPI_Request& receive : receives_) {
    if (receive == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
  }
}

}  // namespace trireme::simt::nccl
