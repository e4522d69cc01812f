#include "sinkscope/store/run_facts.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "sinkscope/store/errors.h"
#include "sinkscope/store/utf8.h"

namespace sinkscope::store {
namespace {

using nlohmann::json;

// Each list of keys stands here once; writing and reading both walk it.

template <typename Identity, typename Visit>
void walk_identity(Identity& identity, Visit visit) {
  visit("model.sha256", identity.model_sha256);
  visit("model.family", identity.model_family);
  visit("model.revision", identity.revision);
  visit("model.step", identity.step);
  visit("dtype", identity.dtype);
  visit("device", identity.device);
  visit("inputs.kind", identity.inputs_kind);
  visit("inputs.sha256", identity.inputs_sha256);
  visit("inputs.sequences", identity.sequences);
  visit("inputs.seq_len", identity.seq_len);
  visit("inputs.bos", identity.bos);
  visit("selection.layers", identity.layers);
  visit("selection.heads", identity.heads);
  visit("diagnostics", identity.diagnostics);
  visit("seed", identity.seed);
  visit("thresholds.epsilon", identity.thresholds.epsilon);
  visit("thresholds.min_queries", identity.thresholds.min_queries);
  visit("thresholds.min_lift", identity.thresholds.min_lift);
  visit("thresholds.event_query_share", identity.thresholds.event_query_share);
  visit("thresholds.event_mass", identity.thresholds.event_mass);
  visit("thresholds.nop_ratio", identity.thresholds.nop_ratio);
  visit("thresholds.broadcast_ratio", identity.thresholds.broadcast_ratio);
  visit("thresholds.broadcast_stable_rank", identity.thresholds.broadcast_stable_rank);
  visit("thresholds.massive_abs", identity.thresholds.massive_abs);
  visit("thresholds.massive_ratio", identity.thresholds.massive_ratio);
}

template <typename RunFactsType, typename Visit>
void walk_facts(RunFactsType& facts, Visit visit) {
  visit("tool.name", facts.tool_name);
  visit("tool.version", facts.tool_version);
  visit("tool.git", facts.tool_git);
  visit("model.path", facts.model_path);
  visit("model.format", facts.model_format);
  visit("model.weights", facts.model_weights);
  visit("model.layers", facts.layers);
  visit("model.heads", facts.heads);
  visit("model.kv_heads", facts.kv_heads);
  visit("model.head_dim", facts.head_dim);
  visit("model.d_model", facts.d_model);
  visit("model.vocab", facts.vocab);
  visit("model.parameters", facts.parameters);
  visit("model.causal", facts.causal);
  visit("inputs.skipped", facts.skipped);
  visit("inputs.bos_id", facts.bos_id);
  visit("inputs.first_tokens", facts.first_tokens);
  visit("inputs.labels", facts.labels);
  visit("inputs.patch_rows", facts.patch_rows);
  visit("inputs.patch_columns", facts.patch_columns);
  visit("inputs.prefix_tokens", facts.prefix_tokens);
  visit("warnings", facts.warnings);
  visit("timing.load_s", facts.load_s);
  visit("timing.forward_s", facts.forward_s);
  visit("timing.tokens_per_s", facts.tokens_per_s);
  visit("timing.peak_rss_mb", facts.peak_rss_mb);
}

template <typename T>
json to_json(const T& value) {
  return value;
}
json to_json(const std::string& value) { return valid_utf8(value); }
template <typename T>
json to_json(const std::optional<T>& value) {
  return value ? json(*value) : json();
}
template <typename T>
json to_json(const std::vector<T>& values) {
  json array = json::array();
  for (const T& value : values) array.push_back(to_json(value));
  return array;
}

struct WrongType {};

template <typename T>
void from_json_value(const json& value, T& out) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!value.is_boolean()) throw WrongType{};
  } else if constexpr (std::is_integral_v<T>) {
    if (!value.is_number_integer()) throw WrongType{};
    if (!value.is_number_unsigned() && std::is_unsigned_v<T>) throw WrongType{};
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!value.is_number()) throw WrongType{};
  } else {
    if (!value.is_string()) throw WrongType{};
  }
  out = value.get<T>();
}
void from_json_value(const json& value, double& out) {
  if (value.is_null()) {
    out = diagnostics::kNoData;
    return;
  }
  if (!value.is_number()) throw WrongType{};
  out = value.get<double>();
}
template <typename T>
void from_json_value(const json& value, std::optional<T>& out) {
  out.reset();
  if (!value.is_null()) from_json_value(value, out.emplace());
}
template <typename T>
void from_json_value(const json& value, std::vector<T>& out) {
  if (!value.is_array()) throw WrongType{};
  out.clear();
  for (const json& entry : value) from_json_value(entry, out.emplace_back());
}

/// Visitor that fills fields from `facts`.
auto reader(const Facts& facts) {
  return [&facts](const char* key, auto& field) {
    const auto found = facts.find(key);
    if (found == facts.end()) return;
    const json value = json::parse(found->second, nullptr, /*allow_exceptions=*/false);
    try {
      if (value.is_discarded()) throw WrongType{};
      from_json_value(value, field);
    } catch (const WrongType&) {
      throw damaged_store(std::string(key) + " is " + valid_utf8(found->second.substr(0, 80)));
    }
  };
}

/// Visitor that writes fields into `facts`.
auto writer(Facts& facts) {
  return [&facts](const char* key, const auto& field) { facts[key] = to_json(field).dump(); };
}

}  // namespace

Facts to_facts(const RunIdentity& identity) {
  Facts facts;
  walk_identity(identity, writer(facts));
  return facts;
}

RunIdentity read_identity(const Facts& facts) {
  RunIdentity identity;
  walk_identity(identity, reader(facts));
  return identity;
}

Facts to_facts(const RunFacts& run) {
  Facts facts;
  walk_facts(run, writer(facts));
  return facts;
}

void put_facts(Store& store, const RunFacts& run) {
  for (const auto& [key, value] : to_facts(run)) store.put_fact(key, value);
}

RunFacts read_facts(const Facts& facts) {
  RunFacts run;
  walk_facts(run, reader(facts));
  return run;
}

}  // namespace sinkscope::store
