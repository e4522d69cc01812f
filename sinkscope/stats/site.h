#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace sinkscope::stats {

/// The places of a block where states are compared: what attention adds, the residual between the
/// branches (blocks that run both at once have none), what the MLP adds, the residual after.
enum class Site { kAttnOut, kResidMid, kMlpOut, kResidPost };

inline constexpr size_t kSites = 4;
inline constexpr std::array<std::string_view, kSites> kSiteNames = {"attn_out", "resid_mid",
                                                                    "mlp_out", "resid_post"};

}  // namespace sinkscope::stats
