#include "sinkscope/app/ablate/ablate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "sinkscope/app/ablate/effect_observer.h"
#include "sinkscope/app/ablate/work.h"
#include "sinkscope/app/memory.h"
#include "sinkscope/app/progress.h"
#include "sinkscope/app/render.h"
#include "sinkscope/app/session.h"
#include "sinkscope/base/error.h"
#include "sinkscope/store/effects.h"

namespace sinkscope::app {
namespace {

using Clock = std::chrono::steady_clock;

class Ablate {
 public:
  Ablate(const AblateOptions& options, Console& console) : options_(options), console_(console) {}
  int run();

 private:
  void open();
  void open_store();
  void measure_base();
  void run_pass(std::span<const WorkItem> items);
  void run_forks(std::span<const WorkItem> items);
  void run_variants(std::span<const WorkItem> items);
  Comparison comparison_of(const WorkItem& item, int64_t stream, int64_t base) const;
  void set_donor(size_t sequence, Comparison& comparison) const;
  void keep(std::span<const WorkItem> items, std::vector<store::Effect> effects);
  MeasurementContext context(std::span<const store::SequenceInfo* const> sequences) const {
    return {session_.model->spec(), options_.thresholds, sequences, options_.inputs.seed};
  }
  ComparisonSettings settings(bool keep_base) const {
    return {options_.thresholds.epsilon, options_.position, keep_base, session_.inputs.row_losses};
  }
  forward::Runner runner();
  RenderOptions render_options() const;
  void put_facts(std::span<const std::string> notes, double seconds);

  const AblateOptions& options_;
  Console& console_;
  Session session_;
  std::vector<const Intervention*> interventions_;
  std::vector<const store::SequenceInfo*> sequences_;
  std::vector<SequenceFacts> facts_;
  std::unique_ptr<store::EffectStore> store_;
  std::function<bool(int, int)> progress_;
};

RenderOptions Ablate::render_options() const {
  RenderOptions render;
  render.format = options_.format;
  render.results = options_.output;
  render.ascii = options_.ascii;
  return render;
}

void Ablate::open() {
  check_outputs(render_options(), console_);
  interventions_ = select_interventions(options_.interventions);
  if (options_.key != "sink" && options_.key.find_first_not_of("0123456789") != std::string::npos) {
    throw Error(ErrorKind::kUsage, "read flags", "--key " + options_.key,
                "sink, or a position from 0");
  }
  session_ = open_session(options_);
  for (const store::SequenceInfo& s : session_.inputs.sequences) sequences_.push_back(&s);
}

void Ablate::open_store() {
  store::RunIdentity identity = identity_of(session_, options_);
  identity.heads = options_.heads;
  store::Facts facts = store::to_facts(identity);
  nlohmann::json names = nlohmann::json::array();
  for (const Intervention* i : interventions_) names.push_back(i->name);
  facts[std::string(store::kInterventionsKey)] = names.dump();
  const nlohmann::json settings = {
      {"key", options_.key},         {"blocks", options_.blocks}, {"pos", options_.position},
      {"window", options_.window},   {"offset", options_.offset}, {"repeats", options_.repeats},
      {"swap_id", options_.swap_id}, {"split", options_.split},   {"channels", options_.channels}};
  for (const auto& [key, value] : settings.items()) facts["ablate." + key] = value.dump();
  store_ = options_.output.empty()
               ? store::EffectStore::in_memory(facts)
               : store::EffectStore::open_or_create(options_.output, facts, options_.overwrite);
}

forward::Runner Ablate::runner() {
  forward::RunOptions run = run_options(options_);
  run.progress = [this](int step, int steps) {
    const bool stopped = console_.interrupted && console_.interrupted->load();
    return progress_(step, steps) && !stopped;
  };
  return {*session_.model, run};
}

/// What every edit is made of: one pass without edits.
void Ablate::measure_base() {
  BaseOptions base;
  if (options_.key != "sink") base.key = std::stoll(options_.key);
  base.keep_z = std::any_of(interventions_.begin(), interventions_.end(),
                            [](const auto* i) { return i->uses_z; });
  forward::Runner run = runner();
  progress_ = [](int, int) { return true; };
  for (const Batch& batch : cut_batches(session_.inputs.sequences, options_.batch_tokens)) {
    std::vector<forward::Stream> streams;
    std::vector<int64_t> lengths;
    for (const store::SequenceInfo* s : batch) {
      streams.push_back(session_.inputs.stream(*s));
      lengths.push_back(s->tokens());
    }
    check_memory(run.planned_bytes(lengths), options_.max_memory);
    const MeasurementContext batch_context = context(batch);
    BaseFacts facts(batch_context, base);
    forward::Observer* observers[] = {&facts};
    run.run(streams, observers);
    std::move(facts.facts().begin(), facts.facts().end(), std::back_inserter(facts_));
  }
}

Comparison Ablate::comparison_of(const WorkItem& item, int64_t stream, int64_t base) const {
  Comparison comparison;
  comparison.stream = stream, comparison.base = base;
  comparison.place_of = item.variant.place_of;
  const SequenceFacts& own = facts_[item.sequence];
  if (item.intervention->reach == Reach::kHead) {
    const HeadFacts& head =
        own.heads[static_cast<size_t>(item.layer)][static_cast<size_t>(item.head)];
    comparison.key = head.key;
    if (head.key >= 0) comparison.uses = &head.uses;
    comparison.later_layer = item.layer + 1;
  } else if (item.intervention->reach == Reach::kLayer) {
    comparison.later_layer = item.layer + 1;
  } else {
    comparison.later_layer = std::min<int64_t>(2, session_.model->spec().layers - 1);
    // Before its first edit a fork is not run: there is nothing of its own to count.
    if (!item.edits.empty()) {
      comparison.later_layer =
          std::max(comparison.later_layer, forward::first_layer({base, item.edits}));
    }
  }
  if (item.intervention->uses_donor) set_donor(item.sequence, comparison);
  return comparison;
}

void Ablate::set_donor(size_t sequence, Comparison& comparison) const {
  const size_t donor = (sequence + 1) % facts_.size();
  if (session_.inputs.message) {
    const at::Tensor own = session_.inputs.message(*sequences_[sequence]),
                     other = session_.inputs.message(*sequences_[donor]);
    comparison.target_is_message = own.defined() && other.defined();
    if (comparison.target_is_message) comparison.target = other - own;
  }
  if (!comparison.target.defined() && facts_[sequence].mean_final.defined()) {
    comparison.target = facts_[donor].mean_final - facts_[sequence].mean_final;
  }
}

void Ablate::keep(std::span<const WorkItem> items, std::vector<store::Effect> effects) {
  for (size_t i = 0; i < items.size(); ++i) {
    effects[i].intervention = std::string(items[i].intervention->name);
    effects[i].layer = items[i].layer, effects[i].head = items[i].head;
    effects[i].sequence = sequences_[items[i].sequence]->id;
  }
  store_->put(effects);
}

void Ablate::run_forks(std::span<const WorkItem> items) {
  std::vector<const store::SequenceInfo*> sequences;
  std::vector<forward::Stream> streams;
  std::map<size_t, int64_t> stream_of;  // by sequence
  for (const WorkItem& item : items) {
    if (!stream_of.emplace(item.sequence, std::ssize(streams)).second) continue;
    sequences.push_back(sequences_[item.sequence]);
    streams.push_back(session_.inputs.stream(*sequences_[item.sequence]));
  }
  std::vector<forward::Fork> forks;
  std::vector<Comparison> comparisons;
  for (const WorkItem& item : items) {
    const int64_t base = stream_of.at(item.sequence);
    comparisons.push_back(comparison_of(item, std::ssize(streams) + std::ssize(forks), base));
    forks.push_back({base, item.edits});
  }
  EffectObserver observer(context(sequences), settings(false), std::move(comparisons));
  forward::Observer* observers[] = {&observer};
  runner().run(streams, forks, observers);
  keep(items, observer.effects());
}

void Ablate::run_variants(std::span<const WorkItem> items) {
  std::vector<store::SequenceInfo> edited;
  edited.reserve(items.size());
  std::vector<const store::SequenceInfo*> sequences = {sequences_[items.front().sequence]};
  std::vector<forward::Stream> streams = {session_.inputs.stream(*sequences.front())};
  std::vector<Comparison> comparisons;
  for (const WorkItem& item : items) {
    edited.push_back(*sequences.front());
    edited.back().ids = item.variant.ids;
    comparisons.push_back(comparison_of(item, std::ssize(streams), 0));
    sequences.push_back(&edited.back());
    streams.push_back({item.variant.ids});
  }
  EffectObserver observer(context(sequences), settings(true), std::move(comparisons));
  forward::Observer* observers[] = {&observer};
  runner().run(streams, observers);
  keep(items, observer.effects());
}

void Ablate::run_pass(std::span<const WorkItem> items) {
  if (items.front().intervention->reach == Reach::kTokens) {
    run_variants(items);
  } else {
    run_forks(items);
  }
}

void Ablate::put_facts(std::span<const std::string> notes, double seconds) {
  store::RunFacts facts = facts_of(session_);
  if (seconds > 0) facts.forward_s = seconds;
  facts.warnings.insert(facts.warnings.end(), notes.begin(), notes.end());
  for (const auto& [key, value] : store::to_facts(facts)) store_->put_fact(key, value);
}

int Ablate::run() {
  open();
  announce(session_, options_, 0, 0, console_);
  open_store();
  measure_base();
  const model::ModelSpec& spec = session_.model->spec();
  const Work work =
      make_work(interventions_, options_, spec, facts_, sequences_, store_->effects());
  const int64_t limit = options_.max_memory > 0 ? options_.max_memory : available_memory() / 2;
  const Clock::time_point begin = Clock::now();
  const int64_t steps = spec.layers + 2;
  int64_t tokens = 0;
  for (const WorkItem& item : work.items) tokens += sequences_[item.sequence]->tokens();
  Progress progress(console_, std::max<int64_t>(1, std::ssize(work.items) * steps), tokens);
  size_t done = 0;
  while (done < work.items.size()) {
    const size_t count = items_of_pass(work, done, runner(), spec, sequences_, limit);
    progress_ = [&](int step, int) {
      progress.update(static_cast<int64_t>(done) * steps + static_cast<int64_t>(count) * step);
      return true;
    };
    try {
      run_pass(std::span(work.items).subspan(done, count));
    } catch (const Error& error) {
      if (error.kind != ErrorKind::kInterrupted) throw;
      throw Error(ErrorKind::kInterrupted, "ablate",
                  fmt::format("interrupted; {} of {} edits are finished", done, work.items.size()),
                  options_.output.empty() ? "nothing is kept without -o run.db"
                                          : "they are kept in " + options_.output +
                                                "; the same command goes on from there");
    }
    done += count;
  }
  put_facts(work.notes, done > 0 ? std::chrono::duration<double>(Clock::now() - begin).count() : 0);
  render_effects(*store_, render_options(), console_);
  return 0;
}

}  // namespace

int ablate(const AblateOptions& options, Console& console) {
  return Ablate(options, console).run();
}

}  // namespace sinkscope::app
