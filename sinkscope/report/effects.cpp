#include "sinkscope/report/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sinkscope/report/json.h"
#include "sinkscope/report/text.h"
#include "sinkscope/store/run_facts.h"

namespace sinkscope::report {
namespace {

using store::Effect;
using Json = nlohmann::ordered_json;

/// Mean and standard error over the finite values.
std::pair<double, double> mean_and_error(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double v : values) sum += v;
  const auto n = static_cast<double>(values.size());
  if (values.empty()) return {diagnostics::kNoData, diagnostics::kNoData};
  const double mean = sum / n;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return {mean, values.size() > 1 ? std::sqrt(squares / (n - 1) / n) : diagnostics::kNoData};
}

EffectRow summarise(std::span<const Effect* const> group) {
  EffectRow row;
  row.intervention = group[0]->intervention;
  row.layer = group[0]->layer, row.head = group[0]->head;
  row.sequences = std::ssize(group);
  std::map<int64_t, int> keys;
  for (const Effect* e : group) ++keys[e->key];
  int most = 0;
  for (const auto& [key, times] : keys) {
    if (times > most) row.key = key, most = times;
  }
  row.same_key = keys.size() == 1;
  std::vector<double> values;
  const auto collect = [&](auto value_of) {
    values.clear();
    for (const Effect* e : group) {
      if (std::isfinite(value_of(*e))) values.push_back(value_of(*e));
    }
    return mean_and_error(values);
  };
  for (const store::EffectMetric& metric : store::effect_metrics()) {
    const double mean = collect([&](const Effect& e) {
                          const double value = e.*metric.value;
                          return metric.squares ? value * value : value;
                        }).first;
    row.mean.push_back(metric.squares ? std::sqrt(mean) : mean);
  }
  std::tie(row.loss_change, row.loss_change_sem) =
      collect([](const Effect& e) { return e.loss - e.loss_base; });
  return row;
}

}  // namespace

double mean_of(const EffectRow& row, double Effect::*value) {
  const auto metrics = store::effect_metrics();
  for (size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].value == value) return row.mean[i];
  }
  return diagnostics::kNoData;
}

std::vector<EffectRow> summarise_effects(std::span<const Effect> effects) {
  std::map<std::tuple<std::string, int64_t, int64_t>, std::vector<const Effect*>> groups;
  for (const Effect& e : effects) groups[{e.intervention, e.layer, e.head}].push_back(&e);
  std::vector<EffectRow> rows;
  for (const auto& entry : groups) rows.push_back(summarise(entry.second));
  return rows;
}

bool are_squared_errors(std::span<const EffectRow> rows) {
  const auto any = [&](double Effect::*value) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const EffectRow& row) { return std::isfinite(mean_of(row, value)); });
  };
  return any(&Effect::loss) && !any(&Effect::kl);
}

void write_effects_json(const store::EffectStore& store, std::ostream& out) {
  const store::Facts identity_text = store.identity();
  const store::RunIdentity identity = store::read_identity(identity_text);
  const store::RunFacts facts = store::read_facts(store.facts());
  Json settings = Json::object(), metrics = Json::array(), rows = Json::array();
  for (const auto& [key, text] : identity_text) {
    if (!key.starts_with("ablate.")) continue;
    const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    settings[key.substr(7)] = value.is_discarded() ? Json(text) : value;
  }
  const std::vector<EffectRow> summary = summarise_effects(store.effects());
  const bool squared = are_squared_errors(summary);
  for (const store::EffectMetric& m : store::effect_metrics()) {
    const std::string_view unit = squared && m.unit == "nats" ? "squared error" : m.unit;
    metrics.push_back({{"name", m.name}, {"unit", unit}, {"definition", m.definition}});
  }
  for (const EffectRow& row : summary) {
    Json object = {{"intervention", row.intervention},
                   {"layer", row.layer < 0 ? Json() : Json(row.layer)},
                   {"head", row.head < 0 ? Json() : Json(row.head)},
                   {"sequences", row.sequences},
                   {"key", row.key < 0 ? Json() : Json(row.key)},
                   {"loss_change", number(row.loss_change)},
                   {"loss_change_sem", number(row.loss_change_sem)},
                   {"perplexity_ratio", squared ? Json() : number(std::exp(row.loss_change))}};
    for (size_t i = 0; i < row.mean.size(); ++i) {
      object[std::string(store::effect_metrics()[i].name)] = number(row.mean[i]);
    }
    rows.push_back(std::move(object));
  }
  write_document(
      {{"schema", "sinkscope.ablate/1"},
       {"tool",
        {{"name", facts.tool_name}, {"version", facts.tool_version}, {"git", facts.tool_git}}},
       {"model",
        {{"path", facts.model_path},
         {"family", identity.model_family},
         {"sha256", identity.model_sha256},
         {"layers", facts.layers},
         {"heads", facts.heads},
         {"dtype", identity.dtype}}},
       {"inputs",
        {{"kind", identity.inputs_kind},
         {"sequences", identity.sequences},
         {"seq_len", identity.seq_len},
         {"bos", identity.bos},
         {"seed", identity.seed},
         {"sha256", identity.inputs_sha256}}},
       {"settings", std::move(settings)},
       {"metrics", std::move(metrics)},
       {"rows", std::move(rows)},
       {"warnings", facts.warnings},
       {"timing",
        {{"forward_s", number(facts.forward_s)}, {"peak_rss_mb", number(facts.peak_rss_mb)}}}},
      out);
}

void write_effects_csv(const store::EffectStore& store, std::ostream& out) {
  out << "intervention,layer,head,sequence,key";
  for (const store::EffectMetric& metric : store::effect_metrics()) out << ',' << metric.name;
  out << '\n';
  const auto place = [](int64_t value) {
    return value < 0 ? std::string() : fmt::format("{}", value);
  };
  for (const Effect& e : store.effects()) {
    out << fmt::format("{},{},{},{},{}", e.intervention, place(e.layer), place(e.head), e.sequence,
                       place(e.key));
    for (const store::EffectMetric& metric : store::effect_metrics()) {
      const double value = e.*metric.value;
      out << ',';
      if (std::isfinite(value)) out << fmt::format("{}", value);
    }
    out << '\n';
  }
}

}  // namespace sinkscope::report
