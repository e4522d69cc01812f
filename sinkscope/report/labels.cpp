#include "sinkscope/report/labels.h"

#include <fmt/format.h>

#include <algorithm>

#include "sinkscope/base/error.h"
#include "sinkscope/report/text.h"

namespace sinkscope::report {
namespace {

constexpr double kMaxPosition = 0x1p53;  ///< beyond, a double is no exact count

Error damaged_labels(const std::string& seen) {
  return Error(ErrorKind::kBadFile, "label tokens", seen,
               "the store is damaged; restore it from a copy, or measure again with --overwrite");
}

/// Divides, so that no size in a store can overflow.
bool fits(const PatchGrid& grid, int64_t tokens) {
  if (grid.prefix > tokens) return false;
  const int64_t patches = tokens - grid.prefix;
  return patches % grid.columns == 0 && patches / grid.columns == grid.rows;
}

}  // namespace

std::vector<std::string> labels_of(const store::RunFacts& facts,
                                   const store::SequenceInfo& sequence) {
  if (sequence.id < 0 || sequence.id >= std::ssize(facts.labels)) return {};
  const auto& labels = facts.labels[static_cast<size_t>(sequence.id)];
  if (std::ssize(labels) != sequence.tokens()) {
    throw damaged_labels(fmt::format("sequence {} has {} tokens and {} labels", sequence.id,
                                     sequence.tokens(), labels.size()));
  }
  return labels;
}

std::optional<PatchGrid> patch_grid(const store::RunResult& run, const store::RunFacts& facts) {
  if (facts.patch_rows == 0 && facts.patch_columns == 0) return std::nullopt;
  const PatchGrid grid{facts.patch_rows, facts.patch_columns, facts.prefix_tokens};
  const std::string shape = fmt::format("{} + {} x {}", grid.prefix, grid.rows, grid.columns);
  if (grid.rows < 1 || grid.columns < 1 || grid.prefix < 0) {
    throw damaged_labels("images of " + shape + " tokens");
  }
  for (const store::SequenceInfo& sequence : run.sequences) {
    if (fits(grid, sequence.tokens())) continue;
    throw damaged_labels(fmt::format("sequence {} has {} tokens, the images have {}", sequence.id,
                                     sequence.tokens(), shape));
  }
  return grid;
}

PositionNames::PositionNames(const store::RunResult& run, const store::RunFacts& facts)
    : grid_(patch_grid(run, facts)) {
  for (const store::SequenceInfo& sequence : run.sequences) {
    prefix_ = labels_of(facts, sequence);
    if (!prefix_.empty()) break;
  }
  const int64_t prefix = std::clamp<int64_t>(facts.prefix_tokens, 0, std::ssize(prefix_));
  prefix_.resize(static_cast<size_t>(prefix));
}

std::string PositionNames::operator()(double position) const {
  if (position < 0) return "the learned sink logit";
  if (position < static_cast<double>(prefix_.size())) {
    return terminal_text(prefix_[static_cast<size_t>(position)]);
  }
  if (grid_ && position >= static_cast<double>(grid_->prefix) && position < kMaxPosition) {
    const int64_t patch = static_cast<int64_t>(position) - grid_->prefix;
    if (patch / grid_->columns < grid_->rows) {
      return fmt::format("patch ({}, {})", patch / grid_->columns, patch % grid_->columns);
    }
  }
  return fmt::format("position {:.0f}", position);
}

}  // namespace sinkscope::report
