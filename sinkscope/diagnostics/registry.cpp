#include <array>

#include "sinkscope/base/error.h"
#include "sinkscope/diagnostics/diagnostic.h"
#include "sinkscope/diagnostics/table.h"

namespace sinkscope::diagnostics {

std::span<const Diagnostic> all_diagnostics() {
  static const std::array table = {
      sink_diagnostic(),        values_diagnostic(),    update_diagnostic(),
      update_all_diagnostic(),  mechanism_diagnostic(), massive_diagnostic(),
      residual_diagnostic(),    branches_diagnostic(),  similarity_diagnostic(),
      loss_diagnostic(),        qk_diagnostic(),        selection_diagnostic(),
      smoothing_diagnostic(),   switch_diagnostic(),    mlp_diagnostic(),
      conditional_diagnostic(), types_diagnostic(),     circuit_diagnostic(),
      range_diagnostic(),       recommend_diagnostic(), geometry_diagnostic(),
      cost_diagnostic(),
  };
  return table;
}

const Diagnostic& find_diagnostic(std::string_view name) {
  std::string known;
  for (const Diagnostic& diagnostic : all_diagnostics()) {
    if (diagnostic.name == name) return diagnostic;
    known += (known.empty() ? "" : ", ") + std::string(diagnostic.name);
  }
  throw Error(ErrorKind::kUsage, "choose diagnostics",
              "there is no diagnostic \"" + std::string(name) + "\"", "known: " + known);
}

const MetricInfo* find_metric(std::string_view name) {
  for (const Diagnostic& diagnostic : all_diagnostics()) {
    for (const MetricInfo& metric : diagnostic.metrics) {
      if (metric.name == name) return &metric;
    }
  }
  return nullptr;
}

}  // namespace sinkscope::diagnostics
