#include "grid/topology.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "grid/cores.h"

namespace trireme::grid {
namespace {

constexpr std::size_t most_rank_lines = 64;
using Cells = std::array<std::string, 11>;
const Cells columns = {"rank",   "host",   "node", "node_rank", "node_size", "cores",
                       "device", "tensor", "data", "pipeline",  "process"};

std::string tab_separated(const Cells& cells) {
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : "\t") + cell;
  return line;
}

Cells cells_of(const Place& p) {
  const auto text = [](int value) { return std::to_string(value); };
  return {text(p.rank),      p.host,          text(p.node),        text(p.node_rank), text(p.node_size), p.cores, p.device,
          text(p.at.tensor), text(p.at.data), text(p.at.pipeline), text(p.process)};
}

Place place_of(const std::string& line) {
  std::istringstream stream(line);
  Cells c;
  for (std::string& cell : c) std::getline(stream, cell, '\t');
  return {std::stoi(c[0]),
          c[1],
          std::stoi(c[2]),
          std::stoi(c[3]),
          std::stoi(c[4]),
          c[5],
          c[6],
          {std::stoi(c[7]), std::stoi(c[8]), std::stoi(c[9])},
          std::stoi(c[10])};
}

/// Left-aligned columns, two spaces apart.
std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> width(lines.front().size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], line[i].size());
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) row += line[i] + std::string(width[i] + 2 - line[i].size(), ' ');
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string node_table(const std::vector<Place>& places) {
  std::map<int, std::vector<Place>> nodes;
  for (const Place& place : places) nodes[place.node].push_back(place);
  std::vector<std::vector<std::string>> lines = {{"host", "ranks", "device", "tensor", "data", "pipeline"}};
  for (const auto& [node, members] : nodes) {
    const auto values = [&members](auto member) {
      std::vector<int> all;
      for (const Place& place : members) all.push_back(member(place));
      std::sort(all.begin(), all.end());
      all.erase(std::unique(all.begin(), all.end()), all.end());
      return compact(all);
    };
    lines.push_back({members[0].host, values([](const Place& p) { return p.rank; }), members[0].device,
                     values([](const Place& p) { return p.at.tensor; }), values([](const Place& p) { return p.at.data; }),
                     values([](const Place& p) { return p.at.pipeline; })});
  }
  return aligned(lines);
}

/// Ranks of each group that varies along one axis: `along` sets that coordinate to zero.
template <class Along>
std::vector<std::vector<Place>> groups(const std::vector<Place>& places, const Shape& shape, Along along) {
  std::map<int, std::vector<Place>> by_first;
  for (const Place& place : places) {
    Coordinates first = place.at;
    along(first) = 0;
    by_first[rank_of(shape, first)].push_back(place);
  }
  std::vector<std::vector<Place>> result;
  for (auto& [first, members] : by_first) result.push_back(std::move(members));
  return result;
}

bool inside_a_node(const std::vector<Place>& group) {
  return std::all_of(group.begin(), group.end(), [&](const Place& place) { return place.node == group.front().node; });
}

int& tensor_of(Coordinates& at) { return at.tensor; }
int& data_of(Coordinates& at) { return at.data; }
int& pipeline_of(Coordinates& at) { return at.pipeline; }

}  // namespace

std::vector<Place> gather_places(World& world, const Shape& shape, const std::string& device) {
  const Place mine = {world.rank(),
                      world.host(),
                      world.node(),
                      world.node_rank(),
                      world.node_size(),
                      compact(allowed_cores()),
                      device,
                      coordinates_of(shape, world.rank()),
                      getpid()};
  std::vector<Place> places;
  for (const std::string& line : world.everyone().gather(tab_separated(cells_of(mine)))) places.push_back(place_of(line));
  return places;
}

std::string topology_tsv(const std::vector<Place>& places) {
  std::string text = tab_separated(columns) + "\n";
  for (const Place& place : places) text += tab_separated(cells_of(place)) + "\n";
  return text;
}

std::string topology_table(const std::vector<Place>& places) {
  if (places.size() > most_rank_lines) return node_table(places);
  std::vector<std::vector<std::string>> lines = {{"rank", "host", "local", "cores", "device", "tensor", "data", "pipeline"}};
  for (const Place& p : places)
    lines.push_back({std::to_string(p.rank), p.host, fmt::format("{}/{}", p.node_rank, p.node_size), p.cores, p.device,
                     std::to_string(p.at.tensor), std::to_string(p.at.data), std::to_string(p.at.pipeline)});
  return aligned(lines);
}

std::string group_report(const std::vector<Place>& places, const Shape& shape) {
  std::string text;
  const auto add = [&](const char* name, int size, auto along) {
    if (size == 1) return;
    const auto all = groups(places, shape, along);
    text +=
        fmt::format("{} groups inside a node: {}/{}\n", name, std::count_if(all.begin(), all.end(), inside_a_node), all.size());
  };
  add("tensor", shape.tensor, tensor_of);
  add("data", shape.data, data_of);
  add("pipeline", shape.pipeline, pipeline_of);
  return text;
}

void refuse_split_tensor_groups(const std::vector<Place>& places, const Shape& shape) {
  for (const auto& group : groups(places, shape, tensor_of))
    if (!inside_a_node(group))
      base::refuse(
          "placement.strict = true: tensor group of ranks {} .. {} spans nodes ({} and {}); use a parallel.tensor that divides "
          "the ranks of a node, and place ranks in blocks (srun --distribution=block)",
          group.front().rank, group.back().rank, group.front().host, group.back().host);
}

}  // namespace trireme::grid
