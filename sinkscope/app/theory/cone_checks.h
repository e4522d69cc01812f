#pragma once

#include <memory>
#include <random>
#include <vector>

#include "sinkscope/app/theory/calculator.h"

namespace sinkscope::app {

inline constexpr double kIdentityTolerance = 1e-12;  // claims.md C5

/// The cone's closed forms against the test values of method.md section 12.
std::vector<store::SheetRow> cone_test_values();

/// Largest residual of the exact identity on vectors of a cone, vectors of no model, and equal
/// ones; at most 512 of each.
double cone_identity_residual(int64_t count, int64_t width, std::mt19937_64& random);

/// `theory cone --norm-stability`.
std::unique_ptr<Calculator> make_norm_stability(const ConeOptions& options);

}  // namespace sinkscope::app
