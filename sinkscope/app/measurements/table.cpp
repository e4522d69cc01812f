#include "sinkscope/app/measurements/table.h"

#include <algorithm>

namespace sinkscope::app {
namespace {

using diagnostics::Part;

struct Row {
  Part part;
  std::unique_ptr<Measurement> (*make)(const MeasurementContext&);
};

constexpr Row kTable[] = {
    {Part::kValues, values_measurement},
    {Part::kResidual, residual_measurement},
    {Part::kSimilarity, similarity_measurement},
    {Part::kBranches, branches_measurement},
    {Part::kLoss, loss_measurement},
    {Part::kSpectrum, spectrum_measurement},
    {Part::kSelection, selection_measurement},
    {Part::kSmoothing, smoothing_measurement},
    {Part::kRouting, routing_measurement},
    {Part::kTypes, types_measurement},
    {Part::kCircuit, circuit_measurement},
    {Part::kRange, range_measurement},
    {Part::kGeometry, geometry_measurement},
    {Part::kWeightSize, weight_size_measurement},
};

bool needed(std::span<const diagnostics::Diagnostic* const> chosen, Part part) {
  return std::any_of(chosen.begin(), chosen.end(), [part](const auto* diagnostic) {
    return std::find(diagnostic->needs.begin(), diagnostic->needs.end(), part) !=
           diagnostic->needs.end();
  });
}

}  // namespace

std::vector<std::unique_ptr<Measurement>> make_measurements(
    std::span<const diagnostics::Diagnostic* const> chosen, const MeasurementContext& context) {
  std::vector<std::unique_ptr<Measurement>> measurements;
  for (const Row& row : kTable) {
    if (needed(chosen, row.part)) measurements.push_back(row.make(context));
  }
  return measurements;
}

}  // namespace sinkscope::app
