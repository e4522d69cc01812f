#include "sinkscope/report/csv.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "sinkscope/report/text.h"
#include "sinkscope/store/run_facts.h"

namespace sinkscope::report {
namespace {

using store::RunResult;
using store::StoredMetric;

void write_header(const std::vector<StoredMetric>& metrics, std::ostream& out) {
  out << "model,revision,step,seq_len,layer,head";
  for (const StoredMetric& metric : metrics) {
    const std::string key = metric_key(metric.name);
    for (int i = 0; i < metric.width; ++i) {
      out << ',' << csv_field(metric.width == 1 ? key : fmt::format("{}_{}", key, i));
    }
  }
  out << '\n';
}

std::string value_field(const StoredMetric& metric, double value) {
  if (!std::isfinite(value)) return "";
  if (metric.name == "class" && value >= 0 && value <= 4) {
    return std::string(
        diagnostics::class_name(static_cast<diagnostics::HeadClass>(static_cast<int>(value))));
  }
  return fmt::format("{}", value);  // the shortest text that reads back as the same number
}

}  // namespace

void write_csv(const RunResult& run, std::ostream& out) {
  const store::RunIdentity identity = store::read_identity(run.identity);
  const store::RunFacts facts = store::read_facts(run.facts);
  const auto metrics = run.metrics_of(diagnostics::Scope::kHead);
  write_header(metrics, out);
  const std::string front =
      fmt::format("{},{},{},{}", csv_field(facts.model_path), csv_field(identity.revision),
                  identity.step, identity.seq_len);
  for (int l = 0; l < run.layers; ++l) {
    for (int h = 0; h < run.heads; ++h) {
      if (!run.measured(l, h)) continue;
      out << front << ',' << l << ',' << h;
      for (const StoredMetric& metric : metrics) {
        for (int i = 0; i < metric.width; ++i) {
          out << ',' << value_field(metric, run.head(metric.name, l, h, i));
        }
      }
      out << '\n';
    }
  }
}

}  // namespace sinkscope::report
