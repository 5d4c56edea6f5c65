#include "base/progress.h"

#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/units.h"

namespace trireme::base {

Progress::Progress(std::string what, std::int64_t total, double begin, double period)
    : what_(std::move(what)), total_(total), begin_(begin), period_(period), next_(begin + period) {}

std::string Progress::line(std::int64_t done, double now) {
  if (now < next_ || done <= 0) return {};
  while (next_ <= now) next_ += period_;
  const double rate = static_cast<double>(done) / (now - begin_), left = static_cast<double>(total_ - done) / rate;
  return fmt::format("{}: {} of {}, {}/s, {} left\n", what_, bytes_text(static_cast<double>(done)),
                     bytes_text(static_cast<double>(total_)), bytes_text(rate), time_text(left));
}

ShownProgress::ShownProgress(std::string what, std::int64_t total) : progress_(std::move(what), total, now()) {}

void ShownProgress::add(std::int64_t bytes) {
  done_ += bytes;
  if (const std::string line = progress_.line(done_, now()); !line.empty()) fmt::print(stderr, "{}", line);
}

}  // namespace trireme::base
