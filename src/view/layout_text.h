// The model and its layout in words, as `trireme check` and the start of a run print them.
#pragma once

#include <string>

#include "config/config.h"
#include "layout/layout.h"

namespace trireme::view {

/// The model, `parameters N`, the layout and its stage map.
std::string layout_text(const config::Config& config, const layout::Layout& layout);

/// The FLOPs of a step by both conventions, named.
std::string flops_line(const config::Config& config);

}  // namespace trireme::view
