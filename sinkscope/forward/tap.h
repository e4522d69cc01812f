#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sinkscope::forward {

/// The named places of a forward pass. Letters: T positions, H query heads, G key/value heads,
/// D model width, K head width. One table (tap.cpp) holds names and shapes; docs and tests read it.
enum class Tap : uint8_t {
  kEmbed,      ///< [T, D] embedding after positions and scale; what enters block 0
  kResidPre,   ///< [T, D]
  kNorm1,      ///< [T, D] z: the first norm's output, gain included; what q, k, v read
  kQ,          ///< [T, H, K] before rotary
  kK,          ///< [T, G, K] before rotary, after a gate on keys
  kV,          ///< [T, G, K] after a gate on values
  kRotQ,       ///< [T, H, K] after rotary
  kRotK,       ///< [T, G, K]
  kPattern,    ///< [H, T, T] final weights, delivered as row blocks or row summaries, never whole
  kZ,          ///< [T, H, K] pattern times values, before a gate
  kGate,       ///< [T, H, K] the factor on z, only where the family has one
  kAttnOut,    ///< [T, D] what attention and the global pathway add to the residual
  kResidMid,   ///< [T, D] only where two branches follow each other
  kMlpOut,     ///< [T, D] what the MLP adds to the residual, where blocks have one
  kResidPost,  ///< [T, D]
  kFinalNorm,  ///< [T, D] of models without a final norm the last residual
  kPooled,     ///< [1, D] of encoders that have one
  kLogits,     ///< [T, V], or [1, classes] of a classifier
};

struct TapInfo {
  Tap tap;
  std::string_view name;  ///< TransformerLens name, "blocks.{}.hook_resid_pre"
  std::string_view short_name;
  std::string_view shape;
  bool per_layer;
};

std::span<const TapInfo> all_taps();
const TapInfo& tap_info(Tap tap);
/// "blocks.3.attn.hook_q"; `layer` is ignored for taps outside blocks.
std::string tap_name(Tap tap, int layer);

struct TapPlace {
  Tap tap;
  int layer;  ///< 0 for taps outside blocks
};
/// Reads a full TransformerLens name or "resid_post-3"/"blocks.3.hook_..." form; nullopt: unknown.
std::optional<TapPlace> parse_tap(std::string_view name);

}  // namespace sinkscope::forward
