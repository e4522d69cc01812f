#include <ATen/ATen.h>

#include "sinkscope/app/measurements/table.h"
#include "sinkscope/stats/next_token_loss.h"

namespace sinkscope::app {
namespace {

class Loss : public Measurement {
 public:
  explicit Loss(const MeasurementContext& context)
      : causal_(context.spec.causal),
        sequences_(context.sequences),
        loss_(context.sequences.size()) {}

  bool wants(forward::Tap tap, int) const override {
    // What a classifier or a masked model says is no next token.
    return causal_ && tap == forward::Tap::kLogits;
  }

  void on_activation(const forward::Activation& activation) override {
    for (const forward::Segment& s : activation.segments) {
      const std::vector<int32_t>& ids = sequences_[static_cast<size_t>(s.stream)]->ids;
      loss_[static_cast<size_t>(s.stream)].add(activation.rows.narrow(0, s.first_row, s.rows),
                                               stats::next_ids(ids, s.first_position, s.rows));
    }
  }

  void measure_sequence(int64_t stream, diagnostics::SequenceInput& input) override {
    const stats::NextTokenLoss& loss = loss_[static_cast<size_t>(stream)];
    if (loss.tokens() > 0) input.loss_sum = loss.sum();
    input.loss_tokens = loss.tokens();
  }

 private:
  bool causal_;
  std::span<const store::SequenceInfo* const> sequences_;
  std::vector<stats::NextTokenLoss> loss_;  // by stream
};

}  // namespace

std::unique_ptr<Measurement> loss_measurement(const MeasurementContext& context) {
  return std::make_unique<Loss>(context);
}

}  // namespace sinkscope::app
