#include "sinkscope/report/json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "sinkscope/report/advice.h"
#include "sinkscope/report/labels.h"
#include "sinkscope/report/text.h"
#include "sinkscope/store/run_facts.h"

namespace sinkscope::report {
namespace {

using diagnostics::Aggregate;
using diagnostics::HeadClass;
using diagnostics::Scope;
using store::RunFacts;
using store::RunIdentity;
using store::RunResult;
using store::StoredMetric;
using Json = nlohmann::ordered_json;

/// A count, an index: written without ".0".
Json whole(double value) {
  if (!std::isfinite(value) || std::abs(value) >= 0x1p53 || value != std::floor(value))
    return number(value);
  return static_cast<int64_t>(value);
}

Json metric_number(const StoredMetric& metric, double value) {
  const bool counts = metric.aggregate == Aggregate::kMode || metric.aggregate == Aggregate::kSum;
  return counts ? whole(value) : number(value);
}

/// One number, or an array of `width`; `at(i)` gives the entries.
template <typename At>
Json metric_value(const StoredMetric& metric, At at) {
  if (metric.width == 1) return metric_number(metric, at(0));
  Json values = Json::array();
  for (int i = 0; i < metric.width; ++i) values.push_back(metric_number(metric, at(i)));
  return values;
}

Json tool_object(const RunFacts& facts) {
  return {{"name", facts.tool_name}, {"version", facts.tool_version}, {"git", facts.tool_git}};
}

Json model_object(const RunResult& run, const RunIdentity& identity, const RunFacts& facts) {
  return {{"path", facts.model_path},
          {"format", facts.model_format},
          {"family", identity.model_family},
          {"sha256", identity.model_sha256},
          {"layers", run.layers},
          {"heads", run.heads},
          {"kv_heads", run.kv_heads},
          {"head_dim", facts.head_dim},
          {"d_model", facts.d_model},
          {"vocab", facts.vocab},
          {"parameters", facts.parameters},
          {"causal", facts.causal},
          {"dtype", identity.dtype},
          {"weights", facts.model_weights}};
}

Json patch_grid_object(const RunResult& run, const RunFacts& facts) {
  const std::optional<PatchGrid> grid = patch_grid(run, facts);
  if (!grid) return nullptr;
  return {{"rows", grid->rows}, {"columns", grid->columns}, {"prefix", grid->prefix}};
}

Json inputs_object(const RunResult& run, const RunIdentity& identity, const RunFacts& facts) {
  return {{"kind", identity.inputs_kind},
          {"sequences", run.sequences.size()},
          {"seq_len", identity.seq_len},
          {"skipped", facts.skipped},
          {"bos", identity.bos},
          {"bos_id", facts.bos_id ? Json(*facts.bos_id) : Json()},
          {"first_tokens", facts.first_tokens},
          {"sha256", identity.inputs_sha256},
          {"patch_grid", patch_grid_object(run, facts)}};
}

Json thresholds_object(const diagnostics::Thresholds& t) {
  return {{"epsilon", number(t.epsilon)},
          {"min_queries", t.min_queries},
          {"event_query_share", number(t.event_query_share)},
          {"event_mass", number(t.event_mass)},
          {"nop_ratio", number(t.nop_ratio)},
          {"broadcast_ratio", number(t.broadcast_ratio)},
          {"broadcast_stable_rank", number(t.broadcast_stable_rank)},
          {"massive_abs", number(t.massive_abs)},
          {"massive_ratio", number(t.massive_ratio)},
          {"min_lift", number(t.min_lift)}};
}

Json timing_object(const RunFacts& facts) {
  return {{"load_s", number(facts.load_s)},
          {"forward_s", number(facts.forward_s)},
          {"tokens_per_s", number(facts.tokens_per_s)},
          {"peak_rss_mb", number(facts.peak_rss_mb)}};
}

Json class_json(double code) {
  if (!(code >= 0 && code <= static_cast<double>(HeadClass::kTooShort))) return nullptr;
  return diagnostics::class_name(static_cast<HeadClass>(static_cast<int>(code)));
}

Json class_totals(const RunResult& run) {
  std::map<int, int64_t> heads;
  for (int l = 0; l < run.layers; ++l) {
    for (int h = 0; h < run.heads; ++h) {
      const double code = run.head("class", l, h);
      if (std::isfinite(code)) ++heads[static_cast<int>(code)];
    }
  }
  Json totals = Json::object();
  for (const auto c :
       {HeadClass::kNone, HeadClass::kNop, HeadClass::kBroadcast, HeadClass::kOther}) {
    totals[std::string(diagnostics::class_name(c))] = heads[static_cast<int>(c)];
  }
  return totals;
}

/// Channels that hold massive activations, by the largest |x| of the three places of any layer.
Json massive_channels(const RunResult& run) {
  std::map<int64_t, double> largest;
  for (int l = 0; l < run.layers; ++l) {
    for (int i = 0; std::isfinite(run.layer("massive_channels", l, i)); ++i) {
      largest.try_emplace(static_cast<int64_t>(run.layer("massive_channels", l, i)), 0);
    }
  }
  for (int l = 0; l < run.layers; ++l) {
    for (int i = 0; i < 3 && std::isfinite(run.layer("top_activations", l, 3 * i)); ++i) {
      const auto found = largest.find(static_cast<int64_t>(run.layer("top_activations", l, 3 * i)));
      if (found == largest.end()) continue;
      found->second = std::max(found->second, std::abs(run.layer("top_activations", l, 3 * i + 2)));
    }
  }
  std::vector<std::pair<double, int64_t>> order;
  for (const auto& [channel, size] : largest) order.emplace_back(-size, channel);
  std::sort(order.begin(), order.end());
  Json channels = Json::array();
  for (const auto& entry : order) channels.push_back(entry.second);
  return channels;
}

Json summary_object(const RunResult& run) {
  const int formation = run.formation_layer();
  const double loss = run.sequence("loss");
  Json summary = {{"sink_rate", number(run.sink_rate(0, run.layers - 1))},
                  {"sink_rate_from_layer_2", number(run.sink_rate(2, run.layers - 1))},
                  {"formation_layer", formation < 0 ? Json() : Json(formation)},
                  {"classes", class_totals(run)},
                  {"massive_channels", massive_channels(run)},
                  {"loss", number(loss)},
                  {"perplexity", number(std::exp(loss))}};
  for (const StoredMetric& metric : run.metrics_of(Scope::kSequence)) {
    if (metric.name == "loss") continue;
    summary[metric.name] =
        metric_value(metric, [&](int i) { return run.sequence(metric.name, i); });
  }
  return summary;
}

Json head_object(const RunResult& run, const std::vector<StoredMetric>& metrics, int l, int h) {
  const auto value = [&](std::string_view name) { return run.head(name, l, h); };
  Json alpha = Json::array();
  for (int k = 0; k < 4; ++k) alpha.push_back(number(run.head("alpha", l, h, k)));
  Json head = {{"layer", l},
               {"head", h},
               {"kv_head", h / (run.heads / run.kv_heads)},
               {"alpha", std::move(alpha)},
               {"sink_share", number(value("sink"))},
               {"sink_index", whole(value("sink_index"))},
               {"sink_index_share", number(value("sink_index_share"))},
               {"event_share", number(value("event"))},
               {"class", class_json(value("class"))}};
  for (const char* name : {"ratio_head", "ratio_out", "stable_rank", "common_mode", "entropy",
                           "self_mass", "qk_top_share"}) {
    head[name] = number(value(name));
  }
  for (const StoredMetric& metric : metrics) {
    const std::string key = metric_key(metric.name);
    if (head.contains(key)) continue;
    head[key] = metric_value(metric, [&](int i) { return run.head(metric.name, l, h, i); });
  }
  return head;
}

Json top_activations(const RunResult& run, int l) {
  Json tops = Json::array();
  for (int i = 0; std::isfinite(run.layer("top_activations", l, 3 * i + 2)); ++i) {
    tops.push_back({{"channel", whole(run.layer("top_activations", l, 3 * i))},
                    {"position", whole(run.layer("top_activations", l, 3 * i + 1))},
                    {"value", number(run.layer("top_activations", l, 3 * i + 2))}});
  }
  return tops;
}

Json layer_object(const RunResult& run, const std::vector<StoredMetric>& metrics, int l) {
  const auto value = [&](std::string_view name) { return number(run.layer(name, l)); };
  Json layer = {{"layer", l},
                {"resid_norm_p0", value("resid_norm_p0")},
                {"resid_norm_median", value("resid_norm_median")},
                {"top_activations", top_activations(run, l)},
                {"median_abs", value("median_abs")},
                {"cos_p0_max", value("cos_p0_max")},
                {"cos_p0_mean", value("cos_p0_mean")},
                {"cos_pair_mean", value("cos_pair_mean")}};
  for (const StoredMetric& metric : metrics) {
    if (layer.contains(metric.name)) continue;
    layer[metric.name] = metric_value(metric, [&](int i) { return run.layer(metric.name, l, i); });
  }
  return layer;
}

Json advice_objects(const RunResult& run) {
  Json advice = Json::array();
  for (const Finding& finding : find_advice(run)) {
    advice.push_back({{"about", finding.key},
                      {"text", finding.text},
                      {"loss_change", number(finding.number)},
                      {"evidence", finding.evidence}});
  }
  return advice;
}

Json identity_object(const RunResult& run) {
  Json identity = Json::object();
  for (const auto& [key, text] : run.identity) {
    const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    identity[key] = value.is_discarded() ? Json(text) : value;
  }
  return identity;
}

Json metric_objects(const RunResult& run) {
  static const std::map<Scope, const char*> scopes = {
      {Scope::kHead, "head"}, {Scope::kLayer, "layer"}, {Scope::kSequence, "sequence"}};
  static const std::map<Aggregate, const char*> rules = {{Aggregate::kMean, "mean"},
                                                         {Aggregate::kMode, "mode"},
                                                         {Aggregate::kSum, "sum"},
                                                         {Aggregate::kMax, "max"}};
  Json metrics = Json::array();
  for (const StoredMetric& metric : run.metrics) {
    metrics.push_back({{"name", metric_key(metric.name)},
                       {"unit", metric.unit},
                       {"scope", scopes.at(metric.scope)},
                       {"width", metric.width},
                       {"aggregate", rules.at(metric.aggregate)},
                       {"definition", metric.definition}});
  }
  return metrics;
}

}  // namespace

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json scan_document(const RunResult& run) {
  const RunIdentity identity = store::read_identity(run.identity);
  const RunFacts facts = store::read_facts(run.facts);
  Json heads = Json::array(), layers = Json::array();
  const auto head_metrics = run.metrics_of(Scope::kHead),
             layer_metrics = run.metrics_of(Scope::kLayer);
  for (int l = 0; l < run.layers; ++l) {
    if (!run.measured(l)) continue;
    layers.push_back(layer_object(run, layer_metrics, l));
    for (int h = 0; h < run.heads; ++h) {
      if (run.measured(l, h)) heads.push_back(head_object(run, head_metrics, l, h));
    }
  }
  return {{"schema", "sinkscope.scan/1"},
          {"tool", tool_object(facts)},
          {"model", model_object(run, identity, facts)},
          {"inputs", inputs_object(run, identity, facts)},
          {"thresholds", thresholds_object(identity.thresholds)},
          {"summary", summary_object(run)},
          {"heads", std::move(heads)},
          {"layers", std::move(layers)},
          {"advice", advice_objects(run)},
          {"warnings", facts.warnings},
          {"timing", timing_object(facts)}};
}

Json run_document(const RunResult& run) {
  const RunIdentity identity = store::read_identity(run.identity);
  const RunFacts facts = store::read_facts(run.facts);
  Json sequences = Json::array();
  for (const store::SequenceInfo& sequence : run.sequences) {
    sequences.push_back({{"id", sequence.id},
                         {"source", sequence.source},
                         {"start", sequence.start},
                         {"tokens", sequence.tokens()},
                         {"ids", sequence.ids},
                         {"labels", labels_of(facts, sequence)}});
  }
  return {{"schema", "sinkscope.run/1"},
          {"tool", tool_object(facts)},
          {"model", model_object(run, identity, facts)},
          {"inputs", inputs_object(run, identity, facts)},
          {"thresholds", thresholds_object(identity.thresholds)},
          {"warnings", facts.warnings},
          {"timing", timing_object(facts)},
          {"identity", identity_object(run)},
          {"sequences", std::move(sequences)},
          {"metrics", metric_objects(run)}};
}

std::string compact_text(const Json& value) {
  // replace: a store that someone else wrote may hold text that is no UTF-8.
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write_document(const Json& document, std::ostream& out) {
  out << "{";
  const char* separator = "\n  ";
  for (const auto& [key, value] : document.items()) {
    out << separator << compact_text(key) << ": ";
    separator = ",\n  ";
    const bool rows = value.is_array() && !value.empty() && value.front().is_structured();
    if (!rows) {
      out << compact_text(value);
      continue;
    }
    const char* before = "[\n    ";
    for (const Json& row : value) {
      out << before << compact_text(row);
      before = ",\n    ";
    }
    out << "\n  ]";
  }
  out << "\n}\n";
}

void write_json(const RunResult& run, std::ostream& out) {
  write_document(scan_document(run), out);
}

void write_run_json(const RunResult& run, std::ostream& out) {
  write_document(run_document(run), out);
}

}  // namespace sinkscope::report
