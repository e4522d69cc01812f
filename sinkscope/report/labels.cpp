#include "sinkscope/report/labels.h"

#include "sinkscope/base/error.h"

namespace sinkscope::report {

std::vector<std::string> labels_of(const store::RunFacts& facts,
                                   const store::SequenceInfo& sequence) {
  if (sequence.id < 0 || sequence.id >= std::ssize(facts.labels)) return {};
  const auto& labels = facts.labels[static_cast<size_t>(sequence.id)];
  if (labels.size() != sequence.ids.size()) {
    throw Error(ErrorKind::kBadFile, "label tokens",
                "sequence " + std::to_string(sequence.id) + " has " +
                    std::to_string(sequence.ids.size()) + " tokens and " +
                    std::to_string(labels.size()) + " labels",
                "the store is damaged; restore it from a copy, or measure again with --overwrite");
  }
  return labels;
}

}  // namespace sinkscope::report
