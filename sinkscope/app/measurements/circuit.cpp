#include "sinkscope/stats/circuit.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "sinkscope/app/measurements/sites.h"
#include "sinkscope/app/measurements/table.h"
#include "sinkscope/stats/hidden_state.h"

namespace sinkscope::app {
namespace {

using forward::Tap;
using stats::kSites;
using stats::Site;

constexpr double kNearUniform = 0.9;          // entropy_norm from which a head counts as uniform
constexpr int64_t kPatternEntries = 1 << 21;  // of all heads, made at a time
constexpr int64_t kMinRows = 16, kRowGrain = 64;

/// Position 0 at every site of a block, and the directions of some positions summed over inputs.
class Circuit : public Measurement {
 public:
  explicit Circuit(const MeasurementContext& context)
      : spec_(context.spec), streams_(context.sequences.size()) {
    size_t positions = 0;
    for (size_t s = 0; s < streams_.size(); ++s) {
      Stream& stream = streams_[s];
      stream.tracked = stats::tracked_positions(context.sequences[s]->tokens());
      positions = std::max(positions, stream.tracked.size());
    }
    sum_size_ = positions * static_cast<size_t>(spec_.width + 1);
    sums_.resize(static_cast<size_t>(spec_.layers));
  }

  bool wants(Tap tap, int) const override {
    return spec_.causal &&
           (site_of(tap) || tap == Tap::kResidPre || (tap == Tap::kGate && spec_.gates_output()));
  }

  void on_activation(const forward::Activation& activation) override {
    const std::optional<Site> site = site_of(activation.tap);
    for (const forward::Segment& s : activation.segments) {
      const float* rows = activation.rows.data_ptr<float>() +
                          s.first_row * (activation.rows.numel() / activation.rows.size(0));
      Stream& stream = streams_[static_cast<size_t>(s.stream)];
      if (site) add_rows(stream, *site, rows, s);
      if (activation.tap == Tap::kGate && s.first_position == 0) {
        stream.gate.assign(rows, rows + spec_.query_width());
      }
      if (site == Site::kAttnOut && activation.layer == 0 && !spec_.branch_norms) {
        stream.attention.insert(stream.attention.end(), rows, rows + s.rows * spec_.width);
      }
    }
  }

  void measure(const forward::LayerState& state, int64_t number,
               diagnostics::LayerInput& input) override {
    Stream& stream = streams_[static_cast<size_t>(number)];
    stats::CircuitValues& values = stream.values;
    values.causal = spec_.causal;
    input.circuit = &values;
    if (!spec_.causal) return;
    const forward::Segment& rows = state.streams[static_cast<size_t>(number)];
    mark_starts(state.visibility[static_cast<size_t>(number)], rows.rows, stream);
    const float* after = state.resid_post.data_ptr<float>() + rows.first_row * spec_.width;
    const float* before = state.resid_pre.data_ptr<float>() + rows.first_row * spec_.width;
    add_rows(stream, Site::kResidPost, after, {number, 0, 0, rows.rows});
    if (spec_.form != model::BlockForm::kPostNorm) {
      stats::row_turns(before, after, rows.rows, spec_.width, values.turn, values.turn_error);
    }
    write_channel(state, rows, before, after, stream);
    join_heads(state, rows, stream);
    fit_cones(state, rows, input, values);
  }

  void end_layer() override {
    // One stream after another, so that no sum depends on threads.
    for (Stream& stream : streams_) {
      for (size_t site = 0; site < kSites; ++site) add_directions(stream, site);
      stream.attention = {};
      stream.values = {};
      stream.rows = {};
    }
  }

  void begin_layer(const forward::LayerState& state) override {
    layer_ = static_cast<size_t>(state.layer);
  }

  void add_run_sums(std::vector<store::RunSum>& sums) override {
    for (size_t layer = 0; layer < sums_.size(); ++layer) {
      for (size_t site = 0; site < kSites; ++site) {
        if (sums_[layer][site].empty()) continue;
        sums.push_back({fmt::format("direction.{}", stats::kSiteNames[site]),
                        static_cast<int>(layer), std::move(sums_[layer][site])});
      }
    }
  }

 private:
  struct Stream {
    std::vector<int64_t> tracked;                 // positions
    size_t tracked_here = 0;                      // of them, those of the first document
    stats::CircuitValues values;                  // of the layer in progress, as all below
    std::array<std::vector<float>, kSites> rows;  // [tracked, D]
    std::vector<float> gate;                      // [H K] of position 0
    std::vector<float> attention;                 // [T, D] what attention adds, of block 0
  };

  void add_rows(Stream& stream, Site at, const float* rows, const forward::Segment& s) {
    const auto site = static_cast<size_t>(at);
    std::vector<double>& norm = stream.values.norm[site];
    norm.resize(static_cast<size_t>(s.first_position + s.rows));
    at::parallel_for(0, s.rows, kRowGrain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        norm[static_cast<size_t>(s.first_position + r)] =
            stats::length(rows + r * spec_.width, spec_.width);
      }
    });
    const auto width = static_cast<size_t>(spec_.width);
    stream.rows[site].resize(stream.tracked.size() * width);
    for (size_t i = 0; i < stream.tracked.size(); ++i) {
      const int64_t r = stream.tracked[i] - s.first_position;
      if (r < 0 || r >= s.rows) continue;
      std::memcpy(&stream.rows[site][i * width], rows + r * spec_.width, width * sizeof(float));
    }
  }

  static void mark_starts(const forward::Visibility& visible, int64_t tokens, Stream& stream) {
    std::vector<bool>& starts = stream.values.starts;
    starts.assign(static_cast<size_t>(tokens), false);
    starts[0] = true;
    stream.tracked_here = stream.tracked.size();
    if (!visible.document_first) return;
    for (int64_t t = 0; t < tokens; ++t) {
      starts[static_cast<size_t>(t)] = visible.document_first[t] == t;
    }
    // Positions of a later document count from its own start, which is no tracked one.
    while (visible.document_first[stream.tracked[stream.tracked_here - 1]] > 0) {
      --stream.tracked_here;
    }
  }

  /// z of a stream's position 0 as it enters the output projection, [H, K].
  at::Tensor gated_first(const forward::LayerState& state, const forward::Segment& rows,
                         const Stream& stream) const {
    const at::Tensor z = state.z[rows.first_row].to(at::kDouble);
    if (stream.gate.empty()) return z;
    return z * at::tensor(stream.gate).view({spec_.heads, spec_.head_width});
  }

  void write_channel(const forward::LayerState& state, const forward::Segment& rows,
                     const float* before, const float* after, Stream& stream) const {
    const auto width = static_cast<size_t>(spec_.width);
    const auto first = [&](Site site) {
      return std::span(stream.rows[static_cast<size_t>(site)]).first(width);
    };
    stats::ChannelWrite& write = stream.values.channel;
    const std::vector<float> nothing(width, 0.0f);  // what a block without an MLP adds
    write =
        stats::channel_write({before, width}, first(Site::kAttnOut),
                             spec_.mlp ? first(Site::kMlpOut) : std::span(nothing), {after, width});
    write.heads = stats::head_writes(gated_first(state, rows, stream), state.w_o, write.channel);
    double scale = spec_.residual_scale;
    if (spec_.branch_norms) {
      // The norm that ends the branch multiplies a row by one number per channel.
      double whole = 0;
      for (const double head : write.heads) whole += head;
      if (state.weights->o.bias.defined())
        whole += state.weights->o.bias[write.channel].item<double>();
      scale = whole == 0 ? diagnostics::kNoData : write.attention / whole;
    }
    for (double& head : write.heads) head *= scale;
  }

  void join_heads(const forward::LayerState& state, const forward::Segment& rows,
                  Stream& stream) const {
    if (stream.attention.empty() || spec_.gates_output()) return;
    const at::Tensor joined = at::from_blob(stream.attention.data(), {rows.rows, spec_.width})
                                  .add(state.resid_pre.narrow(0, rows.first_row, rows.rows));
    const float* row = joined.data_ptr<float>();
    for (int64_t t = 0; t < rows.rows; ++t) {
      stream.values.joined.push_back(stats::length(row + t * spec_.width, spec_.width));
    }
    stream.values.joined_without = stats::norms_without_head(
        joined, state.z.narrow(0, rows.first_row, rows.rows), state.w_o, spec_.residual_scale);
  }

  void fit_cones(const forward::LayerState& state, const forward::Segment& rows,
                 const diagnostics::LayerInput& input, stats::CircuitValues& values) const {
    values.cone.assign(input.heads.size(), {});
    std::vector<size_t> heads;
    for (size_t h = 0; h < input.heads.size(); ++h) {
      const stats::AttentionValues* attention = input.heads[h].attention;
      if (attention && attention->queries_many > 0 &&
          attention->entropy_norm_sum >=
              kNearUniform * static_cast<double>(attention->queries_many)) {
        heads.push_back(h);
      }
    }
    if (heads.empty()) return;
    std::vector<at::Tensor> units(static_cast<size_t>(spec_.kv_heads));
    const auto group = [&](size_t h) {
      return static_cast<size_t>(spec_.group_of(static_cast<int64_t>(h)));
    };
    for (const size_t h : heads) {
      at::Tensor& unit = units[group(h)];
      if (unit.defined()) continue;
      unit = stats::unit_rows(
          state.v.narrow(0, rows.first_row, rows.rows).select(1, static_cast<int64_t>(group(h))));
    }
    std::vector<stats::Cone> cones(heads.size());
    const int64_t block =
        std::max(kMinRows, kPatternEntries / std::max<int64_t>(1, spec_.heads * rows.rows));
    for (int64_t first = 0; first < rows.rows; first += block) {
      const int64_t count = std::min(block, rows.rows - first), keys = first + count;
      const at::Tensor pattern = state.pattern(rows.stream, first, count);
      for (size_t i = 0; i < heads.size(); ++i) {
        const forward::AttentionSums& sums = state.sums[static_cast<size_t>(rows.stream)][heads[i]];
        const auto part = [&](const std::vector<float>& all) {
          return all.empty() ? std::span<const float>()
                             : std::span(all).subspan(static_cast<size_t>(first),
                                                      static_cast<size_t>(count));
        };
        cones[i].add(pattern[static_cast<int64_t>(heads[i])].narrow(1, 0, keys),
                     units[group(heads[i])].narrow(0, 0, keys), part(sums.row_square),
                     part(sums.row_missing));
      }
    }
    for (size_t i = 0; i < heads.size(); ++i) {
      values.cone[heads[i]] = cones[i].value(units[group(heads[i])]);
    }
  }

  void add_directions(const Stream& stream, size_t site) {
    const std::vector<float>& rows = stream.rows[site];
    if (rows.empty()) return;
    std::vector<double>& sum = sums_[layer_][site];
    sum.resize(sum_size_);
    const auto width = static_cast<size_t>(spec_.width);
    for (size_t i = 0; i < stream.tracked_here; ++i) {
      const float* row = &rows[i * width];
      const double norm = stream.values.norm[site][static_cast<size_t>(stream.tracked[i])];
      if (norm == 0) continue;
      double* to = &sum[i * (width + 1)];
      to[0] += 1;
      for (size_t c = 0; c < width; ++c) to[1 + c] += row[c] / norm;
    }
  }

  const model::ModelSpec& spec_;
  std::vector<Stream> streams_;
  size_t layer_ = 0, sum_size_ = 0;
  /// [layer][site]: for each tracked position the number of rows, then the sum of their unit
  /// vectors [D]
  std::vector<std::array<std::vector<double>, kSites>> sums_;
};

}  // namespace

std::unique_ptr<Measurement> circuit_measurement(const MeasurementContext& context) {
  return std::make_unique<Circuit>(context);
}

}  // namespace sinkscope::app
