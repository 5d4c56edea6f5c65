#include "view/pieces.h"

#include <algorithm>
#include <map>
#include <utility>

namespace trireme::view {
namespace {

/// What begins in one cell, a piece a look, their places not yet settled.
using Cell = std::vector<Piece>;

bool look_alike(const Box& a, const Box& b) { return a.tint == b.tint && a.light == b.light; }

void pool(Cell& cell, const Piece& piece) {
  const auto found =
      std::find_if(cell.begin(), cell.end(), [&](const Piece& other) { return look_alike(*other.box, *piece.box); });
  if (found == cell.end()) return cell.push_back(piece);
  found->end += piece.end - piece.begin;
  found->pooled = true;
}

void settle(const Cell& cell, double least, std::vector<Piece>& pieces) {
  double begin = cell.front().begin;
  for (const Piece& piece : cell) {
    const double end = begin + std::max(piece.end - piece.begin, least);
    pieces.push_back({begin, end, piece.box, piece.pooled});
    begin = end;
  }
}

}  // namespace

std::vector<Piece> pieces_of(const Lane& lane, const Grain& grain) {
  std::vector<Piece> pieces;
  std::map<std::pair<bool, long>, Cell> cells;  // by whether they are strips, and number
  for (const Box& box : lane.boxes) {
    const double begin = std::max(box.begin, grain.window.begin), end = std::min(box.end, grain.window.end);
    if (begin > end) continue;
    const auto pixel = [&](double time) { return (time - grain.window.begin) * grain.scale; };
    const Piece piece{pixel(begin), pixel(end), &box, false};
    if (piece.end - piece.begin >= grain.pixels)
      pieces.push_back(piece);
    else
      pool(cells[{box.inside, static_cast<long>(piece.begin / grain.pixels)}], piece);
  }
  for (const auto& [place, cell] : cells) settle(cell, grain.least, pieces);
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return std::pair(a.box->inside, a.begin) < std::pair(b.box->inside, b.begin);
  });
  return pieces;
}

}  // namespace trireme::view
