// What the bench of kernels is told, and the shapes that follow.
#pragma once

#include <map>
#include <string>

#include "kernels/kernels.h"

namespace trireme::bench {

struct Settings {
  std::map<std::string, std::int64_t> values = {{"layers", 6},  {"hidden", 384},     {"heads", 6},   {"sequence", 256},
                                                {"batch", 4},   {"vocabulary", 256}, {"dropout", 0}, {"width", 4},
                                                {"threads", 1}, {"repeats", 15}};
  std::int64_t operator[](const char* key) const { return values.at(key); }
};

inline kernels::LinearShape qkv_of(std::int64_t n, std::int64_t h) { return {n, h, 3 * h}; }
inline kernels::LinearShape projection_of(std::int64_t n, std::int64_t h) { return {n, h, h}; }
inline kernels::LinearShape first_of(std::int64_t n, std::int64_t h) { return {n, h, 4 * h}; }
inline kernels::LinearShape second_of(std::int64_t n, std::int64_t h) { return {n, 4 * h, h}; }
inline kernels::Rows rows_of(const Settings& s) { return {s["sequence"], s["batch"]}; }
inline kernels::AttentionShape attention_of(const Settings& s) { return {rows_of(s), s["heads"], s["hidden"] / s["heads"], 0}; }
inline kernels::VocabularyRange range_of(const Settings& s) { return {0, s["vocabulary"], (s["vocabulary"] + 127) / 128 * 128}; }
inline std::int64_t parameters_of(const Settings& s) {
  const std::int64_t h = s["hidden"];
  return s["layers"] * (12 * h + 13) * h + (range_of(s).rows + s["sequence"] + 2) * h;
}

}  // namespace trireme::bench
