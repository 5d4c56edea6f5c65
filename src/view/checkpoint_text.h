// A checkpoint in words: what it is, what it holds, which of its files are as they were written.
#pragma once

#include <cstdint>
#include <string>

#include "store/manifest.h"

namespace trireme::view {

/// Step, samples, parameters, files.
std::string checkpoint_summary(const std::string& folder, const store::Manifest& manifest);

/// A line a tensor: its shape, and in how many slices it is stored.
std::string tensor_table(const store::Manifest& manifest);

/// The heading of the verdicts, and the line of one file.
std::string verdict_heading();
std::string verdict_line(const std::string& file, std::int64_t bytes, bool right);

}  // namespace trireme::view
