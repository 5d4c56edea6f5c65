// Of the boxes of a lane, what is drawn: never more pieces than a picture has room for.
#pragma once

#include <vector>

#include "view/timeline.h"

namespace trireme::view {

struct Piece {
  double begin, end;  // pixels from the window's begin
  const Box* box;     // whose look it has
  bool pooled;        // stands for several boxes of that look
};

/// How boxes become pixels.
struct Grain {
  Window window;       // what lies outside is cut off
  double scale;        // pixels a unit of time
  double pixels = 2;   // boxes narrower than this are pooled in cells of this width
  double least = 0.4;  // pixels, so that what takes no time is seen
};

/// Wide boxes as they are. Narrow ones are pooled: of those that begin in one cell, a piece a look, side by side, as wide as they
/// are together. So no kind vanishes, and shares of the time stay what they are. In the order of their begins, strips last.
std::vector<Piece> pieces_of(const Lane& lane, const Grain& grain);

}  // namespace trireme::view
