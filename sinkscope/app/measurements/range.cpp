#include "sinkscope/stats/range.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <optional>

#include "sinkscope/app/measurements/sites.h"
#include "sinkscope/app/measurements/table.h"

namespace sinkscope::app {
namespace {

using forward::Tap;
using stats::Site;

/// Largest entries of every site, and what rounding to 16 and 8 bits changes.
class Range : public Measurement {
 public:
  explicit Range(const MeasurementContext& context)
      : values_(context.sequences.size()), normed_(context.sequences.size()) {}

  bool wants(Tap tap, int) const override {
    return site_of(tap) || tap == Tap::kResidPre || tap == Tap::kNorm1;
  }

  void on_activation(const forward::Activation& activation) override {
    const std::optional<Site> site = site_of(activation.tap);
    if (!site && activation.tap != Tap::kNorm1) return;
    const int64_t width = activation.rows.size(1);
    const auto segments = activation.segments;
    at::parallel_for(0, static_cast<int64_t>(segments.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const forward::Segment& s = segments[static_cast<size_t>(i)];
        stats::RangeValues& values = values_[static_cast<size_t>(s.stream)];
        const float* rows = activation.rows.data_ptr<float>() + s.first_row * width;
        if (site) {
          stats::add_range(rows, s.rows, width, values.sites[static_cast<size_t>(*site)]);
        } else {
          stats::add_row_largest(rows, s.rows, width, normed_[static_cast<size_t>(s.stream)]);
        }
      }
    });
  }

  void measure(const forward::LayerState& state, int64_t stream,
               diagnostics::LayerInput& input) override {
    const forward::Segment& rows = state.streams[static_cast<size_t>(stream)];
    stats::RangeValues& values = values_[static_cast<size_t>(stream)];
    const at::Tensor after = state.resid_post.narrow(0, rows.first_row, rows.rows);
    stats::add_range(after.data_ptr<float>(), rows.rows, after.size(1),
                     values.sites[static_cast<size_t>(Site::kResidPost)]);
    const stats::RoundingErrors errors = stats::rounding_errors(after);
    values.bfloat16_error = errors.bfloat16;
    values.half_error = errors.half;
    values.int8 = [before = state.resid_pre.narrow(0, rows.first_row, rows.rows),
                   &normed = normed_[static_cast<size_t>(stream)]](std::span<const int64_t> sinks) {
      return stats::int8_values(before, normed, sinks);
    };
    input.range = &values;
  }

  void end_layer() override {
    for (stats::RangeValues& values : values_) values = {};
    for (std::vector<double>& largest : normed_) largest.clear();
  }

 private:
  // By stream, of the layer in progress.
  std::vector<stats::RangeValues> values_;
  std::vector<std::vector<double>> normed_;  // largest |z| of each token
};

}  // namespace

std::unique_ptr<Measurement> range_measurement(const MeasurementContext& context) {
  return std::make_unique<Range>(context);
}

}  // namespace sinkscope::app
