#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sinkscope/store/run_facts.h"
#include "sinkscope/store/run_result.h"
#include "sinkscope/store/store.h"

namespace sinkscope::report {

/// Labels of the tokens of `sequence`, empty where the run stored none. Throws kBadFile naming both
/// numbers when there are not as many labels as tokens: nothing is shown with shifted labels.
std::vector<std::string> labels_of(const store::RunFacts& facts,
                                   const store::SequenceInfo& sequence);

/// Where the patches of a run's images lie among the positions: after `prefix` tokens, row by row.
struct PatchGrid {
  int64_t rows, columns, prefix;
};

/// Absent for texts and where images have different grids. Throws kBadFile naming the numbers when
/// the grid is none or a sequence has another number of tokens.
std::optional<PatchGrid> patch_grid(const store::RunResult& run, const store::RunFacts& facts);

/// What people call the positions of a run: "CLS", "register 0", "patch (2, 5)" in images,
/// "position 5" in texts and where it is not the same in every image.
class PositionNames {
 public:
  /// Throws as patch_grid and labels_of.
  PositionNames(const store::RunResult& run, const store::RunFacts& facts);
  /// Without control bytes, whatever the store holds; negative: the learned sink logit.
  std::string operator()(double position) const;

 private:
  std::optional<PatchGrid> grid_;
  std::vector<std::string> prefix_;
};

}  // namespace sinkscope::report
