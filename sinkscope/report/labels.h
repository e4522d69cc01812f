#pragma once

#include <string>
#include <vector>

#include "sinkscope/store/run_facts.h"
#include "sinkscope/store/store.h"

namespace sinkscope::report {

/// Labels of the tokens of `sequence`, empty where the run stored none. Throws kBadFile naming both
/// numbers when there are not as many labels as tokens: nothing is shown with shifted labels.
std::vector<std::string> labels_of(const store::RunFacts& facts,
                                   const store::SequenceInfo& sequence);

}  // namespace sinkscope::report
