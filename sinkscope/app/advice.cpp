#include "sinkscope/app/advice.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "sinkscope/app/ablate/effect_observer.h"
#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/sink.h"

namespace sinkscope::app {
namespace {

using diagnostics::HeadClass;
using diagnostics::Record;
using Edits = std::vector<forward::Edit>;

constexpr int64_t kEverySequence = 16, kMostSequences = 4;

/// No later query sees the key, in any head.
Edits evict(const model::ModelSpec& spec, int64_t position) {
  Edits edits;
  for (int64_t l = 0; l < spec.layers; ++l) {
    edits.push_back(forward::ColumnEdit{l, forward::kAllHeads, position});
  }
  return edits;
}

struct SinkHead {
  int64_t layer, head, key;
};

std::vector<SinkHead> heads_of_class(const Record& record, HeadClass wanted) {
  std::vector<SinkHead> heads;
  for (int l = 0; l < record.layers(); ++l) {
    for (int h = 0; h < record.heads(); ++h) {
      const auto at = static_cast<size_t>(h);
      const double key = diagnostics::head_value(record, "sink_index", l, at);
      if (diagnostics::head_value(record, "class", l, at) == static_cast<double>(wanted) &&
          key >= 0) {
        heads.push_back({l, h, static_cast<int64_t>(key)});
      }
    }
  }
  return heads;
}

/// The position other than 0 that carries most sink events; -1: there is none.
int64_t other_sink(const Record& record) {
  std::map<int64_t, int> events;
  for (int l = 0; l < record.layers(); ++l) {
    for (int h = 0; h < record.heads(); ++h) {
      const auto at = static_cast<size_t>(h);
      const double key = diagnostics::head_value(record, "sink_index", l, at);
      if (diagnostics::head_value(record, "event", l, at) == 1 && key > 0) {
        ++events[static_cast<int64_t>(key)];
      }
    }
  }
  const auto most =
      std::max_element(events.begin(), events.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == events.end() ? -1 : most->first;
}

/// A position after the first that most queries still see.
int64_t random_position(int64_t tokens, uint64_t seed, int64_t sequence) {
  std::seed_seq seeds{seed, static_cast<uint64_t>(sequence)};
  std::mt19937_64 random(seeds);
  const int64_t choices = std::max<int64_t>(1, tokens / 2 - 1);
  return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(choices));
}

/// Massive activations of a record: layer after which they appear, channel, position, value.
struct Massive {
  int64_t layer, position, channel;
  double value;
};

std::vector<Massive> massive_of(const Record& record, const diagnostics::Thresholds& t) {
  std::vector<Massive> found;
  for (int l = 0; l + 1 < record.layers(); ++l) {
    const auto tops = record.find("top_activations", l), median = record.find("median_abs", l);
    for (size_t i = 0; median.size() == 1 && i + 2 < tops.size(); i += 3) {
      const double size = std::abs(tops[i + 2]);
      if (!(size > t.massive_abs && size > t.massive_ratio * median[0])) continue;
      const auto channel = static_cast<int64_t>(tops[i]),
                 position = static_cast<int64_t>(tops[i + 1]);
      const bool known = std::any_of(found.begin(), found.end(), [&](const Massive& m) {
        return m.channel == channel && m.position == position;
      });
      if (!known) found.push_back({l + 1, position, channel, tops[i + 2]});
    }
  }
  return found;
}

/// The forks of one pass, each with the place that its loss goes to.
struct Trials {
  std::vector<forward::Fork> forks;
  std::vector<double stats::AdviceValues::*> field;
  void add(size_t parent, double stats::AdviceValues::*to, Edits edits) {
    if (edits.empty()) return;
    forks.push_back({static_cast<int64_t>(parent), std::move(edits)});
    field.push_back(to);
  }
};

Edits massive_edits(const std::vector<std::vector<Massive>>& all, size_t own, bool to_mean) {
  Edits edits;
  for (const Massive& m : all[own]) {
    double sum = 0, count = 0;
    for (const std::vector<Massive>& of : all) {
      for (const Massive& other : of) {
        if (other.channel != m.channel || other.position != m.position) continue;
        sum += other.value;
        ++count;
      }
    }
    edits.push_back(forward::ChannelEdit{
        m.layer, m.position, {m.channel}, {static_cast<float>(to_mean ? sum / count : 0)}});
  }
  return edits;
}

Trials make_trials(const MeasurementContext& context, std::span<const forward::Stream> streams,
                   std::span<const Record> records, std::span<const size_t> tried,
                   std::vector<stats::AdviceValues>& advice) {
  using Advice = stats::AdviceValues;
  std::vector<std::vector<Massive>> massive;
  for (const Record& record : records) massive.push_back(massive_of(record, context.thresholds));
  Trials trials;
  for (size_t t = 0; t < tried.size(); ++t) {
    const size_t s = tried[t];
    const int64_t tokens = forward::tokens_of(context.spec, streams[s]);
    if (tokens < 3) continue;
    Advice& own = advice[t];
    trials.add(t, &Advice::evict_first, evict(context.spec, 0));
    const int64_t other = other_sink(records[s]);
    if (other > 0) {
      own.other_position = static_cast<double>(other);
      trials.add(t, &Advice::evict_other, evict(context.spec, other));
    }
    trials.add(
        t, &Advice::evict_random,
        evict(context.spec, random_position(tokens, context.seed, context.sequences[s]->id)));
    trials.add(t, &Advice::massive_zero, massive_edits(massive, s, false));
    if (streams.size() > 1) {
      trials.add(t, &Advice::massive_mean, massive_edits(massive, s, true));
    }
    Edits nop_value, nop_column, broadcast_value;
    for (const SinkHead& h : heads_of_class(records[s], HeadClass::kNop)) {
      nop_value.push_back(forward::ValueEdit{h.layer, h.head, h.key, {}});
      nop_column.push_back(forward::ColumnEdit{h.layer, h.head, h.key});
    }
    for (const SinkHead& h : heads_of_class(records[s], HeadClass::kBroadcast)) {
      broadcast_value.push_back(forward::ValueEdit{h.layer, h.head, h.key, {}});
    }
    own.nop_heads = std::ssize(nop_value), own.broadcast_heads = std::ssize(broadcast_value);
    trials.add(t, &Advice::nop_value, std::move(nop_value));
    trials.add(t, &Advice::nop_column, std::move(nop_column));
    trials.add(t, &Advice::broadcast_value, std::move(broadcast_value));
  }
  return trials;
}

}  // namespace

bool advice_is_tried(int64_t sequence, int64_t sequences) {
  const int64_t count = std::clamp<int64_t>(sequences / kEverySequence, 1, kMostSequences);
  return sequence % std::max<int64_t>(1, sequences / count) == 0 &&
         sequence / std::max<int64_t>(1, sequences / count) < count;
}

std::vector<stats::AdviceValues> measure_advice(forward::Runner& runner,
                                                const MeasurementContext& context,
                                                std::span<const forward::Stream> streams,
                                                std::span<const Record> records,
                                                std::span<const size_t> tried) {
  std::vector<stats::AdviceValues> advice(tried.size());
  const Trials trials = make_trials(context, streams, records, tried, advice);
  if (trials.forks.empty()) return advice;
  std::vector<forward::Stream> bases;
  std::vector<const store::SequenceInfo*> sequences;
  for (const size_t s : tried) {
    bases.push_back(streams[s]);
    sequences.push_back(context.sequences[s]);
  }
  std::vector<Comparison> comparisons;
  for (size_t f = 0; f < trials.forks.size(); ++f) {
    Comparison comparison;
    comparison.stream = std::ssize(bases) + static_cast<int64_t>(f);
    comparison.base = trials.forks[f].parent;
    comparisons.push_back(std::move(comparison));
  }
  MeasurementContext of_trials = context;
  of_trials.sequences = sequences;
  EffectObserver observer(of_trials, {context.thresholds.epsilon, 0, false},
                          std::move(comparisons));
  forward::Observer* observers[] = {&observer};
  runner.run(bases, trials.forks, observers);
  const std::vector<store::Effect> effects = observer.effects();
  for (size_t f = 0; f < effects.size(); ++f) {
    stats::AdviceValues& own = advice[static_cast<size_t>(trials.forks[f].parent)];
    own.loss = effects[f].loss_base;
    own.*trials.field[f] = effects[f].loss;
  }
  return advice;
}

}  // namespace sinkscope::app
