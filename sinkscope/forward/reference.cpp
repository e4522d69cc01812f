#include "sinkscope/forward/reference.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <numbers>

#include "sinkscope/forward/pattern.h"
#include "sinkscope/forward/readout.h"
#include "sinkscope/forward/reference_image.h"
#include "sinkscope/forward/tap.h"

namespace sinkscope::forward {
namespace {

using model::Activation;
using model::BlockForm;
using model::ModelSpec;
using model::Positions;

/// One sequence on its way through the model.
class Reference {
 public:
  Reference(const model::Model& model, const Stream& stream, at::ScalarType type)
      : model_(model),
        spec_(model.spec()),
        stream_(stream),
        documents_(stream),
        tokens_(tokens_of(spec_, stream)),
        type_(type) {}

  Taps run() {
    at::Tensor x =
        norm(model_.weights().load_norm("embed_norm"),
             spec_.is_vision() ? reference::embed_image(model_, stream_, type_) : embed_rows());
    taps_[tap_name(Tap::kEmbed, 0)] = x;
    for (layer_ = 0; layer_ < static_cast<int>(spec_.layers); ++layer_) {
      model_.weights().load_block(layer_, at::kFloat, block_);
      x = keep(Tap::kResidPost, run_block(keep(Tap::kResidPre, x)));
    }
    read_out(x);
    return std::move(taps_);
  }

 private:
  const at::Tensor& keep(Tap tap, const at::Tensor& tensor) {
    return taps_[tap_name(tap, layer_)] = tensor;
  }

  at::Tensor cast(const at::Tensor& t) const { return t.to(type_); }

  at::Tensor norm(const model::NormWeights& weights, const at::Tensor& x) const {
    if (!weights.defined()) return x;
    const at::Tensor centred = spec_.norm == model::Norm::kRms ? x : x - x.mean(-1, true);
    const at::Tensor y = centred * at::rsqrt(centred.square().mean(-1, true) + spec_.norm_epsilon) *
                         cast(weights.gain);
    return weights.bias.defined() ? y + cast(weights.bias) : y;
  }

  at::Tensor linear(const model::Linear& weights, const at::Tensor& x) const {
    const at::Tensor y = at::matmul(x, cast(weights.weight).t());
    return weights.bias.defined() ? y + cast(weights.bias) : y;
  }

  at::Tensor embed_rows() const {
    const model::Weights& weights = model_.weights();
    at::Tensor x =
        (spec_.vectors ? cast(stream_.vectors) : cast(weights.rows("embed", stream_.ids))) *
        spec_.embed_scale;
    if (weights.has("embed_project")) {
      x = linear(weights.load_matrix("embed_project", at::kFloat), x);
    }
    if (spec_.positions != Positions::kFirstNorm) x = with_positions(x);
    if (spec_.token_types > 0) {
      std::vector<int32_t> types = stream_.token_types;
      types.resize(stream_.ids.size(), 0);
      x = x + cast(weights.rows("token_types", types));
    }
    return x;
  }

  /// x with its rows of the position table and, at the first token, the row that it has of its own.
  at::Tensor with_positions(at::Tensor x) const {
    if (spec_.positions == Positions::kLearned || spec_.positions == Positions::kFirstNorm) {
      const at::Tensor table = cast(model_.weights().load("positions"));
      x = x + table.index_select(0, positions() + spec_.position_offset);
    }
    if (!spec_.first_token) return x;
    const at::Tensor is_first = positions().eq(0).unsqueeze(1);
    return x + is_first * cast(model_.weights().load("first_token"));
  }

  at::Tensor positions() const { return at::tensor(positions_of(stream_, tokens_)).to(at::kLong); }

  /// Angles of the rotation [T, width / 2] in this block; undefined: none.
  at::Tensor angles() const {
    const int index = spec_.blocks[static_cast<size_t>(layer_)].rope;
    if (spec_.positions == Positions::kPatchRotary) {
      const PatchGrid grid = grid_of(spec_, stream_);
      const model::Rope& rope = spec_.ropes.front();
      const at::Tensor frequency = at::tensor(rope.inverse_frequency, at::kDouble);
      const auto along = [&](int64_t count) {
        return ((at::arange(count, at::kDouble) + 0.5) / count * 2 - 1) * (2 * std::numbers::pi);
      };
      const at::Tensor by_row =
          at::outer(along(grid.rows), frequency).repeat_interleave(grid.columns, 0);
      const at::Tensor by_column = at::outer(along(grid.columns), frequency).repeat({grid.rows, 1});
      return at::cat({at::zeros({spec_.vision.prefix(), rope.width / 2}, at::kDouble),
                      at::cat({by_row, by_column}, 1)});
    }
    if (spec_.positions != Positions::kRotary || index < 0) return {};
    const std::vector<double> frequency =
        model::rope_frequencies(spec_.ropes[static_cast<size_t>(index)], tokens_);
    return at::outer(positions().to(at::kDouble), at::tensor(frequency, at::kDouble));
  }

  at::Tensor rotated(const at::Tensor& x) const {  // [T, heads, K]
    at::Tensor angle = angles();
    if (!angle.defined()) return x;
    const model::Rope& rope =
        spec_.ropes[static_cast<size_t>(spec_.blocks[static_cast<size_t>(layer_)].rope)];
    angle = angle.unsqueeze(1);
    const at::Tensor cos = cast(angle.cos() * rope.magnitude),
                     sin = cast(angle.sin() * rope.magnitude);
    const int64_t half = rope.width / 2;
    const at::Tensor turning = x.narrow(-1, 0, rope.width), rest = x.slice(-1, rope.width);
    const at::Tensor a = rope.interleaved ? turning.slice(-1, 0, rope.width, 2)
                                          : turning.narrow(-1, 0, half),
                     b = rope.interleaved ? turning.slice(-1, 1, rope.width, 2)
                                          : turning.narrow(-1, half, half);
    const at::Tensor turned_a = a * cos - b * sin, turned_b = b * cos + a * sin;
    const at::Tensor turned = rope.interleaved ? at::stack({turned_a, turned_b}, -1).flatten(-2)
                                               : at::cat({turned_a, turned_b}, -1);
    return at::cat({turned, rest}, -1);
  }

  at::Tensor norm_heads(const model::NormWeights& weights, const at::Tensor& x) const {
    if (!weights.defined()) return x;
    if (spec_.qk_norm == model::QkNorm::kFull) return norm(weights, x.flatten(1)).view_as(x);
    if (spec_.qk_norm == model::QkNorm::kHead) return norm(weights, x);
    const auto per_head = [&](const at::Tensor& t) {
      return t.defined() ? t.view({x.size(1), x.size(2)}) : t;
    };
    return norm({per_head(weights.gain), per_head(weights.bias)}, x);
  }

  ScoreRule score_rule() const {
    ScoreRule rule{spec_.score_scale, spec_.score_softcap, {}, {}, block_.sinks, spec_.scores};
    if (block_.extra_key.defined()) rule.extra_key = block_.extra_key.view({spec_.kv_heads, -1});
    if (spec_.positions == Positions::kAlibi) {
      const at::Tensor slopes = at::tensor(model::alibi_slopes(spec_.heads));
      if (spec_.alibi_rounded) {
        const at::Tensor keys = positions().to(at::kBFloat16);
        rule.bias = cast(slopes.to(at::kBFloat16).view({-1, 1, 1}) * keys) * spec_.score_scale;
      } else {
        rule.slopes = slopes;
      }
    }
    if (spec_.relative_bias || spec_.shared_relative_bias)
      rule.bias = reference::relative_bias(model_, stream_, layer_, type_);
    return rule;
  }

  /// x [T, heads, K] times sigmoid(W in + b), one factor per head or per channel.
  at::Tensor gated(const model::Linear& gate, const at::Tensor& in, const at::Tensor& x) const {
    if (!gate.weight.defined()) return x;
    return x * linear(gate, in).sigmoid().view({tokens_, x.size(1), -1});
  }

  /// The extra key's share times its value, [T, H, K]; `share` [H, T, 1].
  at::Tensor extra_part(const at::Tensor& share) const {
    const at::Tensor value = cast(block_.extra_value).view({spec_.kv_heads, 1, -1});
    return (share * value.repeat_interleave(spec_.heads / spec_.kv_heads, 0)).transpose(0, 1);
  }

  /// Row i of `shares`: the pathway's weights over the tokens of i's document.
  at::Tensor pathway(const at::Tensor& in) const {
    at::Tensor shares = linear(block_.path_select, in).t().exp().expand({tokens_, tokens_});
    if (!documents_.first.empty()) {
      const at::Tensor document = at::tensor(documents_.first);
      shares = shares * document.unsqueeze(1).eq(document.unsqueeze(0));
    }
    shares = shares / shares.sum(-1, true);
    const at::Tensor message = at::matmul(shares, linear(block_.path_value, in));
    return linear(block_.path_gate, in).sigmoid() * linear(block_.path_out, message);
  }

  /// Force-sink: the first token keeps the first channels, the others the rest.
  at::Tensor split(const at::Tensor& x) const {
    if (spec_.split_channels == 0) return x;
    const at::Tensor low = at::arange(spec_.width).lt(spec_.split_channels);
    const at::Tensor is_first = at::arange(tokens_).eq(0).unsqueeze(1);
    return x * is_first.eq(low.unsqueeze(0));
  }

  at::Tensor attention(const at::Tensor& in) {
    const auto heads = [&](const at::Tensor& t) { return t.view({tokens_, -1, spec_.head_width}); };
    at::Tensor projected = linear(block_.qkv, in);
    if (spec_.qkv_clip > 0) projected = projected.clamp(-spec_.qkv_clip, spec_.qkv_clip);
    const int64_t queries = spec_.query_width(), keys = spec_.key_width();
    const at::Tensor q = keep(Tap::kQ, heads(projected.narrow(1, 0, queries).contiguous()));
    const at::Tensor k =
        keep(Tap::kK,
             gated(block_.key_gate, in, heads(projected.narrow(1, queries, keys).contiguous())));
    const at::Tensor v =
        keep(Tap::kV, gated(block_.value_gate, in,
                            heads(projected.narrow(1, queries + keys, keys).contiguous())));
    const at::Tensor rot_q = keep(Tap::kRotQ, rotated(norm_heads(block_.q_norm, q)));
    const at::Tensor rot_k = keep(Tap::kRotK, rotated(norm_heads(block_.k_norm, k)));
    at::Tensor extra_share;
    const at::Tensor pattern =
        keep(Tap::kPattern,
             pattern_rows(rot_q, rot_k, score_rule(), visibility_of(spec_, layer_, documents_), 0,
                          tokens_, &extra_share));
    const at::Tensor values =
        v.repeat_interleave(spec_.heads / spec_.kv_heads, 1).transpose(0, 1);  // [H, T, K]
    at::Tensor z = at::matmul(pattern, values).transpose(0, 1);
    if (block_.extra_value.defined()) z = z + extra_part(extra_share);
    keep(Tap::kZ, z);
    if (spec_.attention_gate) {
      const at::Tensor gate =
          heads(projected.narrow(1, queries + 2 * keys, queries).contiguous()).sigmoid();
      z = z * keep(Tap::kGate, gate);
    }
    if (block_.output_gate.weight.defined()) {
      z = z * keep(Tap::kGate, gated(block_.output_gate, in, at::ones_like(z)));
    }
    at::Tensor out = norm(block_.attn_norm, linear(block_.o, z.reshape({tokens_, -1})));
    if (block_.attn_scale.defined()) out = out * cast(block_.attn_scale);
    out = out * spec_.residual_scale;
    return keep(Tap::kAttnOut, spec_.pathway > 0 ? out + pathway(in) : out);
  }

  at::Tensor activated(const at::Tensor& x) const {
    switch (spec_.activation) {
      case Activation::kSilu: return x * x.sigmoid();
      case Activation::kGelu: return x * (1 + (x / std::numbers::sqrt2).erf()) / 2;
      case Activation::kGeluTanh: return at::gelu(x, "tanh");
      case Activation::kQuickGelu: return x * (1.702 * x).sigmoid();
      case Activation::kRelu: return x.clamp_min(0);
      case Activation::kSquaredRelu: return x.clamp_min(0).square();
      case Activation::kTanh: return x.tanh();
      case Activation::kClampedSwiglu: break;
    }
    return x;
  }

  at::Tensor mlp(const model::Linear& up, const model::Linear& down, bool gated,
                 const at::Tensor& in) const {
    const at::Tensor inner = linear(up, in);
    if (!gated) return linear(down, activated(inner));
    const std::vector<at::Tensor> halves = inner.chunk(2, -1);
    if (spec_.activation == Activation::kClampedSwiglu) {
      const at::Tensor gate = halves[0].clamp_max(7);
      return linear(down, (halves[1].clamp(-7, 7) + 1) * gate * (1.702 * gate).sigmoid());
    }
    return linear(down, activated(halves[0]) * halves[1]);
  }

  /// Every expert on every token, weighted; most weights are 0.
  at::Tensor experts(const at::Tensor& in) const {
    const at::Tensor share = at::softmax(linear(block_.router, in), -1);
    const auto [best, index] = share.topk(spec_.experts.chosen, -1);
    at::Tensor kept = at::zeros_like(share).scatter(1, index, best);
    if (spec_.experts.normalise) kept = kept / kept.sum(-1, true);
    at::Tensor out = at::zeros_like(in);
    model::Linear up, down;
    for (int64_t e = 0; e < spec_.experts.count; ++e) {
      model_.weights().load_expert(layer_, e, at::kFloat, up, down);
      out = out + kept.narrow(1, e, 1) * mlp(up, down, true, in);
    }
    if (!block_.shared_up.weight.defined()) return out;
    at::Tensor shared = mlp(block_.shared_up, block_.shared_down, true, in);
    if (block_.shared_router.weight.defined()) {
      shared = shared * linear(block_.shared_router, in).sigmoid();
    }
    return out + shared;
  }

  at::Tensor mlp_branch(const at::Tensor& in) {
    const bool mixture = spec_.blocks[static_cast<size_t>(layer_)].experts;
    at::Tensor out = norm(block_.mlp_norm,
                          mixture ? experts(in) : mlp(block_.up, block_.down, spec_.gated_mlp, in));
    if (block_.mlp_scale.defined()) out = out * cast(block_.mlp_scale);
    return keep(Tap::kMlpOut, out * spec_.residual_scale);
  }

  at::Tensor run_block(const at::Tensor& x) {
    if (spec_.form == BlockForm::kPostNorm) {
      const at::Tensor mid =
          keep(Tap::kResidMid, norm(block_.norm1, x + attention(keep(Tap::kNorm1, x))));
      return norm(block_.norm2, mid + mlp_branch(mid));
    }
    const bool positions_here = layer_ == 0 && spec_.positions == Positions::kFirstNorm;
    const at::Tensor z =
        keep(Tap::kNorm1, norm(block_.norm1, split(positions_here ? with_positions(x) : x)));
    const at::Tensor attn_out = attention(z);
    if (!spec_.mlp) return x + attn_out;
    if (spec_.form == BlockForm::kParallel) {
      return x + attn_out + mlp_branch(block_.norm2.defined() ? norm(block_.norm2, split(x)) : z);
    }
    const at::Tensor mid = keep(Tap::kResidMid, x + attn_out);
    return mid + mlp_branch(norm(block_.norm2, split(mid)));
  }

  void read_out(at::Tensor x) {
    const model::Weights& weights = model_.weights();
    layer_ = 0;
    if (spec_.final_norm) x = norm(weights.load_norm("final_norm"), x);
    keep(Tap::kFinalNorm, x);
    const Readouts readouts(model_, type_);
    const at::Tensor pooled = readouts.pooled(x, stream_), classes = readouts.classes(x, pooled);
    if (pooled.defined()) keep(Tap::kPooled, pooled);
    if (classes.defined()) keep(Tap::kLogits, classes);
    if (!has_token_logits(model_)) return;
    if (weights.has("head_project")) x = linear(weights.load_matrix("head_project", at::kFloat), x);
    if (spec_.readout == model::Readout::kMaskedTokens) {
      const at::Tensor dense = linear(weights.load_matrix("head_dense", at::kFloat), x);
      x = norm(weights.load_norm("head_norm"), activated(dense));
    }
    at::Tensor logits = linear(weights.load_head(at::kFloat), x) * spec_.logit_scale;
    if (spec_.logit_softcap > 0) {
      logits = (logits / spec_.logit_softcap).tanh() * spec_.logit_softcap;
    }
    keep(Tap::kLogits, logits);
  }

  const model::Model& model_;
  const ModelSpec& spec_;
  const Stream& stream_;
  const Documents documents_;
  const int64_t tokens_;
  const at::ScalarType type_;
  int layer_ = 0;
  model::BlockWeights block_;
  Taps taps_;
};

}  // namespace

Taps run_reference(const model::Model& model, const Stream& stream, at::ScalarType type) {
  const c10::NoGradGuard no_grad;
  check_stream(model.spec(), stream, 0);
  return Reference(model, stream, type).run();
}

}  // namespace sinkscope::forward
