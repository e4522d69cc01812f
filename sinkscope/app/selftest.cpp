#include "sinkscope/app/selftest.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/diagnostics/planted.h"
#include "sinkscope/diagnostics/summary.h"
#include "sinkscope/forward/kernels/attention.h"
#include "sinkscope/report/json.h"
#include "sinkscope/stats/head_attention.h"
#include "sinkscope/stats/update_moments.h"
#include "sinkscope/stats/value_norms.h"
#include "sinkscope/store/run_facts.h"
#include "sinkscope/store/run_result.h"

namespace sinkscope::app {
namespace {

using diagnostics::PlantedHead;
using nlohmann::ordered_json;

/// Runs a planted head through the attention kernel: with k_j = e_j and q_i = log A_i the logits
/// are log A_ij, so softmax gives the planted rows back. Zero weights become logits of -100.
struct PlantedRun {
  at::Tensor context;  ///< [T, K]
  at::Tensor values;   ///< [T, 1, K]
  forward::AttentionSums sums;
  forward::Visibility visibility;
};

PlantedRun run_planted(const PlantedHead& head, double event_mass) {
  const int64_t tokens = head.tokens, width = std::max(head.tokens, head.width);
  PlantedRun run;
  at::Tensor q = at::zeros({tokens, width}), k = at::zeros({tokens, width}),
             v = at::zeros({tokens, width});
  auto query = q.accessor<float, 2>();
  auto value = v.accessor<float, 2>();
  for (int64_t i = 0; i < tokens; ++i) {
    k[i][i] = 1;
    for (int64_t j = 0; j < tokens; ++j) {
      const double a = head.attention[static_cast<size_t>(i * tokens + j)];
      query[i][j] = static_cast<float>(a > 0 ? std::log(a) : -100);
    }
    for (int64_t c = 0; c < head.width; ++c)
      value[i][c] = static_cast<float>(head.values[static_cast<size_t>(i * head.width + c)]);
  }
  run.context = at::empty({tokens, width});
  run.values = v.unsqueeze(1);
  run.visibility.causal = head.pattern.causal;
  run.visibility.window = head.pattern.window;
  run.sums.resize(tokens, false);
  forward::kernels::AttentionProblem problem;
  problem.tokens = tokens, problem.heads = 1, problem.kv_heads = 1, problem.width = width;
  problem.q = q.data_ptr<float>(), problem.k = k.data_ptr<float>(), problem.v = v.data_ptr<float>();
  problem.out = run.context.data_ptr<float>();
  problem.q_stride = problem.k_stride = problem.v_stride = problem.out_stride = width;
  problem.visibility = run.visibility;
  problem.event_mass = static_cast<float>(event_mass);
  problem.sums = &run.sums;
  forward::kernels::attention_cpu(&problem, 1, 1);
  return run;
}

/// kernel -> statistics -> diagnostics -> store -> result: the class as a report would show it.
store::RunResult measure_planted(const PlantedHead& head) {
  const diagnostics::Thresholds thresholds;
  const PlantedRun run = run_planted(head, thresholds.event_mass);
  stats::HeadAttention attention(head.tokens, thresholds.event_mass);
  attention.add(run.sums, run.visibility);
  const at::Tensor gram = at::eye(run.context.size(1)).unsqueeze(0);
  const std::vector<stats::ValueNorms> norms = stats::value_norms(run.values, gram);
  diagnostics::LayerInput input;
  input.tokens = head.tokens;
  stats::HeadValues values;
  values.attention = &attention.value();
  values.norms = &norms[0];
  values.update = [&] {
    stats::UpdateMoments moments(run.context.size(1));
    moments.add(run.context);
    return moments.value(gram[0]);
  };
  input.heads.push_back(values);
  diagnostics::Record record(1, 1);
  const auto store = store::Store::in_memory();
  store->set_identity(store::to_facts(store::RunIdentity{}));
  for (const std::string_view name : {"sink", "values", "update", "mechanism"}) {
    const diagnostics::Diagnostic& diagnostic = diagnostics::find_diagnostic(name);
    diagnostic.measure_layer(input, thresholds, record);
    store->put_metrics(diagnostic.metrics);
  }
  store::SequenceInfo sequence{0, head.name, 0,
                               std::vector<int32_t>(static_cast<size_t>(head.tokens))};
  const store::Store::Finished finished{&sequence, &record};
  store->put_batch({&finished, 1}, {});
  store::RunFacts facts;
  facts.layers = facts.heads = facts.kv_heads = 1;
  store::put_facts(*store, facts);
  return store::read_run(*store);
}

}  // namespace

int selftest(const SelftestOptions& options, Console& console) {
  ordered_json rows = ordered_json::array();
  int failed = 0;
  for (const PlantedHead& head : diagnostics::planted_heads()) {
    const store::RunResult run = measure_planted(head);
    const auto found =
        static_cast<diagnostics::HeadClass>(static_cast<int>(run.head("class", 0, 0)));
    const bool sink = run.head("sink", 0, 0) > 0.5, short_input = run.head("too_short", 0, 0) > 0.5;
    const bool sink_right =
        head.expected_sink ? !short_input && sink == *head.expected_sink : short_input;
    const bool right = found == head.expected_class && sink_right;
    failed += !right;
    rows.push_back({{"head", head.name},
                    {"expected", diagnostics::class_name(head.expected_class)},
                    {"found", diagnostics::class_name(found)},
                    {"alpha", run.head("alpha_sink", 0, 0)},
                    {"ratio_out", run.head("ratio_out", 0, 0)},
                    {"stable_rank", run.head("stable_rank", 0, 0)},
                    {"right", right}});
  }
  if (options.format == "json") {
    report::write_document(
        {{"schema", "sinkscope.selftest/1"}, {"heads", rows}, {"failed", failed}}, console.out);
  } else {
    const auto number = [](double x) {
      return std::isnan(x) ? std::string("-") : fmt::format("{:.4f}", x);
    };
    console.out << fmt::format("{:<34} {:<10} {:<10} {:>8} {:>10} {:>12}\n", "planted head",
                               "expected", "found", "alpha", "ratio_out", "stable rank");
    for (const ordered_json& row : rows) {
      console.out << fmt::format(
          "{:<34} {:<10} {:<10} {:>8} {:>10} {:>12}  {}\n", row["head"].get<std::string>(),
          row["expected"].get<std::string>(), row["found"].get<std::string>(),
          number(row["alpha"].get<double>()), number(row["ratio_out"].get<double>()),
          number(row["stable_rank"].get<double>()), row["right"].get<bool>() ? "ok" : "WRONG");
    }
    console.out << fmt::format("\n{} planted heads, {} wrong\n", rows.size(), failed);
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace sinkscope::app
