#include "sinkscope/forward/reference.h"

#include <ATen/ATen.h>

#include <cmath>

#include "sinkscope/forward/pattern.h"
#include "sinkscope/forward/tap.h"

namespace sinkscope::forward {
namespace {

using model::ModelSpec;

at::Tensor norm(const ModelSpec& spec, const model::NormWeights& weights, const at::Tensor& x) {
  const at::Tensor gain = weights.gain.to(x.scalar_type());
  if (spec.norm == model::Norm::kRms) {
    return x * at::rsqrt(x.square().mean(-1, true) + spec.norm_epsilon) * gain;
  }
  const at::Tensor centred = x - x.mean(-1, true);
  return centred * at::rsqrt(centred.square().mean(-1, true) + spec.norm_epsilon) * gain +
         weights.bias.to(x.scalar_type());
}

at::Tensor linear(const model::Linear& weights, const at::Tensor& x) {
  const at::Tensor y = at::matmul(x, weights.weight.to(x.scalar_type()).t());
  return weights.bias.defined() ? y + weights.bias.to(x.scalar_type()) : y;
}

/// x [T, heads, K]: channel i turns with channel i + width/2 by position x frequency.
at::Tensor rotated(const ModelSpec& spec, const at::Tensor& x) {
  if (spec.positions != model::Positions::kRotary) return x;
  const int64_t half = spec.rope.width / 2;
  const at::Tensor frequency =
      at::from_blob(const_cast<double*>(spec.rope.inverse_frequency.data()), {half}, at::kDouble);
  const at::Tensor angle =
      at::outer(at::arange(x.size(0), at::kDouble), frequency).unsqueeze(1);  // [T, 1, half]
  const at::Tensor cos = (angle.cos() * spec.rope.magnitude).to(x.scalar_type());
  const at::Tensor sin = (angle.sin() * spec.rope.magnitude).to(x.scalar_type());
  const at::Tensor a = x.narrow(-1, 0, half), b = x.narrow(-1, half, half);
  const at::Tensor rest = x.narrow(-1, spec.rope.width, x.size(-1) - spec.rope.width);
  return at::cat({a * cos - b * sin, b * cos + a * sin, rest}, -1);
}

at::Tensor mlp(const ModelSpec& spec, const model::BlockWeights& block, const at::Tensor& x) {
  const at::Tensor up = linear(block.up, x);
  at::Tensor hidden;
  if (spec.gated_mlp) {
    hidden =
        at::silu(up.narrow(-1, 0, spec.mlp_width)) * up.narrow(-1, spec.mlp_width, spec.mlp_width);
  } else if (spec.activation == model::Activation::kRelu) {
    hidden = at::relu(up);
  } else {
    hidden = at::gelu(up, spec.activation == model::Activation::kGeluTanh ? "tanh" : "none");
  }
  return linear(block.down, hidden);
}

}  // namespace

Taps run_reference(const model::Model& model, std::span<const int32_t> ids, at::ScalarType type) {
  const at::NoGradGuard no_grad;
  const ModelSpec& spec = model.spec();
  const auto tokens = static_cast<int64_t>(ids.size());
  Visibility visibility;
  visibility.causal = spec.causal;
  Taps taps;
  at::Tensor x = model.weights().rows("embed", ids).to(type);
  if (spec.positions == model::Positions::kLearned) {
    std::vector<int32_t> positions(ids.size());
    for (size_t p = 0; p < positions.size(); ++p) positions[p] = static_cast<int32_t>(p);
    x = x + model.weights().rows("positions", positions).to(type);
  }
  taps[tap_name(Tap::kEmbed, 0)] = x;
  for (int layer = 0; layer < static_cast<int>(spec.layers); ++layer) {
    const auto keep = [&](Tap tap, const at::Tensor& tensor) {
      taps[tap_name(tap, layer)] = tensor;
    };
    model::BlockWeights block;
    model.weights().load_block(layer, at::kFloat, block);
    keep(Tap::kResidPre, x);
    const at::Tensor z_in = norm(spec, block.norm1, x);
    keep(Tap::kNorm1, z_in);
    const at::Tensor qkv = linear(block.qkv, z_in).view({tokens, -1, spec.head_width});
    const at::Tensor q = qkv.narrow(1, 0, spec.heads), k = qkv.narrow(1, spec.heads, spec.kv_heads),
                     v = qkv.narrow(1, spec.heads + spec.kv_heads, spec.kv_heads);
    const at::Tensor rot_q = rotated(spec, q), rot_k = rotated(spec, k);
    keep(Tap::kQ, q), keep(Tap::kK, k), keep(Tap::kV, v), keep(Tap::kRotQ, rot_q),
        keep(Tap::kRotK, rot_k);
    const at::Tensor pattern =
        pattern_rows(rot_q, rot_k, spec.score_scale, visibility, 0, tokens);  // [H, T, T]
    keep(Tap::kPattern, pattern);
    const at::Tensor values =
        v.repeat_interleave(spec.heads / spec.kv_heads, 1).transpose(0, 1);  // [H, T, K]
    const at::Tensor z = at::matmul(pattern, values).transpose(0, 1);
    keep(Tap::kZ, z);
    const at::Tensor attn_out = linear(block.o, z.reshape({tokens, -1}));
    keep(Tap::kAttnOut, attn_out);
    x = x + attn_out;
    keep(Tap::kResidMid, x);
    const at::Tensor mlp_out = mlp(spec, block, norm(spec, block.norm2, x));
    keep(Tap::kMlpOut, mlp_out);
    x = x + mlp_out;
    keep(Tap::kResidPost, x);
  }
  const at::Tensor normed = norm(spec, model.weights().load_final_norm(), x);
  taps[tap_name(Tap::kFinalNorm, 0)] = normed;
  taps[tap_name(Tap::kLogits, 0)] = linear(model.weights().load_head(at::kFloat), normed);
  return taps;
}

}  // namespace sinkscope::forward
