#include "sinkscope/forward/pass/pass.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sinkscope/base/error.h"
#include "sinkscope/forward/kernels/elementwise.h"
#include "sinkscope/forward/pass/grain.h"

namespace sinkscope::forward {

Pass::Pass(const model::Model& model, const RunOptions& options, std::span<const Stream> streams,
           std::span<const Fork> forks, std::span<Observer* const> observers)
    : model_(model),
      options_(options),
      streams_(streams),
      forks_(forks),
      observers_(observers),
      spec_(model.spec()) {}

void Pass::run() {
  lay_out();
  embed();
  make_rotary();
  make_buffers();
  report_progress(1);
  for (int layer = 0; layer < static_cast<int>(spec_.layers); ++layer) {
    model_.weights().load_block(layer, weight_type(), weights_);
    join_forks(layer);
    edit_residual(layer);
    const at::Tensor resid_pre = wanted(Tap::kResidPre, layer) ? resid_.clone() : at::Tensor();
    if (resid_pre.defined()) offer(Tap::kResidPre, layer, resid_pre, 0);
    project_qkv(layer);
    attend(layer);
    add_branches(layer);
    finish_layer(layer, resid_pre);
    report_progress(layer + 2);
  }
  read_out();
  report_progress(static_cast<int>(spec_.layers) + 2);
}

bool Pass::wanted(Tap tap, int layer) const {
  return std::any_of(observers_.begin(), observers_.end(),
                     [&](Observer* o) { return o->wants(tap, layer); });
}

std::vector<Segment> Pass::segments_of(int64_t first, int64_t count) const {
  std::vector<Segment> parts;
  for (const Segment& s : whole_) {
    const int64_t begin = std::max(first, s.first_row),
                  end = std::min(first + count, s.first_row + s.rows);
    if (begin < end) parts.push_back({s.stream, begin - s.first_row, begin - first, end - begin});
  }
  return parts;
}

void Pass::offer(Tap tap, int layer, const at::Tensor& tensor, int64_t first) const {
  if (wanted(tap, layer)) offer(tap, layer, tensor, segments_of(first, tensor.size(0)));
}

void Pass::offer(Tap tap, int layer, const at::Tensor& tensor,
                 std::span<const Segment> segments) const {
  for (Observer* observer : observers_) {
    if (observer->wants(tap, layer)) observer->on_activation({tap, layer, tensor, segments});
  }
}

void Pass::report_progress(int step) const {
  const int steps = static_cast<int>(spec_.layers) + 2;
  if (options_.progress && !options_.progress(step, steps)) {
    throw Error(ErrorKind::kInterrupted, "run the model",
                fmt::format("stopped after step {} of {}", step, steps));
  }
}

at::Tensor Pass::heads_view(const at::Tensor& t, int64_t first_column, int64_t heads) const {
  return t.narrow(1, first_column, heads * spec_.head_width)
      .unflatten(1, at::IntArrayRef({heads, spec_.head_width}));
}

at::Tensor Pass::normed(const at::Tensor& x, const model::NormWeights& norm) const {
  if (!norm.defined()) return x;
  at::Tensor y = at::empty(x.sizes(), at::kFloat);
  const float* in = x.data_ptr<float>();
  float* out = y.data_ptr<float>();
  const float* gain = norm.gain.data_ptr<float>();
  const float* bias = norm.bias.defined() ? norm.bias.data_ptr<float>() : nullptr;
  const auto epsilon = static_cast<float>(spec_.norm_epsilon);
  const int64_t width = x.size(1), stride = x.stride(0);
  const auto rows = [&](int64_t first, int64_t count, const float* from) {
    if (spec_.norm == model::Norm::kRms) {
      kernels::rms_norm(from, count, width, gain, epsilon, out + first * width);
    } else {
      kernels::layer_norm(from, count, width, gain, bias, epsilon, out + first * width);
    }
  };
  at::parallel_for(0, x.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
    if (stride == width) return rows(begin, end - begin, in + begin * width);
    for (int64_t r = begin; r < end; ++r) rows(r, 1, in + r * stride);
  });
  return y;
}

void Pass::check_finite(int layer) const {
  // A sum is finite only if every entry is; overflow of the sum itself would need entries near
  // 1e30.
  if (std::isfinite(resid_.sum(at::kDouble).item<double>())) return;
  const float* data = resid_.data_ptr<float>();
  for (const Segment& s : whole_) {
    for (int64_t i = s.first_row * spec_.width; i < (s.first_row + s.rows) * spec_.width; ++i) {
      if (std::isfinite(data[i])) continue;
      throw Error(
          ErrorKind::kBadNumbers, "run the model",
          fmt::format("residual after block {} is {} at sequence {}, position {}, channel {}",
                      layer, data[i], base_of(s.stream), i / spec_.width - s.first_row,
                      i % spec_.width),
          "the weights drive the activations out of range");
    }
  }
}

void Pass::finish_layer(int layer, const at::Tensor& resid_pre) {
  check_finite(layer);
  offer(Tap::kResidPost, layer, resid_, 0);
  LayerState state;
  state.layer = layer;
  state.streams = whole_;
  state.visibility = visibility_;
  state.resid_pre = resid_pre;
  state.resid_post = resid_;
  state.rot_q = q_view(), state.rot_k = k_view(), state.v = v_view();
  state.z = heads_view(z_, 0, spec_.heads);
  state.w_o = weights_.o.weight;
  if (weights_.attn_scale.defined()) state.w_o = state.w_o * weights_.attn_scale.unsqueeze(1);
  state.w_q = weights_.qkv.weight.narrow(0, 0, spec_.query_width());
  state.w_k = weights_.qkv.weight.narrow(0, spec_.query_width(), spec_.key_width());
  state.weights = &weights_;
  state.sums = sums_;
  state.pattern = [this](int64_t stream, int64_t first, int64_t count) {
    return pattern_of(segment_of(stream), first, count);
  };
  for (Observer* observer : observers_) observer->on_layer(state);
}

}  // namespace sinkscope::forward
