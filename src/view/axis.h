// One axis: which values lie on it, where, and the numbers beside it.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace trireme::view {

/// Round numbers (1, 2 or 5 times a power of ten apart, no closer than `closest`) from `low` to `high`, both inside,
/// about `wanted` of them.
std::vector<double> round_ticks(double low, double high, int wanted, double closest = 0);

/// A number with as many digits as tell it from the one `step` away.
std::string tick_label(double number, double step);

struct Tick {
  double value;
  double share;  // its place: 0 at the low end, 1 at the high one
  std::string label;
};

class Axis {
 public:
  enum class Scale { linear, logarithmic };
  explicit Axis(Scale scale) : scale_(scale) {}

  /// Whether `value` has a place: finite, not beyond 1e300, and above 0 where the scale is logarithmic.
  bool holds(double value) const;
  /// Makes the axis reach a value that it holds.
  void add(double value);
  /// After the last add: leaves so much of the length free at either end, and makes room where all values are one, or so close
  /// that doubles could not tell the ticks apart.
  void settle(double low_room, double high_room);

  double share(double value) const { return (scaled(value) - low_) / (high_ - low_); }

  /// Round numbers, about `wanted`, no closer than `closest`. Logarithmic: 1, 2 and 5 in each power of ten, or the powers alone
  /// where there are many, or round numbers where all lie in a part of one power.
  std::vector<Tick> ticks(int wanted, double closest = 0) const;

 private:
  double scaled(double value) const;
  std::vector<Tick> plain_ticks(double low, double high, int wanted, double closest) const;

  Scale scale_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -std::numeric_limits<double>::infinity();  // logarithms
};

}  // namespace trireme::view
