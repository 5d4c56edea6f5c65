#include "kernels/simt/nccl_words.h"

namespace trireme::simt::nccl {
namespace {

// A collective: communicator, kind, count, type, other. A group: communicator, kind, number of sends, (count, type) of each,
// number of receives, (count, type) of each.
constexpr std::size_t head = 2;

std::string type_name(std::int64_t type) {
  switch (static_cast<ncclDataType_t>(type)) {
    case ncclInt32:
      return "int32";
    case ncclInt64:
      return "int64";
    case ncclFloat16:
      return "float16";
    case ncclFloat32:
      return "float32";
    case ncclFloat64:
      return "float64";
    case ncclBfloat16:
      return "bfloat16";
  }
  return "type " + std::to_string(type);
}

std::string transfers(const Words& words, std::size_t at, const char* verb) {
  std::string text;
  for (std::int64_t i = 0; i < words[at]; ++i) {
    const std::size_t entry = at + 1 + 2 * static_cast<std::size_t>(i);
    text +=
        (text.empty() ? "" : ", ") + std::string(verb) + " " + std::to_string(words[entry]) + " " + type_name(words[entry + 1]);
  }
  return text;
}

std::string collective(const Words& words) {
  const std::string span = " of " + std::to_string(words[2]) + " " + type_name(words[3]);
  const std::string op = words[4] == ncclSum ? " (sum)" : " (maximum)";
  switch (static_cast<Kind>(words[1])) {
    case Kind::all_reduce:
      return "all_reduce" + span + op;
    case Kind::reduce_scatter:
      return "reduce_scatter" + span + op;
    case Kind::all_gather:
      return "all_gather" + span;
    case Kind::broadcast:
      return "broadcast" + span + " from member " + std::to_string(words[4]);
    default:
      return "destroy";
  }
}

}  // namespace

std::size_t bytes_of(ncclDataType_t type) {
  if (type == ncclFloat16 || type == ncclBfloat16) return 2;
  return type == ncclInt64 || type == ncclFloat64 ? 8 : 4;
}

Words words_of(const ncclComm& comm, const std::vector<Request>& requests, int member) {
  const Request& first = requests.front();
  if (first.kind != Kind::send && first.kind != Kind::receive)
    return {comm.number, static_cast<std::int64_t>(first.kind), first.count, first.type, first.other};
  Words words = {comm.number, static_cast<std::int64_t>(Kind::group)};
  for (const Kind kind : {Kind::send, Kind::receive}) {
    const std::size_t at = words.size();
    words.push_back(0);
    for (const Request& r : requests) {
      if (r.kind != kind || r.other != member) continue;
      ++words[at];
      words.insert(words.end(), {r.count, r.type});
    }
  }
  return words;
}

Words mirrored(const Words& words) {
  if (static_cast<Kind>(words[1]) != Kind::group) return words;
  const auto receives = words.begin() + static_cast<std::ptrdiff_t>(head) + 1 + 2 * words[head];
  Words other(words.begin(), words.begin() + head);
  other.insert(other.end(), receives, words.end());
  other.insert(other.end(), words.begin() + head, receives);
  return other;
}

std::string described(const Words& words) {
  const std::string where = " on communicator " + std::to_string(words[0]);
  if (static_cast<Kind>(words[1]) != Kind::group) return collective(words) + where;
  const std::string sends = transfers(words, head, "send");
  const std::string receives = transfers(words, head + 1 + 2 * static_cast<std::size_t>(words[head]), "receive");
  return "a group (" + sends + (sends.empty() || receives.empty() ? "" : ", ") + receives + ")" + where;
}

}  // namespace trireme::simt::nccl
