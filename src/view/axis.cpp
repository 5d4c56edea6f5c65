#include "view/axis.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace trireme::view {
namespace {

constexpr double largest = 1e300;          // so that differences are finite
constexpr double closest_relative = 1e-9;  // of two ends
constexpr double lowest_power = -300;      // below it powers of ten have few digits
constexpr double part_of_a_power = 0.7;    // with fewer powers of ten on it an axis has round numbers

/// digit 10^power
std::string power_label(double digit, double power) {
  return std::abs(power) < 6 ? fmt::format("{:.6g}", digit * std::pow(10, power)) : fmt::format("{}e{}", digit, power);
}

}  // namespace

std::vector<double> round_ticks(double low, double high, int wanted, double closest) {
  if (!(high > low)) return {low};
  const double rough = (high - low) / std::max(wanted, 1), power = std::pow(10, std::floor(std::log10(rough)));
  const double digit = rough / power;
  const double step = std::max(closest, power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10));
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9), most = (high - low) / step + 1;
  for (double k = 0; k <= most && (first + k) * step <= high + 1e-9 * step; ++k)
    ticks.push_back((first + k) * step + 0.0);  // no -0
  return ticks;
}

std::string tick_label(double number, double step) {
  const double digits = number == 0 || step <= 0 ? 0 : std::ceil(std::log10(std::abs(number)) - std::log10(step)) + 2;
  return fmt::format("{:.{}g}", number, std::clamp(static_cast<int>(digits), 6, 17));
}

bool Axis::holds(double value) const {
  return std::abs(value) <= largest && (scale_ == Scale::linear || value > 0);  // false of NaN
}

double Axis::scaled(double value) const { return scale_ == Scale::logarithmic ? std::log10(value) : value; }

void Axis::add(double value) {
  low_ = std::min(low_, scaled(value));
  high_ = std::max(high_, scaled(value));
}

void Axis::settle(double low_room, double high_room) {
  const double range = high_ - low_, size = std::max(std::abs(low_), std::abs(high_));
  if (range == 0) {
    const double room = scale_ == Scale::logarithmic ? 0.5 : std::max(0.1 * size, 0.05);
    low_ -= room, high_ += room;
  } else {
    low_ -= low_room * range, high_ += high_room * range;
  }
  const double least = scale_ == Scale::linear ? std::max(size * closest_relative, 1e-300)
                       : low_ < lowest_power   ? 1
                                               : closest_relative;
  if (high_ - low_ >= least) return;
  const double middle = low_ + (high_ - low_) / 2;
  low_ = middle - least / 2, high_ = middle + least / 2;
}

std::vector<Tick> Axis::plain_ticks(double low, double high, int wanted, double closest) const {
  const std::vector<double> values = round_ticks(low, high, wanted, closest);
  const double step = values.size() > 1 ? values[1] - values[0] : 0;
  std::vector<Tick> ticks;
  for (const double value : values) ticks.push_back({value, share(value), tick_label(value, step)});
  return ticks;
}

std::vector<Tick> Axis::ticks(int wanted, double closest) const {
  if (scale_ == Scale::linear) return plain_ticks(low_, high_, wanted, closest);
  const double decades = high_ - low_;
  if (decades < part_of_a_power) return plain_ticks(std::pow(10, low_), std::pow(10, high_), wanted, closest);
  std::vector<Tick> ticks;
  const double apart = std::ceil(decades / 8);
  for (double power = std::floor(low_); power <= high_; power += apart)
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double at = std::log10(digit) + power;
      if ((digit == 1 || decades < 3) && at >= low_ && at <= high_)
        ticks.push_back({digit * std::pow(10, power), (at - low_) / decades, power_label(digit, power)});
    }
  return ticks;
}

}  // namespace trireme::view
