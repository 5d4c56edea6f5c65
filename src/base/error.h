// The errors a command ends with, and the exit statuses of the program.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace trireme::base {

enum class Exit : int {
  done = 0,
  failure = 1,
  bad_input = 2,     // the user's mistake; nothing was changed
  mismatch = 3,      // a comparison or verification failed
  not_finite = 4,    // numbers became infinite or not a number
  unresponsive = 5,  // a rank stopped answering
  saved = 85,        // saved, and wants another turn
};

/// Ends a command with `status`. The message may hold several lines and says all there is to say: one rank prints it.
class Error : public std::runtime_error {
 public:
  Error(Exit status, const std::string& message) : std::runtime_error(message), status_(status) {}
  Exit status() const { return status_; }

 private:
  Exit status_;
};

template <class... T>
[[noreturn]] void fail(fmt::format_string<T...> format, T&&... values) {
  throw Error(Exit::failure, fmt::format(format, std::forward<T>(values)...));
}

template <class... T>
[[noreturn]] void refuse(fmt::format_string<T...> format, T&&... values) {
  throw Error(Exit::bad_input, fmt::format(format, std::forward<T>(values)...));
}

}  // namespace trireme::base
