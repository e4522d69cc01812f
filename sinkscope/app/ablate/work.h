#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "sinkscope/app/ablate/intervention.h"
#include "sinkscope/forward/runner.h"
#include "sinkscope/store/effects.h"

namespace sinkscope::app {

/// One edited run of one sequence.
struct WorkItem {
  const Intervention* intervention = nullptr;
  int64_t layer = -1, head = -1;
  size_t sequence = 0;               // place in the run
  std::vector<forward::Edit> edits;  // all but kTokens
  TokenVariant variant;              // kTokens
};

/// Everything that is to be done, by sequence, and what a reader of the results has to know.
struct Work {
  std::vector<WorkItem> items;
  std::vector<std::string> notes;  ///< what touches nothing, what is identical by construction
};

/// Heads that --heads names, as (layer, head). "auto": those with a sink event or a conditional
/// sink in some sequence.
/// Throws kNoEffect when there is none, kUsage for a wrong list.
std::vector<std::pair<int64_t, int64_t>> chosen_heads(const AblateOptions& options,
                                                      const model::ModelSpec& spec,
                                                      std::span<const SequenceFacts> facts);

/// Items of every chosen intervention that are not in `done`. An intervention that touches nothing
/// anywhere is left out with a note where "all" chose it; throws kNoEffect where it was named, or
/// when nothing is left.
Work make_work(std::span<const Intervention* const> interventions, const AblateOptions& options,
               const model::ModelSpec& spec, std::span<const SequenceFacts> facts,
               std::span<const store::SequenceInfo* const> sequences,
               std::span<const store::Effect> done);

/// The items from `first` on that run in one pass: forks of as many sequences as fit into `limit`
/// bytes, at least one; or the token variants of one sequence.
size_t items_of_pass(const Work& work, size_t first, const forward::Runner& runner,
                     const model::ModelSpec& spec,
                     std::span<const store::SequenceInfo* const> sequences, int64_t limit);

}  // namespace sinkscope::app
