#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sinkscope/app/token_types.h"
#include "sinkscope/diagnostics/diagnostic.h"
#include "sinkscope/forward/observer.h"
#include "sinkscope/model/model_spec.h"
#include "sinkscope/store/store.h"

namespace sinkscope::app {

inline const TypesOf kNoTypes;

/// What every measurement may know of the run. Outlives the pass.
struct MeasurementContext {
  const model::ModelSpec& spec;
  const diagnostics::Thresholds& thresholds;
  std::span<const store::SequenceInfo* const> sequences;  ///< by stream
  uint64_t seed = 0;  ///< with the sequence's id: every random choice of a measurement
  const TypesOf& types = kNoTypes;  ///< of every position; may be empty
};

/// One kind of numbers that diagnostics read (diagnostics::Part): says which taps it needs, listens
/// to them, and puts its part into the input of each layer or sequence. One file per kind in
/// app/measurements, one row in table.cpp. What it puts there must live until end_layer().
class Measurement {
 public:
  virtual ~Measurement() = default;

  /// Asked for measured layers, and for taps outside blocks with layer 0.
  virtual bool wants(forward::Tap, int /*layer*/) const { return false; }
  virtual void on_activation(const forward::Activation&) {}

  /// Once per measured layer, before the streams: what depends on weights alone.
  virtual void begin_layer(const forward::LayerState&) {}
  /// `input.heads` holds the attention of every head, null where a head was left out; the parts of
  /// the rows above are there. Called for different streams at the same time.
  virtual void measure(const forward::LayerState&, int64_t /*stream*/, diagnostics::LayerInput&) {}
  virtual void end_layer() {}

  /// After the pass.
  virtual void measure_sequence(int64_t /*stream*/, diagnostics::SequenceInput&) {}
  /// After the pass, once: vectors to be added over all batches of the run. The order in which
  /// streams are added must not depend on threads.
  virtual void add_run_sums(std::vector<store::RunSum>&) {}
};

/// The measurements that `chosen` need, in the order of the table.
std::vector<std::unique_ptr<Measurement>> make_measurements(
    std::span<const diagnostics::Diagnostic* const> chosen, const MeasurementContext& context);

}  // namespace sinkscope::app
