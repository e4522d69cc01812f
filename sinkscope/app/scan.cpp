#include "sinkscope/app/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "sinkscope/app/advice.h"
#include "sinkscope/app/measure.h"
#include "sinkscope/app/memory.h"
#include "sinkscope/app/progress.h"
#include "sinkscope/app/render.h"
#include "sinkscope/app/session.h"
#include "sinkscope/base/error.h"
#include "sinkscope/diagnostics/summary.h"
#include "sinkscope/forward/runner.h"
#include "sinkscope/store/run_facts.h"

namespace sinkscope::app {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Scan {
 public:
  Scan(const ScanOptions& options, Console& console)
      : options_(options), console_(console), start_(Clock::now()) {}
  int run();

 private:
  void open();
  void plan();
  void open_store();
  void measure();
  void measure_batch(forward::Runner& runner, const Batch& batch);
  void try_advice(forward::Runner& runner, const Batch& batch,
                  std::span<const forward::Stream> streams, Measure& measure);
  void put_facts();
  RenderOptions render_options() const;

  const ScanOptions& options_;
  Console& console_;
  Clock::time_point start_;
  Session session_;
  MeasureOptions measure_;
  std::vector<Batch> batches_;
  int64_t planned_bytes_ = 0;
  std::unique_ptr<store::Store> store_;
  double load_s_ = 0, forward_s_ = 0;
  int64_t measured_tokens_ = 0;
};

RenderOptions Scan::render_options() const {
  RenderOptions render;
  render.format = options_.format;
  render.report = options_.report;
  render.results = options_.output;
  render.ascii = options_.ascii;
  render.overwrite = options_.overwrite;
  if (options_.report.empty()) {
    render.next = options_.output.empty()
                      ? "the same command with -o run.db --report report.html"
                      : fmt::format("sinkscope report {} --report report.html", options_.output);
  }
  return render;
}

void Scan::open() {
  check_outputs(render_options(), console_);
  measure_.diagnostics = diagnostics::select_diagnostics(options_.diagnostics);
  measure_.thresholds = options_.thresholds;
  measure_.seed = options_.inputs.seed;
  session_ = open_session(options_);
  measure_.types = token_types(session_.model->spec(), session_.tokenizer.get());
  const auto layers = static_cast<int>(session_.model->spec().layers);
  measure_.layers = parse_layers(options_.layers, layers);
  measure_.heads =
      parse_heads(options_.heads, layers, static_cast<int>(session_.model->spec().heads));
}

void Scan::plan() {
  batches_ = cut_batches(session_.inputs.sequences, options_.batch_tokens);
  const forward::Runner runner(*session_.model, run_options(options_));
  for (const Batch& batch : batches_) {
    std::vector<int64_t> lengths;
    for (const store::SequenceInfo* s : batch) lengths.push_back(s->tokens());
    planned_bytes_ = std::max(planned_bytes_, runner.planned_bytes(lengths));
  }
  check_memory(planned_bytes_, options_.max_memory);
}

void Scan::open_store() {
  store::RunIdentity identity = identity_of(session_, options_);
  identity.layers = options_.layers;
  identity.heads = options_.heads;
  for (const diagnostics::Diagnostic* d : measure_.diagnostics)
    identity.diagnostics.emplace_back(d->name);
  if (options_.output.empty()) {
    store_ = store::Store::in_memory();
    store_->set_identity(store::to_facts(identity));
  } else {
    store_ = store::Store::open_or_create(options_.output, store::to_facts(identity),
                                          options_.overwrite);
  }
  std::vector<diagnostics::MetricInfo> metrics;
  for (const diagnostics::Diagnostic* d : measure_.diagnostics) {
    metrics.insert(metrics.end(), d->metrics.begin(), d->metrics.end());
  }
  store_->put_metrics(metrics);
}

void Scan::measure_batch(forward::Runner& runner, const Batch& batch) {
  std::vector<forward::Stream> streams;
  for (const store::SequenceInfo* s : batch) streams.push_back(session_.inputs.stream(*s));
  Measure measure(session_.model->spec(), measure_, batch);
  forward::Observer* observers[] = {&measure};
  runner.run(streams, observers);
  try_advice(runner, batch, streams, measure);
  measure.finish();
  std::vector<store::Store::Finished> finished;
  for (size_t s = 0; s < batch.size(); ++s) finished.push_back({batch[s], &measure.record(s)});
  store_->put_batch(finished, measure.curves(), measure.run_sums());
}

/// What `recommend` rests on, after the classes are known.
void Scan::try_advice(forward::Runner& runner, const Batch& batch,
                      std::span<const forward::Stream> streams, Measure& measure) {
  const bool wanted = std::any_of(
      measure_.diagnostics.begin(), measure_.diagnostics.end(), [](const auto* diagnostic) {
        return std::find(diagnostic->needs.begin(), diagnostic->needs.end(),
                         diagnostics::Part::kAdvice) != diagnostic->needs.end();
      });
  // A loss is what advice is weighed by.
  if (!wanted || !session_.model->spec().causal || session_.model->spec().is_vision()) return;
  std::vector<size_t> tried;
  for (size_t s = 0; s < batch.size(); ++s) {
    if (advice_is_tried(batch[s]->id, std::ssize(session_.inputs.sequences))) tried.push_back(s);
  }
  const MeasurementContext context{session_.model->spec(), options_.thresholds, batch,
                                   options_.inputs.seed};
  const std::vector<stats::AdviceValues> advice =
      measure_advice(runner, context, streams, measure.records(), tried);
  for (size_t t = 0; t < tried.size(); ++t) measure.set_advice(tried[t], advice[t]);
}

void Scan::measure() {
  const std::vector<int64_t> finished = store_->finished();
  const auto is_done = [&](const Batch& batch) {
    return std::all_of(batch.begin(), batch.end(), [&](const store::SequenceInfo* s) {
      return std::binary_search(finished.begin(), finished.end(), s->id);
    });
  };
  std::vector<const Batch*> todo;
  int64_t todo_tokens = 0;
  for (const Batch& batch : batches_) {
    if (is_done(batch)) continue;
    todo.push_back(&batch);
    for (const store::SequenceInfo* s : batch) todo_tokens += s->tokens();
  }
  if (!finished.empty() && console_.verbosity >= 0) {
    console_.err << fmt::format("resumed  {} of {} sequences are already in {}\n", finished.size(),
                                session_.inputs.sequences.size(), options_.output);
  }
  const int64_t steps = session_.model->spec().layers + 2;
  Progress progress(console_, std::max<int64_t>(1, todo_tokens * steps), todo_tokens);
  int64_t done = 0, batch_tokens = 0;
  forward::RunOptions run = run_options(options_);
  run.progress = [&](int step, int) {
    progress.update(done * steps + batch_tokens * step);
    return !console_.interrupted || !console_.interrupted->load();
  };
  forward::Runner runner(*session_.model, run);
  const Clock::time_point begin = Clock::now();
  for (const Batch* batch : todo) {
    batch_tokens = 0;
    for (const store::SequenceInfo* s : *batch) batch_tokens += s->tokens();
    try {
      measure_batch(runner, *batch);
    } catch (const Error& error) {
      if (error.kind != ErrorKind::kInterrupted) throw;
      throw Error(ErrorKind::kInterrupted, "scan",
                  fmt::format("interrupted; {} of {} sequences are finished",
                              store_->finished().size(), session_.inputs.sequences.size()),
                  options_.output.empty() ? "nothing is kept without -o run.db"
                                          : "they are kept in " + options_.output +
                                                "; the same command goes on from there");
    }
    done += batch_tokens;
  }
  forward_s_ = seconds_since(begin);
  measured_tokens_ = todo_tokens;
}

void Scan::put_facts() {
  // A run that had nothing left to do keeps the timing of the one that did the work.
  const store::RunFacts before = store::read_facts(store_->facts());
  store::RunFacts facts = facts_of(session_);
  facts.load_s = before.load_s, facts.forward_s = before.forward_s;
  facts.tokens_per_s = before.tokens_per_s;
  if (measured_tokens_ > 0) {
    facts.load_s = load_s_;
    facts.forward_s = forward_s_;
    facts.tokens_per_s = static_cast<double>(measured_tokens_) / forward_s_;
  }
  store::put_facts(*store_, facts);
}

int Scan::run() {
  open();
  plan();
  announce(session_, options_, planned_bytes_, batches_.size(), console_);
  load_s_ = seconds_since(start_);
  open_store();
  measure();
  put_facts();
  // In any case, and after the facts it names: a run may have been killed between its last batch
  // and this.
  store_->rebuild_summary();
  RenderOptions options = render_options();
  options.overwrite = true;  // what may not be replaced was refused before the run
  render(*store_, options, console_);
  return 0;
}

}  // namespace

int scan(const ScanOptions& options, Console& console) { return Scan(options, console).run(); }

}  // namespace sinkscope::app
