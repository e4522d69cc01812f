#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sinkscope/store/run_facts.h"
#include "sinkscope/store/run_result.h"
#include "sinkscope/store/store.h"

namespace sinkscope::report::test {

using diagnostics::Aggregate;
using diagnostics::MetricInfo;
using diagnostics::Record;
using diagnostics::Scope;

// clang-format off
inline constexpr std::array kMetrics = {
    MetricInfo{"alpha", Scope::kHead, 4, Aggregate::kMean, "share", "alpha of keys 0..3"},
    MetricInfo{"plain_rate", Scope::kHead, 4, Aggregate::kMean, "share", "1 when alpha_k > epsilon"},
    MetricInfo{"sink_index", Scope::kHead, 1, Aggregate::kMode, "", "dominant key s"},
    MetricInfo{"alpha_sink", Scope::kHead, 1, Aggregate::kMean, "share", "alpha_s"},
    MetricInfo{"sink", Scope::kHead, 1, Aggregate::kMean, "share", "1 when alpha_s > epsilon"},
    MetricInfo{"routed", Scope::kHead, 1, Aggregate::kMean, "share", "share of queries"},
    MetricInfo{"event", Scope::kHead, 1, Aggregate::kMean, "share", "1 when routed >= 0.9"},
    MetricInfo{"conditional", Scope::kHead, 1, Aggregate::kMean, "share", "1 when some queries use the sink"},
    MetricInfo{"lift", Scope::kHead, 1, Aggregate::kMean, "", "alpha_s over that of a uniform head"},
    MetricInfo{"ratio_head", Scope::kHead, 1, Aggregate::kMean, "", "||v_s|| / mean ||v_j||"},
    MetricInfo{"ratio_out", Scope::kHead, 1, Aggregate::kMean, "", "||u_s|| / mean ||u_j||"},
    MetricInfo{"stable_rank", Scope::kHead, 1, Aggregate::kMean, "", "of the update"},
    MetricInfo{"common_mode", Scope::kHead, 1, Aggregate::kMean, "share", "energy in the mean"},
    MetricInfo{"class", Scope::kHead, 1, Aggregate::kMode, "", "code of the class"},
    MetricInfo{"entropy", Scope::kHead, 1, Aggregate::kMean, "nats", "row entropy"},
    MetricInfo{"entropy_norm", Scope::kHead, 1, Aggregate::kMean, "share", "row entropy / log"},
    MetricInfo{"self_mass", Scope::kHead, 1, Aggregate::kMean, "share", "mean A_ii"},
    MetricInfo{"top_activations", Scope::kLayer, 9, Aggregate::kMode, "", "three largest |x|"},
    MetricInfo{"median_abs", Scope::kLayer, 1, Aggregate::kMean, "", "median |x|"},
    MetricInfo{"massive_channels", Scope::kLayer, 4, Aggregate::kMode, "", "channels"},
    MetricInfo{"attn_out_norm_p0", Scope::kLayer, 1, Aggregate::kMean, "", "||a_0||"},
    MetricInfo{"mlp_out_norm_p0", Scope::kLayer, 1, Aggregate::kMean, "", "||m_0||"},
    MetricInfo{"resid_norm_p0", Scope::kLayer, 1, Aggregate::kMean, "", "||x_0||"},
    MetricInfo{"resid_norm_median", Scope::kLayer, 1, Aggregate::kMean, "", "median ||x_t||"},
    MetricInfo{"cos_p0_max", Scope::kLayer, 1, Aggregate::kMean, "", "largest cosine with x_0"},
    MetricInfo{"embed_norm_p0", Scope::kSequence, 1, Aggregate::kMean, "", "||x_0|| of the embedding"},
    MetricInfo{"loss", Scope::kSequence, 1, Aggregate::kMean, "nats", "mean next-token loss"},
};
// clang-format on

/// The record of one fabricated sequence, written metric by metric.
class Writer {
 public:
  Writer(int layers, int heads, std::set<std::string, std::less<>> more = {})
      : record_(layers, heads), more_(std::move(more)) {}
  /// A metric of the sample's own list, or of a diagnostic that the sample names in `more`.
  void set(std::string_view metric, int layer, int entry, double value) {
    if (const MetricInfo* real = diagnostics::find_metric(metric); real && more_.contains(metric)) {
      record_.values(*real, layer)[static_cast<size_t>(entry)] = value;
    }
    for (const MetricInfo& info : kMetrics) {
      if (info.name == metric) record_.values(info, layer)[static_cast<size_t>(entry)] = value;
    }
  }
  Record& record() { return record_; }

 private:
  Record record_;
  std::set<std::string, std::less<>> more_;
};

/// A fabricated model; the defaults have weak sinks in layers 0-1 and strong ones in 2-3.
struct Sample {
  int layers = 4, heads = 4, kv_heads = 2, sequences = 4;
  int64_t tokens = 8;
  store::RunIdentity identity;
  store::RunFacts facts;
  bool curves = true;
  std::set<std::string, std::less<>> more;  ///< metrics of diagnostics beside those above
  std::function<void(int64_t sequence, Writer&)> change;  ///< last word on every record

  Sample() {
    identity.model_sha256 = "00ff", identity.model_family = "llama";
    identity.inputs_sha256 = "11ee", identity.sequences = 4, identity.seq_len = 8;
    identity.diagnostics = {"sink", "mechanism"};
    identity.thresholds.min_queries = 8;
    facts.tool_version = "0.1.0", facts.tool_git = "abc";
    facts.model_path = "models/tiny.gguf", facts.model_format = "gguf", facts.model_weights = "F32";
    facts.head_dim = 16, facts.d_model = 64, facts.vocab = 100, facts.parameters = 12345;
    facts.bos_id = 1, facts.first_tokens = {1, 5, 9}, facts.skipped = 2;
    facts.warnings = {"2 inputs are shorter than 8 tokens and were left out"};
    facts.load_s = 0.25, facts.forward_s = 1.5, facts.peak_rss_mb = 100;
  }

  std::unique_ptr<store::Store> make() const;
};

/// Images of 2 x 3 patches behind a class token and a register: 8 tokens.
inline Sample image_sample() {
  Sample sample;
  sample.identity.inputs_kind = "images", sample.identity.model_family = "vit";
  sample.facts.patch_rows = 2, sample.facts.patch_columns = 3, sample.facts.prefix_tokens = 2;
  sample.facts.labels = {{"CLS", "register 0", "patch (0, 0)", "patch (0, 1)", "patch (0, 2)",
                          "patch (1, 0)", "patch (1, 1)", "patch (1, 2)"}};
  return sample;
}

inline void fill_head(Writer& out, int layer, int head, int64_t sequence, bool strong) {
  const double alpha = strong ? 0.5 + 0.125 * head : 0.0625 * (head + 1);
  for (int k = 0; k < 4; ++k) {
    out.set("alpha", layer, 4 * head + k, k == 0 ? alpha : 0.03125);
    out.set("plain_rate", layer, 4 * head + k, k == 0 && alpha > 0.3);
  }
  out.set("sink_index", layer, head, strong ? 0 : static_cast<double>(sequence));
  out.set("alpha_sink", layer, head, alpha);
  out.set("sink", layer, head, alpha > 0.3);
  out.set("lift", layer, head, 8 * alpha);
  const bool event = strong && head > 0 && !(head == 3 && sequence == 3);
  out.set("routed", layer, head, event ? 1 : 0.5);
  out.set("event", layer, head, event);
  out.set("conditional", layer, head, !event);
  const double ratios[] = {1, 0.0625, 1.5, 0.375};
  out.set("ratio_head", layer, head, ratios[head % 4] + 0.5);
  out.set("ratio_out", layer, head, ratios[head % 4]);
  out.set("stable_rank", layer, head, event ? 1.25 : diagnostics::kNoData);
  out.set("class", layer, head, event ? head : 0);
  out.set("entropy", layer, head, 1.5 - alpha);
  out.set("entropy_norm", layer, head, 1 - alpha);
  out.set("self_mass", layer, head, 0.125);
}

inline std::unique_ptr<store::Store> Sample::make() const {
  auto store = store::Store::in_memory();
  store->set_identity(store::to_facts(identity));
  store::put_facts(*store, facts);
  store->put_fact("model.kv_heads", std::to_string(kv_heads));
  store->put_metrics(kMetrics);
  for (const std::string& name : more) store->put_metrics({diagnostics::find_metric(name), 1});
  for (int64_t id = 0; id < sequences; ++id) {
    store::SequenceInfo info{id, "a.txt", id * tokens, {}, 0};
    if (identity.inputs_kind == "images") info.rows = tokens;
    for (int32_t token = 0; token < tokens && info.rows == 0; ++token) {
      info.ids.push_back(token);
    }
    Writer out(layers, heads, more);
    for (int l = 0; l < layers; ++l) {
      for (int h = 0; h < heads; ++h) fill_head(out, l, h, id, 2 * l >= layers);
      const double top[9] = {3, 0, 2 * l >= layers ? -4000.0 : 4.0, 1, 2, 3.5, 7, 1, 2.5};
      for (int i = 0; i < 9; ++i) out.set("top_activations", l, i, top[i]);
      if (2 * l >= layers) out.set("massive_channels", l, 0, 3);
      out.set("median_abs", l, 0, 0.5);
      out.set("resid_norm_p0", l, 0, 2 * l >= layers ? 4000 : 8);
      out.set("resid_norm_median", l, 0, 8 + l);
      out.set("cos_p0_max", l, 0, 0.25);
    }
    out.set("embed_norm_p0", 0, 0, 5);
    out.set("loss", 0, 0, 2 + 0.5 * static_cast<double>(id));
    if (change) change(id, out);
    std::vector<store::Curve> sums;
    const store::Curve curve{tokens, std::vector<double>(static_cast<size_t>(heads * tokens), 0.5),
                             std::vector<double>(static_cast<size_t>(tokens), 4)};
    if (curves) sums.assign(static_cast<size_t>(layers), curve);
    const store::Store::Finished finished{&info, &out.record()};
    store->put_batch({&finished, 1}, sums);
  }
  return store;
}

inline store::RunResult read_sample(const Sample& sample) {
  return store::read_run(*sample.make());
}

}  // namespace sinkscope::report::test
