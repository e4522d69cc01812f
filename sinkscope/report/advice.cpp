#include "sinkscope/report/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sinkscope/report/labels.h"
#include "sinkscope/store/run_facts.h"

namespace sinkscope::report {
namespace {

using store::RunResult;

constexpr double kNoticeable = 0.01;  ///< nats; below, few sequences do not tell it from nothing
constexpr double kOverControl = 2;    ///< an eviction matters from this multiple of the control

std::string nats(double change) { return fmt::format("{:+.3f} nats", change); }

bool costly(double change, double control) {
  return change > kNoticeable && !(change <= kOverControl * control);
}

Finding advice(const char* key, std::string text, double number, const char* metric) {
  return {key,        std::move(text), number,      std::string("summary.") + metric,
          "overview", std::nullopt,    std::nullopt};
}

void add_evictions(const RunResult& run, const PositionNames& names, std::vector<Finding>& all) {
  const double control = run.sequence("evict_random_loss_change");
  const auto add = [&](const char* metric, double position) {
    const double change = run.sequence(metric);
    if (!std::isfinite(change)) return;
    const bool keep = costly(change, control);
    all.push_back(advice("keep_list",
                         fmt::format("{} {}: without it the loss changes by {}, without a random "
                                     "position by {}.",
                                     names(position),
                                     keep ? "belongs on the KV cache's keep list"
                                          : "needs no place of its own in the KV cache",
                                     nats(change), nats(control)),
                         change, metric));
  };
  add("evict_first_loss_change", 0);
  add("evict_other_loss_change", run.sequence("evict_other_position"));
}

std::string massive_channels(const RunResult& run) {
  std::set<int64_t> channels;
  for (int l = 0; l < run.layers; ++l) {
    for (int i = 0; std::isfinite(run.layer("massive_channels", l, i)); ++i) {
      channels.insert(static_cast<int64_t>(run.layer("massive_channels", l, i)));
    }
  }
  std::string text;
  for (const int64_t channel : channels)
    text += (text.empty() ? "" : ", ") + fmt::format("{}", channel);
  return text;
}

void add_channels(const RunResult& run, std::vector<Finding>& all) {
  const double zero = run.sequence("massive_zero_loss_change"),
               mean = run.sequence("massive_mean_loss_change");
  if (!std::isfinite(zero)) return;
  std::string text = zero > kNoticeable ? fmt::format(
                                              "Protect channel {} from quantisation: with its "
                                              "massive values at 0 the loss changes by {}",
                                              massive_channels(run), nats(zero))
                                        : fmt::format(
                                              "Channel {} needs no protection: with its massive "
                                              "values at 0 the loss changes by {}",
                                              massive_channels(run), nats(zero));
  if (std::isfinite(mean)) {
    text +=
        fmt::format(", at their mean by {}{}", nats(mean),
                    mean < kNoticeable && zero > kNoticeable ? " (a constant bias would do)" : "");
  }
  all.push_back(advice("channels", text + ".", zero, "massive_zero_loss_change"));
}

void add_nop(const RunResult& run, std::vector<Finding>& all) {
  const double value = run.sequence("nop_value_loss_change"),
               column = run.sequence("nop_column_loss_change");
  if (!std::isfinite(value)) return;
  const bool unused = value<kNoticeable, needed = column> kNoticeable;
  const char* verdict = unused && needed
                            ? "a gate or a learned sink logit can take their sinks' place"
                        : unused ? "their sinks do nothing and are not missed"
                                 : "their sinks carry something: a gate alone would lose it";
  all.push_back(
      advice("nop",
             fmt::format("NOP heads ({:.0f}): {}; without their sinks' values the loss changes by "
                         "{}, without their sinks by {}.",
                         run.sequence("advice_nop_heads"), verdict, nats(value), nats(column)),
             value, "nop_value_loss_change"));
}

void add_broadcast(const RunResult& run, std::vector<Finding>& all) {
  const double value = run.sequence("broadcast_value_loss_change");
  if (!std::isfinite(value)) return;
  all.push_back(advice(
      "broadcast",
      fmt::format(
          "Broadcast heads ({:.0f}): {}; without their sinks' values the loss changes by {}.",
          run.sequence("advice_broadcast_heads"),
          value > kNoticeable
              ? "registers or a global pathway can take their sinks' place, a gate cannot"
              : "their payload is not missed",
          nats(value)),
      value, "broadcast_value_loss_change"));
}

}  // namespace

std::vector<Finding> find_advice(const RunResult& run) {
  std::vector<Finding> all;
  const PositionNames names(run, store::read_facts(run.facts));
  add_evictions(run, names, all);
  add_channels(run, all);
  add_nop(run, all);
  add_broadcast(run, all);
  return all;
}

}  // namespace sinkscope::report
