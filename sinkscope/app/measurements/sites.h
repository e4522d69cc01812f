#pragma once

#include <optional>

#include "sinkscope/forward/tap.h"
#include "sinkscope/stats/site.h"

namespace sinkscope::app {

/// The site that a tap offers. The residual after a block lies in LayerState.
inline std::optional<stats::Site> site_of(forward::Tap tap) {
  switch (tap) {
    case forward::Tap::kAttnOut: return stats::Site::kAttnOut;
    case forward::Tap::kResidMid: return stats::Site::kResidMid;
    case forward::Tap::kMlpOut: return stats::Site::kMlpOut;
    default: return std::nullopt;
  }
}

}  // namespace sinkscope::app
