#include "sinkscope/forward/runner.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "sinkscope/base/error.h"
#include "sinkscope/forward/kernels/elementwise.h"
#include "sinkscope/forward/kernels/linear.h"
#include "sinkscope/forward/pattern.h"

namespace sinkscope::forward {
namespace {

constexpr int64_t kRowGrain = 16;  // rows per task of the row operations

}  // namespace

/// The state of one call of run(): the batch of streams and the buffers of a layer.
struct Runner::Pass {
  Pass(const model::Model& model, const RunOptions& options, std::span<const Stream> streams,
       std::span<Observer* const> observers)
      : model(model), options(options), streams(streams), observers(observers) {}

  const model::Model& model;
  const RunOptions& options;
  std::span<const Stream> streams;
  std::span<Observer* const> observers;
  const model::ModelSpec& spec = model.spec();

  std::vector<Segment> whole;  // each stream's rows
  int64_t rows = 0;            // N
  at::Tensor resid;            // [N, D]
  at::Tensor qkv;              // [N, (H + 2G) K]
  at::Tensor z;                // [N, H K]
  model::BlockWeights weights;
  std::vector<std::vector<AttentionSums>> sums;  // [stream][head]
  std::vector<float> rotary_cos, rotary_sin;     // [longest, width / 2]

  at::ScalarType weight_type() const { return options.bfloat16 ? at::kBFloat16 : at::kFloat; }

  bool wanted(Tap tap, int layer) const {
    return std::any_of(observers.begin(), observers.end(),
                       [&](Observer* o) { return o->wants(tap, layer); });
  }

  /// The parts of the streams that lie in rows [first, first + count), counted from `first`.
  std::vector<Segment> segments_of(int64_t first, int64_t count) const {
    std::vector<Segment> parts;
    for (const Segment& s : whole) {
      const int64_t begin = std::max(first, s.first_row),
                    end = std::min(first + count, s.first_row + s.rows);
      if (begin < end) parts.push_back({s.stream, begin - s.first_row, begin - first, end - begin});
    }
    return parts;
  }

  void offer(Tap tap, int layer, const at::Tensor& tensor, int64_t first) const {
    if (!wanted(tap, layer)) return;
    const std::vector<Segment> segments = segments_of(first, tensor.size(0));
    for (Observer* observer : observers) {
      if (observer->wants(tap, layer)) observer->on_activation({tap, layer, tensor, segments});
    }
  }

  void report_progress(int step) const {
    const int steps = static_cast<int>(spec.layers) + 2;
    if (options.progress && !options.progress(step, steps)) {
      throw Error(ErrorKind::kInterrupted, "run the model",
                  fmt::format("stopped after step {} of {}", step, steps));
    }
  }

  void lay_out();
  void embed();
  void make_rotary();
  at::Tensor normed(const at::Tensor& x, const model::NormWeights& norm) const;
  void project_qkv(int layer);
  void rotate_rows(int64_t first, int64_t count);
  void attend(int layer);
  void offer_pattern(int layer) const;
  void add_branches(int layer);
  at::Tensor mlp(const at::Tensor& x) const;
  void check_finite(int layer) const;
  void finish_layer(int layer, const at::Tensor& resid_pre);
  void head();

  at::Tensor heads_view(const at::Tensor& t, int64_t first_column, int64_t heads) const {
    return t.narrow(1, first_column, heads * spec.head_width)
        .unflatten(1, at::IntArrayRef({heads, spec.head_width}));
  }
  at::Tensor q_view() const { return heads_view(qkv, 0, spec.heads); }
  at::Tensor k_view() const { return heads_view(qkv, spec.query_width(), spec.kv_heads); }
  at::Tensor v_view() const {
    return heads_view(qkv, spec.query_width() + spec.key_width(), spec.kv_heads);
  }
};

void Runner::Pass::lay_out() {
  for (size_t s = 0; s < streams.size(); ++s) {
    const auto length = static_cast<int64_t>(streams[s].ids.size());
    if (length == 0)
      throw Error(ErrorKind::kUsage, "run the model", fmt::format("sequence {} is empty", s));
    if (spec.positions == model::Positions::kLearned && length > spec.context) {
      throw Error(ErrorKind::kUsage, "run the model",
                  fmt::format("sequence {} has {} tokens, the model has {} learned positions", s,
                              length, spec.context),
                  "shorten it with --seq-len");
    }
    for (const int32_t id : streams[s].ids) {
      if (id >= 0 && id < spec.vocabulary) continue;
      throw Error(ErrorKind::kUsage, "run the model",
                  fmt::format("sequence {} holds id {}, the vocabulary is 0..{}", s, id,
                              spec.vocabulary - 1));
    }
    whole.push_back({static_cast<int64_t>(s), 0, rows, length});
    rows += length;
  }
}

void Runner::Pass::embed() {
  std::vector<int32_t> ids, positions;
  for (const Stream& stream : streams) {
    ids.insert(ids.end(), stream.ids.begin(), stream.ids.end());
    for (size_t p = 0; p < stream.ids.size(); ++p) positions.push_back(static_cast<int32_t>(p));
  }
  resid = model.weights().rows("embed", ids);
  if (spec.positions == model::Positions::kLearned)
    resid.add_(model.weights().rows("positions", positions));
  offer(Tap::kEmbed, 0, resid, 0);
}

void Runner::Pass::make_rotary() {
  if (spec.positions != model::Positions::kRotary) return;
  int64_t longest = 0;
  for (const Segment& s : whole) longest = std::max(longest, s.rows);
  const int64_t half = spec.rope.width / 2;
  rotary_cos.resize(static_cast<size_t>(longest * half));
  rotary_sin.resize(rotary_cos.size());
  for (int64_t p = 0; p < longest; ++p) {
    for (int64_t i = 0; i < half; ++i) {
      // The angle in double: p x frequency in float loses digits at long positions.
      const double angle =
          static_cast<double>(p) * spec.rope.inverse_frequency[static_cast<size_t>(i)];
      rotary_cos[static_cast<size_t>(p * half + i)] =
          static_cast<float>(std::cos(angle) * spec.rope.magnitude);
      rotary_sin[static_cast<size_t>(p * half + i)] =
          static_cast<float>(std::sin(angle) * spec.rope.magnitude);
    }
  }
}

at::Tensor Runner::Pass::normed(const at::Tensor& x, const model::NormWeights& norm) const {
  at::Tensor y = at::empty_like(x);
  const float* in = x.data_ptr<float>();
  float* out = y.data_ptr<float>();
  const float* gain = norm.gain.data_ptr<float>();
  const float* bias = norm.bias.defined() ? norm.bias.data_ptr<float>() : nullptr;
  const auto epsilon = static_cast<float>(spec.norm_epsilon);
  const int64_t width = spec.width;
  at::parallel_for(0, x.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
    const int64_t at = begin * width;
    if (spec.norm == model::Norm::kRms) {
      kernels::rms_norm(in + at, end - begin, width, gain, epsilon, out + at);
    } else {
      kernels::layer_norm(in + at, end - begin, width, gain, bias, epsilon, out + at);
    }
  });
  return y;
}

void Runner::Pass::rotate_rows(int64_t first, int64_t count) {
  const int64_t stride = qkv.size(1), half = spec.rope.width / 2;
  float* data = qkv.data_ptr<float>() + first * stride;
  for (const Segment& s : segments_of(first, count)) {
    at::parallel_for(0, s.rows, kRowGrain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t position = s.first_position + r;
        // q and k lie side by side, so one call turns the heads of both.
        kernels::rotate(data + (s.first_row + r) * stride, spec.heads + spec.kv_heads,
                        spec.head_width, spec.rope.width,
                        &rotary_cos[static_cast<size_t>(position * half)],
                        &rotary_sin[static_cast<size_t>(position * half)]);
      }
    });
  }
}

void Runner::Pass::project_qkv(int layer) {
  for (int64_t first = 0; first < rows; first += options.chunk_rows) {
    const int64_t count = std::min(options.chunk_rows, rows - first);
    const at::Tensor x = normed(resid.narrow(0, first, count), weights.norm1);
    offer(Tap::kNorm1, layer, x, first);
    qkv.narrow(0, first, count).copy_(kernels::linear(x, weights.qkv.weight, weights.qkv.bias));
    offer(Tap::kQ, layer, q_view().narrow(0, first, count), first);
    offer(Tap::kK, layer, k_view().narrow(0, first, count), first);
    offer(Tap::kV, layer, v_view().narrow(0, first, count), first);
    if (spec.positions == model::Positions::kRotary) rotate_rows(first, count);
  }
  offer(Tap::kRotQ, layer, q_view(), 0);
  offer(Tap::kRotK, layer, k_view(), 0);
}

void Runner::Pass::attend(int layer) {
  const bool count = std::any_of(observers.begin(), observers.end(),
                                 [&](Observer* o) { return o->wants_sums(layer); });
  sums.assign(count ? whole.size() : 0, {});
  std::vector<kernels::AttentionProblem> problems;
  for (const Segment& s : whole) {
    kernels::AttentionProblem p;
    p.tokens = s.rows;
    p.heads = spec.heads, p.kv_heads = spec.kv_heads, p.width = spec.head_width;
    p.q = qkv.data_ptr<float>() + s.first_row * qkv.size(1);
    p.k = p.q + spec.query_width();
    p.v = p.k + spec.key_width();
    p.q_stride = p.k_stride = p.v_stride = qkv.size(1);
    p.out = z.data_ptr<float>() + s.first_row * z.size(1);
    p.out_stride = z.size(1);
    p.scale = static_cast<float>(spec.score_scale);
    p.visibility.causal = spec.causal;
    p.event_mass = options.event_mass;
    if (count) {
      std::vector<AttentionSums>& heads = sums[static_cast<size_t>(s.stream)];
      heads.resize(static_cast<size_t>(spec.heads));
      for (AttentionSums& head : heads) head.resize(s.rows, false);
      p.sums = heads.data();
    }
    problems.push_back(p);
  }
  options.attention(problems.data(), static_cast<int64_t>(problems.size()), options.threads);
  offer(Tap::kZ, layer, heads_view(z, 0, spec.heads), 0);
  offer_pattern(layer);
}

void Runner::Pass::offer_pattern(int layer) const {
  if (!wanted(Tap::kPattern, layer)) return;
  constexpr int64_t kBlock = 128;
  Visibility visibility;
  visibility.causal = spec.causal;
  for (const Segment& s : whole) {
    for (int64_t first = 0; first < s.rows; first += kBlock) {
      const int64_t count = std::min(kBlock, s.rows - first);
      const at::Tensor block = pattern_rows(q_view().narrow(0, s.first_row, s.rows),
                                            k_view().narrow(0, s.first_row, s.rows),
                                            spec.score_scale, visibility, first, count);
      const Segment segment{s.stream, first, 0, count};
      for (Observer* observer : observers) {
        if (observer->wants(Tap::kPattern, layer)) {
          observer->on_activation({Tap::kPattern, layer, block, std::span(&segment, 1)});
        }
      }
    }
  }
}

at::Tensor Runner::Pass::mlp(const at::Tensor& x) const {
  at::Tensor up = kernels::linear(x, weights.up.weight, weights.up.bias);
  at::Tensor hidden;
  if (spec.gated_mlp) {
    const int64_t width = spec.mlp_width;
    hidden = at::empty({up.size(0), width}, at::kFloat);
    const float* in = up.data_ptr<float>();
    float* out = hidden.data_ptr<float>();
    at::parallel_for(0, up.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        kernels::silu_multiply(in + r * 2 * width, in + (r * 2 + 1) * width, width,
                               out + r * width);
      }
    });
  } else if (spec.activation == model::Activation::kRelu) {
    hidden = up.relu_();
  } else {
    hidden = at::gelu(up, spec.activation == model::Activation::kGeluTanh ? "tanh" : "none");
  }
  return kernels::linear(hidden, weights.down.weight, weights.down.bias);
}

void Runner::Pass::add_branches(int layer) {
  for (int64_t first = 0; first < rows; first += options.chunk_rows) {
    const int64_t count = std::min(options.chunk_rows, rows - first);
    at::Tensor x = resid.narrow(0, first, count);
    const at::Tensor attn_out =
        kernels::linear(z.narrow(0, first, count), weights.o.weight, weights.o.bias);
    offer(Tap::kAttnOut, layer, attn_out, first);
    x.add_(attn_out);
    offer(Tap::kResidMid, layer, x, first);
    const at::Tensor mlp_out = mlp(normed(x, weights.norm2));
    offer(Tap::kMlpOut, layer, mlp_out, first);
    x.add_(mlp_out);
  }
}

void Runner::Pass::check_finite(int layer) const {
  // A sum is finite only if every entry is; overflow of the sum itself would need entries near
  // 1e30.
  if (std::isfinite(resid.sum(at::kDouble).item<double>())) return;
  const float* data = resid.data_ptr<float>();
  for (const Segment& s : whole) {
    for (int64_t i = s.first_row * spec.width; i < (s.first_row + s.rows) * spec.width; ++i) {
      if (std::isfinite(data[i])) continue;
      throw Error(
          ErrorKind::kBadNumbers, "run the model",
          fmt::format("residual after block {} is {} at sequence {}, position {}, channel {}",
                      layer, data[i], s.stream, i / spec.width - s.first_row, i % spec.width),
          "the weights drive the activations out of range");
    }
  }
}

void Runner::Pass::finish_layer(int layer, const at::Tensor& resid_pre) {
  check_finite(layer);
  offer(Tap::kResidPost, layer, resid, 0);
  LayerState state;
  state.layer = layer;
  state.streams = whole;
  state.resid_pre = resid_pre;
  state.resid_post = resid;
  state.rot_q = q_view(), state.rot_k = k_view(), state.v = v_view();
  state.z = heads_view(z, 0, spec.heads);
  state.w_o = weights.o.weight;
  state.w_q = weights.qkv.weight.narrow(0, 0, spec.query_width());
  state.w_k = weights.qkv.weight.narrow(0, spec.query_width(), spec.key_width());
  state.sums = sums;
  for (Observer* observer : observers) observer->on_layer(state);
}

void Runner::Pass::head() {
  const bool logits = wanted(Tap::kLogits, 0);
  if (!logits && !wanted(Tap::kFinalNorm, 0)) return;
  const model::NormWeights norm = model.weights().load_final_norm();
  weights = {};  // the head takes the place of the last block
  const model::Linear head = logits ? model.weights().load_head(weight_type()) : model::Linear{};
  for (int64_t first = 0; first < rows; first += options.chunk_rows) {
    const int64_t count = std::min(options.chunk_rows, rows - first);
    const at::Tensor x = normed(resid.narrow(0, first, count), norm);
    offer(Tap::kFinalNorm, 0, x, first);
    if (logits) offer(Tap::kLogits, 0, kernels::linear(x, head.weight, head.bias), first);
  }
}

Runner::Runner(const model::Model& model, RunOptions options)
    : model_(model), options_(std::move(options)) {
  kernels::prepare_process();
  // Set in any case, and after that: a LibTorch built against OpenBLAS starts with one thread.
  if (options_.threads <= 0)
    options_.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  at::set_num_threads(options_.threads);
}

void Runner::run(std::span<const Stream> streams, std::span<Observer* const> observers) {
  const at::NoGradGuard no_grad;
  Pass pass(model_, options_, streams, observers);
  const model::ModelSpec& spec = model_.spec();
  try {
    pass.lay_out();
    pass.embed();
    pass.make_rotary();
    pass.qkv = at::empty({pass.rows, spec.query_width() + 2 * spec.key_width()}, at::kFloat);
    pass.z = at::empty({pass.rows, spec.query_width()}, at::kFloat);
    pass.report_progress(1);
    for (int layer = 0; layer < static_cast<int>(spec.layers); ++layer) {
      model_.weights().load_block(layer, pass.weight_type(), pass.weights);
      const at::Tensor resid_pre =
          pass.wanted(Tap::kResidPre, layer) ? pass.resid.clone() : at::Tensor();
      if (resid_pre.defined()) pass.offer(Tap::kResidPre, layer, resid_pre, 0);
      pass.project_qkv(layer);
      pass.attend(layer);
      pass.add_branches(layer);
      pass.finish_layer(layer, resid_pre);
      pass.report_progress(layer + 2);
    }
    pass.head();
    pass.report_progress(static_cast<int>(spec.layers) + 2);
  } catch (const c10::Error& error) {
    throw Error(ErrorKind::kInternal, "run the model", error.what_without_backtrace());
  }
}

int64_t Runner::planned_bytes(std::span<const int64_t> lengths) const {
  const model::ModelSpec& spec = model_.spec();
  int64_t rows = 0;
  for (const int64_t length : lengths) rows += length;
  const int64_t chunk = std::min(rows, options_.chunk_rows);
  const int64_t up = spec.mlp_width * (spec.gated_mlp ? 2 : 1);
  const int64_t per_row =
      spec.width + 2 * spec.query_width() + 2 * spec.key_width();  // resid, qkv, z
  const int64_t sums = spec.heads * 40;                            // AttentionSums, bytes per row
  const int64_t work = chunk * (2 * up + spec.mlp_width + 4 * spec.width) * 4;
  const int64_t head = (spec.vocabulary * spec.width + 3 * chunk * spec.vocabulary) * 4;
  const int64_t block = model_.weights().largest_block_bytes() / (options_.bfloat16 ? 2 : 1);
  return rows * (per_row * 4 + sums) + std::max(block + work, head);
}

}  // namespace sinkscope::forward
