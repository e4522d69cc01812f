#include "sinkscope/report/html.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sinkscope/base/error.h"
#include "sinkscope/base/mix.h"
#include "sinkscope/report/advice.h"
#include "sinkscope/report/findings.h"
#include "sinkscope/report/json.h"
#include "sinkscope/report/labels.h"
#include "sinkscope/report/text.h"
#include "sinkscope/store/run_facts.h"
#include "sinkscope/store/utf8.h"

namespace sinkscope::embedded {
std::string_view page();
}

namespace sinkscope::report {
namespace {

using Json = nlohmann::ordered_json;
using store::RunResult;

constexpr std::string_view kMarker = R"(<script id="data" type="application/json"></script>)";
constexpr std::string_view kMarkerEnd = "</script>";
constexpr size_t kMaxPoints = 20000;
constexpr size_t kMaxLabels = 64;

/// 5 decimals are more than any figure shows, at a third of the bytes.
Json rounded(double value) {
  return std::isfinite(value) ? Json(std::round(value * 1e5) / 1e5) : Json();
}

Json finding_objects(const RunResult& run) {
  Json findings = Json::array();
  std::vector<Finding> all = find_findings(run);
  for (Finding& advice : find_advice(run)) all.push_back(std::move(advice));
  for (const Finding& finding : all) {
    findings.push_back({{"text", finding.text},
                        {"view", finding.view},
                        {"layer", finding.layer ? Json(*finding.layer) : Json()},
                        {"head", finding.head ? Json(*finding.head) : Json()}});
  }
  return findings;
}

Json head_alpha(const store::Curve& curve, int head) {
  Json alpha = Json::array();
  for (size_t k = 0; k < curve.queries.size(); ++k) {
    const double mass = curve.mass[static_cast<size_t>(head) * curve.queries.size() + k];
    alpha.push_back(rounded(mass / curve.queries[k]));
  }
  return alpha;
}

Json alpha_object(const RunResult& run) {
  if (run.curves.empty()) return nullptr;
  int64_t positions = 0;
  Json layers = Json::array();
  for (int l = 0; l < run.layers; ++l) {
    const bool there =
        l < std::ssize(run.curves) && run.curves[static_cast<size_t>(l)].positions > 0;
    Json heads = there ? Json::array() : Json();
    for (int h = 0; h < run.heads && there; ++h)
      heads.push_back(head_alpha(run.curves[static_cast<size_t>(l)], h));
    if (there) positions = std::max(positions, run.curves[static_cast<size_t>(l)].positions);
    layers.push_back(std::move(heads));
  }
  return {{"positions", positions}, {"heads", std::move(layers)}};
}

struct Event {
  uint64_t priority;
  int64_t sequence;
  int layer, head;
  friend auto operator<=>(const Event&, const Event&) = default;
};

std::vector<Event> find_events(const store::Store& store, uint64_t seed) {
  std::vector<Event> events;
  for (const auto& [sequence, layers] : store.values("event")) {
    for (size_t l = 0; l < layers.size(); ++l) {
      for (size_t h = 0; h < layers[l].size(); ++h) {
        if (layers[l][h] != 1) continue;
        const int layer = static_cast<int>(l), head = static_cast<int>(h);
        // A sample of the events depends on nothing but their names.
        const uint64_t priority = mix(seed, {static_cast<uint64_t>(sequence), l, h});
        events.push_back({priority, sequence, layer, head});
      }
    }
  }
  return events;
}

std::vector<Event> sample(std::vector<Event> events) {
  if (events.size() > kMaxPoints) {
    std::nth_element(events.begin(), events.begin() + kMaxPoints, events.end());
    events.resize(kMaxPoints);
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.sequence, a.layer, a.head) < std::tie(b.sequence, b.layer, b.head);
  });
  return events;
}

Json point_rows(const store::Store& store, const std::vector<Event>& events) {
  Json points = Json::array();
  for (const Event& event : events) points.push_back({event.sequence, event.layer, event.head});
  for (const char* metric :
       {"sink_index", "alpha_sink", "routed", "ratio_head", "ratio_out", "stable_rank", "class"}) {
    const auto values = store.values(metric);
    for (size_t i = 0; i < events.size(); ++i) {
      const auto found = values.find(events[i].sequence);
      const auto l = static_cast<size_t>(events[i].layer), h = static_cast<size_t>(events[i].head);
      const bool there =
          found != values.end() && l < found->second.size() && h < found->second[l].size();
      const double value = there ? found->second[l][h] : diagnostics::kNoData;
      const bool whole =
          std::isfinite(value) && std::abs(value) < 0x1p53 && value == std::floor(value);
      points[i].push_back(whole ? Json(static_cast<int64_t>(value)) : rounded(value));
    }
  }
  return points;
}

Json head_table(const RunResult& run, std::string_view metric) {
  Json layers = Json::array();
  for (int l = 0; l < run.layers; ++l) {
    Json heads = Json::array();
    for (int h = 0; h < run.heads; ++h) heads.push_back(rounded(run.head(metric, l, h)));
    layers.push_back(std::move(heads));
  }
  return layers;
}

Json extra_object(const RunResult& run) {
  Json extra = Json::object();
  for (const char* metric : {"entropy_norm", "lift", "conditional", "ratio_out_all"}) {
    extra[metric_key(metric)] = head_table(run, metric);
  }
  return extra;
}

Json layers_extra_object(const RunResult& run) {
  Json rates = Json::array(), alphas = Json::array(), events = Json::array();
  for (int l = 0; l < run.layers; ++l) {
    rates.push_back(rounded(run.sink_rate(l, l)));
    alphas.push_back(rounded(layer_alpha(run, l)));
    double sum = 0;
    int heads = 0;
    for (int h = 0; h < run.heads; ++h) {
      const double share = run.head("event", l, h);
      if (std::isfinite(share)) sum += share, ++heads;
    }
    events.push_back(heads == 0 ? Json() : rounded(sum / heads));
  }
  return {{"sink_rate", std::move(rates)},
          {"alpha0_mean", std::move(alphas)},
          {"event_share", std::move(events)}};
}

Json sequence_objects(const RunResult& run, const store::RunFacts& facts) {
  Json sequences = Json::array();
  for (const store::SequenceInfo& sequence : run.sequences) {
    std::vector<std::string> labels = labels_of(facts, sequence);
    if (labels.size() > kMaxLabels) labels.resize(kMaxLabels);
    sequences.push_back({{"id", sequence.id},
                         {"source", sequence.source},
                         {"start", sequence.start},
                         {"tokens", sequence.tokens()},
                         {"labels", std::move(labels)}});
  }
  return sequences;
}

Json metric_objects(const RunResult& run) {
  Json metrics = Json::array();
  for (const auto& metric : run.metrics) {
    metrics.push_back({{"name", metric_key(metric.name)},
                       {"unit", metric.unit},
                       {"definition", metric.definition}});
  }
  return metrics;
}

}  // namespace

std::string_view page_bundle() { return embedded::page(); }

Json page_document(const store::Store& store, const RunResult& run) {
  const auto events = find_events(store, store::read_identity(run.identity).seed);
  Json classes = Json::array();
  for (int code = 0; code <= static_cast<int>(diagnostics::HeadClass::kTooShort); ++code) {
    classes.push_back(diagnostics::class_name(static_cast<diagnostics::HeadClass>(code)));
  }
  return {{"schema", "sinkscope.page/1"},
          {"scan", scan_document(run)},
          {"findings", finding_objects(run)},
          {"classes", std::move(classes)},
          {"alpha", alpha_object(run)},
          {"points", point_rows(store, sample(events))},
          {"points_total", events.size()},
          {"extra", extra_object(run)},
          {"layers_extra", layers_extra_object(run)},
          {"sequences", sequence_objects(run, store::read_facts(run.facts))},
          {"metrics", metric_objects(run)}};
}

void splice_page(std::string_view bundle, std::string_view data, std::ostream& out) {
  const size_t marker = bundle.find(kMarker);
  if (marker == std::string_view::npos ||
      bundle.find(kMarker, marker + 1) != std::string_view::npos) {
    throw Error(ErrorKind::kInternal, "write report page",
                std::string("the page bundle must hold ") + std::string(kMarker) + " once");
  }
  const size_t place = marker + kMarker.size() - kMarkerEnd.size();
  out << bundle.substr(0, place);
  for (const char c : data) {
    if (c == '<') {
      out << "\\u003c";  // no text in the data can end the script or open a comment
    } else {
      out << c;
    }
  }
  out << bundle.substr(place);
}

void write_html(const store::Store& store, const RunResult& run, std::string_view bundle,
                std::ostream& out) {
  splice_page(bundle, compact_text(page_document(store, run)), out);
}

}  // namespace sinkscope::report
