#include "sinkscope/forward/tap.h"

#include <charconv>

namespace sinkscope::forward {
namespace {

// clang-format off
constexpr TapInfo kTaps[] = {
    {Tap::kEmbed, "hook_embed", "embed", "[T, D]", false},
    {Tap::kResidPre, "blocks.{}.hook_resid_pre", "resid_pre", "[T, D]", true},
    {Tap::kNorm1, "blocks.{}.ln1.hook_normalized", "norm1", "[T, D]", true},
    {Tap::kQ, "blocks.{}.attn.hook_q", "q", "[T, H, K]", true},
    {Tap::kK, "blocks.{}.attn.hook_k", "k", "[T, G, K]", true},
    {Tap::kV, "blocks.{}.attn.hook_v", "v", "[T, G, K]", true},
    {Tap::kRotQ, "blocks.{}.attn.hook_rot_q", "rot_q", "[T, H, K]", true},
    {Tap::kRotK, "blocks.{}.attn.hook_rot_k", "rot_k", "[T, G, K]", true},
    {Tap::kPattern, "blocks.{}.attn.hook_pattern", "pattern", "[H, T, T]", true},
    {Tap::kZ, "blocks.{}.attn.hook_z", "z", "[T, H, K]", true},
    {Tap::kGate, "blocks.{}.attn.hook_gate", "gate", "[T, H, K]", true},
    {Tap::kAttnOut, "blocks.{}.hook_attn_out", "attn_out", "[T, D]", true},
    {Tap::kResidMid, "blocks.{}.hook_resid_mid", "resid_mid", "[T, D]", true},
    {Tap::kMlpOut, "blocks.{}.hook_mlp_out", "mlp_out", "[T, D]", true},
    {Tap::kResidPost, "blocks.{}.hook_resid_post", "resid_post", "[T, D]", true},
    {Tap::kFinalNorm, "ln_final.hook_normalized", "final_norm", "[T, D]", false},
    {Tap::kPooled, "pooled", "pooled", "[1, D]", false},
    {Tap::kLogits, "logits", "logits", "[T, V] or [1, classes]", false},
};
// clang-format on

}  // namespace

std::span<const TapInfo> all_taps() { return kTaps; }

const TapInfo& tap_info(Tap tap) { return kTaps[static_cast<size_t>(tap)]; }

std::string tap_name(Tap tap, int layer) {
  std::string name(tap_info(tap).name);
  if (const size_t place = name.find("{}"); place != std::string::npos) {
    name.replace(place, 2, std::to_string(layer));
  }
  return name;
}

std::optional<TapPlace> parse_tap(std::string_view name) {
  for (const TapInfo& info : kTaps) {
    if (!info.per_layer) {
      if (name == info.name || name == info.short_name) return TapPlace{info.tap, 0};
      continue;
    }
    // Either "blocks.3.hook_resid_pre" or the short form "resid_pre-3".
    const size_t hole = info.name.find("{}");
    std::string_view digits;
    if (name.starts_with(info.name.substr(0, hole)) && name.ends_with(info.name.substr(hole + 2))) {
      digits = name.substr(hole, name.size() - (info.name.size() - 2));
    } else if (name.starts_with(info.short_name) &&
               name.substr(info.short_name.size()).starts_with("-")) {
      digits = name.substr(info.short_name.size() + 1);
    }
    int layer = -1;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), layer);
    if (!digits.empty() && parsed.ec == std::errc() &&
        parsed.ptr == digits.data() + digits.size() && layer >= 0) {
      return TapPlace{info.tap, layer};
    }
  }
  return std::nullopt;
}

}  // namespace sinkscope::forward
