// Quantities as people write and read them. Every parse_* takes the whole text or refuses it (base::Error, bad_input).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trireme::base {

/// A whole number, exactly: "20", "-3", "1_000_000", "1e6", "1.5e3"; "1.5" is refused, so is what 64 bits do not hold.
std::int64_t parse_count(std::string_view text);

/// A finite real number.
double parse_real(std::string_view text);

/// Seconds: "90", "0.5", "90s", "30m", "4h", and what Slurm's squeue prints: "1:59" (minutes and seconds), "04:00:00",
/// "1-12:00:00", "1-12:00", "1-12", and 0 for "UNLIMITED", "NOT_SET" and "INVALID". A plain number is of seconds, where Slurm's
/// options mean minutes.
double parse_duration(std::string_view text);

/// The shortest text that reads back as the same double.
std::string real_text(double value);
/// "61.2 GiB"
std::string bytes_text(double bytes);
/// "0:33:41", hours unbounded; rounded to whole seconds.
std::string time_text(double seconds);
/// Three digits and the decimal prefix, to be followed by a unit: "1.27 M" + "tok/s".
std::string rate_text(double value);

}  // namespace trireme::base
