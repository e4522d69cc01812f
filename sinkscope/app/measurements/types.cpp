#include "sinkscope/app/measurements/table.h"

namespace sinkscope::app {
namespace {

/// What kind of token each position holds.
class Types : public Measurement {
 public:
  explicit Types(const MeasurementContext& context) {
    for (const store::SequenceInfo* sequence : context.sequences) {
      types_.push_back(context.types ? context.types(*sequence)
                                     : std::vector<diagnostics::TokenType>());
    }
  }

  void measure(const forward::LayerState&, int64_t stream,
               diagnostics::LayerInput& input) override {
    input.types = types_[static_cast<size_t>(stream)];
  }

 private:
  std::vector<std::vector<diagnostics::TokenType>> types_;  // by stream
};

}  // namespace

std::unique_ptr<Measurement> types_measurement(const MeasurementContext& context) {
  return std::make_unique<Types>(context);
}

}  // namespace sinkscope::app
