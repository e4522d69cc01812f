#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "sinkscope/app/console.h"
#include "sinkscope/app/inputs.h"
#include "sinkscope/app/options.h"
#include "sinkscope/forward/runner.h"
#include "sinkscope/model/model.h"
#include "sinkscope/store/run_facts.h"
#include "sinkscope/text/tokenizer.h"

namespace sinkscope::app {

/// A model that is open and the inputs that will run through it.
struct Session {
  std::unique_ptr<model::Model> model;
  std::unique_ptr<text::Tokenizer> tokenizer;  ///< null when the model's files bring none
  std::future<std::string> model_hash;         ///< the file is hashed while the first things happen
  Inputs inputs;
};

/// Throws what opening and reading throw, kUsage for flags out of range and for sequences longer
/// than the model was made for without --beyond-context, kUnsupported for other devices.
Session open_session(const RunModelOptions& options);

int64_t longest(const std::vector<store::SequenceInfo>& sequences);

/// Sequences that share one reading of the weights.
using Batch = std::vector<const store::SequenceInfo*>;
/// Cut by the inputs alone, so that a resumed run has the same batches as an uninterrupted one.
std::vector<Batch> cut_batches(const std::vector<store::SequenceInfo>& sequences,
                               int64_t batch_tokens);

forward::RunOptions run_options(const RunModelOptions& options);

/// What the options and the session say of a run's identity; waits for the hash.
store::RunIdentity identity_of(Session& session, const RunModelOptions& options);
/// What is known of model and inputs, without timing.
store::RunFacts facts_of(const Session& session);

/// Model, inputs, first tokens, planned memory (without readings: not yet known) and warnings on
/// stderr.
void announce(const Session& session, const RunModelOptions& options, int64_t planned_bytes,
              size_t readings, Console& console);

}  // namespace sinkscope::app
