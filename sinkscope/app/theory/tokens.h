#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sinkscope/app/console.h"
#include "sinkscope/app/theory/options.h"
#include "sinkscope/store/store.h"
#include "sinkscope/theory/clouds.h"

namespace sinkscope::app {

/// One set of tokens of a sweep.
struct TokenCase {
  std::string name;  ///< of the geometry; "layer 3, sequence 0"; the file
  int64_t tokens = 0, width = 0;
  double sine = 0;     ///< of a cross-polytope; 0 for others
  std::string source;  ///< what differs between lines of a plot besides T: name, d if swept, sine
  theory::CloudRequest request;  ///< of a generated geometry, for closed forms
  std::function<theory::Cloud()> make;
};

struct TokenCases {
  std::vector<TokenCase> cases;
  store::Facts settings;  ///< that say which tokens these are; a model's and a file's by hash
};

/// Every geometry, T, d and sine that the options name, or the tokens of a file or of a model's
/// layers cut to each T. A model runs once, here. Throws kUsage for what does not fit.
TokenCases token_cases(const CloudOptions& options, uint64_t seed, Console& console);

}  // namespace sinkscope::app
