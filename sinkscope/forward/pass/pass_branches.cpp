// What attention and MLP add to the residual.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "sinkscope/forward/activation.h"
#include "sinkscope/forward/kernels/elementwise.h"
#include "sinkscope/forward/kernels/linear.h"
#include "sinkscope/forward/pass/grain.h"
#include "sinkscope/forward/pass/pass.h"

namespace sinkscope::forward {

using model::BlockForm;

namespace {

/// The two halves of a gated MLP's inner rows, [N, 2 F] -> [N, F].
at::Tensor gated(model::Activation activation, const at::Tensor& up) {
  const int64_t rows = up.size(0), width = up.size(1) / 2;
  if (activation == model::Activation::kSilu) {  // the commonest, in one pass over memory
    at::Tensor hidden = at::empty({rows, width}, at::kFloat);
    const float* in = up.data_ptr<float>();
    float* out = hidden.data_ptr<float>();
    at::parallel_for(0, rows, kRowGrain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        kernels::silu_multiply(in + r * 2 * width, in + (r * 2 + 1) * width, width,
                               out + r * width);
      }
    });
    return hidden;
  }
  const at::Tensor gate = up.narrow(1, 0, width), linear = up.narrow(1, width, width);
  if (activation == model::Activation::kClampedSwiglu) {
    const at::Tensor g = gate.clamp_max(7);
    return (linear.clamp(-7, 7) + 1) * g * (g * 1.702).sigmoid_();
  }
  return activated(activation, gate).mul_(linear);
}

}  // namespace

at::Tensor Pass::end_of_branch(at::Tensor x, const model::NormWeights& norm,
                               const at::Tensor& scale) const {
  x = normed(x, norm);
  if (scale.defined()) x = x.mul_(scale);
  if (spec_.residual_scale != 1) x = x.mul_(spec_.residual_scale);
  return x;
}

at::Tensor Pass::attention_branch(int layer, int64_t first, int64_t count) const {
  at::Tensor z = z_.narrow(0, first, count);
  if (const at::Tensor gate = gate_rows(first, count); gate.defined()) {
    offer(Tap::kGate, layer, gate, first);
    z = z * gate.view({count, spec_.query_width()});
  }
  at::Tensor out = end_of_branch(kernels::linear(z, weights_.o.weight, weights_.o.bias),
                                 weights_.attn_norm, weights_.attn_scale);
  if (pathway_.defined()) out.add_(pathway_.narrow(0, first, count));
  edit_branch(layer, Branch::kAttention, out, first);
  offer(Tap::kAttnOut, layer, out, first);
  return out;
}

at::Tensor Pass::mlp_branch(int layer, const at::Tensor& in, int64_t first) const {
  at::Tensor out = end_of_branch(mlp(in, weights_.up, weights_.down, spec_.gated_mlp),
                                 weights_.mlp_norm, weights_.mlp_scale);
  edit_branch(layer, Branch::kMlp, out, first);
  offer(Tap::kMlpOut, layer, out, first);
  return out;
}

void Pass::add_branches(int layer) {
  if (spec_.blocks[static_cast<size_t>(layer)].experts) return add_experts_branch(layer);
  for_chunks([&](int64_t first, int64_t count) {
    at::Tensor x = resid_.narrow(0, first, count);
    const at::Tensor attn_out = attention_branch(layer, first, count);
    if (!spec_.mlp) {
      x.add_(attn_out);
    } else if (spec_.form == BlockForm::kParallel) {
      const model::NormWeights& norm = weights_.norm2.defined() ? weights_.norm2 : weights_.norm1;
      const at::Tensor mlp_out =
          mlp_branch(layer, normed(before_norm(layer, x, first), norm), first);
      x.add_(attn_out).add_(mlp_out);
    } else if (spec_.form == BlockForm::kPostNorm) {
      x.copy_(normed(x + attn_out, weights_.norm1));
      offer(Tap::kResidMid, layer, x, first);
      x.copy_(normed(x + mlp_branch(layer, x, first), weights_.norm2));
    } else {
      x.add_(attn_out);
      offer(Tap::kResidMid, layer, x, first);
      x.add_(mlp_branch(layer, normed(before_norm(layer, x, first), weights_.norm2), first));
    }
  });
}

/// An expert's weights are brought in once for all rows that chose it, so the MLP's inputs of all
/// rows must stand first. Every family with experts adds its branches one after the other.
void Pass::add_experts_branch(int layer) {
  at::Tensor in = at::empty_like(resid_);
  for_chunks([&](int64_t first, int64_t count) {
    at::Tensor x = resid_.narrow(0, first, count);
    x.add_(attention_branch(layer, first, count));
    offer(Tap::kResidMid, layer, x, first);
    in.narrow(0, first, count).copy_(normed(before_norm(layer, x, first), weights_.norm2));
  });
  at::Tensor out = end_of_branch(experts(layer, in), weights_.mlp_norm, weights_.mlp_scale);
  edit_branch(layer, Branch::kMlp, out, 0);
  offer(Tap::kMlpOut, layer, out, 0);
  resid_.add_(out);
}

at::Tensor Pass::mlp(const at::Tensor& x, const model::Linear& up, const model::Linear& down,
                     bool is_gated) const {
  const at::Tensor inner = kernels::linear(x, up.weight, up.bias);
  const at::Tensor hidden =
      is_gated ? gated(spec_.activation, inner) : activated(spec_.activation, inner);
  return kernels::linear(hidden, down.weight, down.bias);
}

at::Tensor Pass::experts(int layer, const at::Tensor& x) const {
  const model::Experts& facts = spec_.experts;
  at::Tensor out = at::zeros_like(x);
  std::vector<at::Tensor> shares, chosen;  // by chunk, [n, chosen]
  for_chunks([&](int64_t first, int64_t count) {
    const at::Tensor logits = kernels::linear(
        x.narrow(0, first, count), weights_.router.weight.to(at::kFloat), weights_.router.bias);
    auto [share, expert] = at::topk(at::softmax(logits, -1), facts.chosen, -1);
    if (facts.normalise) share = share / share.sum(-1, true);
    shares.push_back(share), chosen.push_back(expert);
  });
  const at::Tensor share = at::cat(shares), choice = at::cat(chosen);
  model::Linear up, down;
  for (int64_t e = 0; e < facts.count; ++e) {
    const at::Tensor place = choice.eq(e).nonzero();  // [n, 2]: row, rank
    if (place.size(0) == 0) continue;
    model_.weights().load_expert(layer, e, weight_type(), up, down);
    for (int64_t first = 0; first < place.size(0); first += options_.chunk_rows) {
      const at::Tensor part = place.slice(0, first, first + options_.chunk_rows);
      const at::Tensor row = part.select(1, 0), rank = part.select(1, 1);
      const at::Tensor y = mlp(x.index_select(0, row), up, down, true);
      out.index_add_(0, row, y.mul_(share.index({row, rank}).unsqueeze(1)));
    }
  }
  if (weights_.shared_up.weight.defined()) {
    for_chunks([&](int64_t first, int64_t count) {
      const at::Tensor in = x.narrow(0, first, count);
      at::Tensor y = mlp(in, weights_.shared_up, weights_.shared_down, true);
      if (weights_.shared_router.weight.defined()) {
        y.mul_(kernels::linear(in, weights_.shared_router.weight, {}).sigmoid_());
      }
      out.narrow(0, first, count).add_(y);
    });
  }
  return out;
}

}  // namespace sinkscope::forward
