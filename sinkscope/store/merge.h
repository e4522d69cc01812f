#pragma once

#include <span>
#include <vector>

#include "sinkscope/store/store.h"

namespace sinkscope::store {

/// Adds `more` to `sum`, whose positions may be fewer. Throws kInternal when arrays do not fit the
/// positions or the two have other numbers of heads.
void add_curve(Curve& sum, const Curve& more);

/// Adds `more` to `sum`; the shorter one counts as continued with zeros.
void add_sum(std::vector<double>& sum, std::span<const double> more);

}  // namespace sinkscope::store
