#include "sinkscope/base/error.h"
#include "sinkscope/diagnostics/diagnostic.h"

namespace sinkscope::diagnostics {

std::span<double> Record::values(const MetricInfo& metric, int layer) {
  if (layer < 0 || layer >= layers_) {
    throw Error(ErrorKind::kInternal, "record a metric",
                std::string(metric.name) + " at layer " + std::to_string(layer) + " of " +
                    std::to_string(layers_));
  }
  auto found = values_.find(metric.name);
  if (found == values_.end()) {
    found =
        values_.emplace(std::string(metric.name), std::vector<std::vector<double>>(layers_)).first;
  }
  std::vector<double>& values = found->second[static_cast<size_t>(layer)];
  const int owners = metric.scope == Scope::kHead ? heads_ : 1;
  if (values.empty()) values.assign(static_cast<size_t>(owners) * metric.width, kNoData);
  return values;
}

std::span<const double> Record::find(std::string_view metric, int layer) const {
  const auto found = values_.find(metric);
  if (found == values_.end() || layer < 0 || layer >= layers_) return {};
  return found->second[static_cast<size_t>(layer)];
}

}  // namespace sinkscope::diagnostics
