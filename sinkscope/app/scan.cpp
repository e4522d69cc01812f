#include "sinkscope/app/scan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <future>

#include "sinkscope/app/inputs.h"
#include "sinkscope/app/measure.h"
#include "sinkscope/app/memory.h"
#include "sinkscope/app/progress.h"
#include "sinkscope/app/render.h"
#include "sinkscope/app/version.h"
#include "sinkscope/base/error.h"
#include "sinkscope/base/sha256.h"
#include "sinkscope/diagnostics/summary.h"
#include "sinkscope/forward/runner.h"
#include "sinkscope/report/text.h"
#include "sinkscope/store/run_facts.h"

namespace sinkscope::app {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kLabelledSequences = 8;  // whose tokens are shown by name in the page

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A batch: sequences that share one reading of the weights.
using Batch = std::vector<const store::SequenceInfo*>;

/// Cut by the inputs alone, so that a resumed run has the same batches as an uninterrupted one.
std::vector<Batch> cut_batches(const std::vector<store::SequenceInfo>& sequences,
                               int64_t batch_tokens) {
  std::vector<Batch> batches;
  int64_t tokens = 0;
  for (const store::SequenceInfo& sequence : sequences) {
    const int64_t length = sequence.tokens();
    if (batches.empty() || tokens + length > batch_tokens) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(&sequence);
    tokens += length;
  }
  return batches;
}

int64_t longest(const std::vector<store::SequenceInfo>& sequences) {
  int64_t length = 0;
  for (const store::SequenceInfo& s : sequences) length = std::max(length, s.tokens());
  return length;
}

class Scan {
 public:
  Scan(const ScanOptions& options, Console& console)
      : options_(options), console_(console), start_(Clock::now()) {}
  int run();

 private:
  void open();
  void check_context();
  void plan();
  void announce() const;
  store::RunIdentity identity() const;
  void open_store();
  void measure();
  void measure_batch(forward::Runner& runner, const Batch& batch);
  void put_facts();
  RenderOptions render_options() const;

  const ScanOptions& options_;
  Console& console_;
  Clock::time_point start_;
  std::unique_ptr<model::Model> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::future<std::string> model_hash_;  // the file is hashed while the first things happen
  Inputs inputs_;
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
  if (options_.dtype != "f32" && options_.dtype != "bf16") {
    throw Error(ErrorKind::kUsage, "read flags", "--dtype " + options_.dtype, "f32 or bf16");
  }
  if (options_.device != "cpu") {
    throw Error(ErrorKind::kUnsupported, "choose the device", "--device " + options_.device,
                "this build runs on cpu");
  }
  if (options_.batch_tokens < 1)
    throw Error(ErrorKind::kUsage, "read flags", "--batch-tokens: at least 1");
  check_outputs(render_options(), console_);
  diagnostics::check_thresholds(options_.thresholds);
  measure_.diagnostics = diagnostics::select_diagnostics(options_.diagnostics);
  measure_.thresholds = options_.thresholds;
  measure_.seed = options_.inputs.seed;
  model_ = model::Model::open(options_.model, {options_.allow_nonfinite});
  model_hash_ = std::async(std::launch::async,
                           [files = model_->source().files()] { return sha256_files(files); });
  tokenizer_ = open_tokenizer(*model_);
  const model::ModelSpec& spec = model_->spec();
  inputs_ = read_model_inputs(options_.inputs, *model_, tokenizer_.get());
  if (options_.allow_nonfinite) {
    inputs_.warnings.push_back("--allow-nonfinite: NaN and infinite weights are not looked for");
  }
  for (const std::string& note : model_->notes()) inputs_.warnings.push_back(note);
  if (options_.dtype == "bf16" && !cpu_has_bfloat16()) {
    inputs_.warnings.push_back(
        "this processor has no bfloat16 arithmetic: --dtype bf16 will be slow");
  }
  measure_.layers = parse_layers(options_.layers, static_cast<int>(spec.layers));
  measure_.heads =
      parse_heads(options_.heads, static_cast<int>(spec.layers), static_cast<int>(spec.heads));
  check_context();
}

void Scan::check_context() {
  const model::ModelSpec& spec = model_->spec();
  const int64_t context = spec.context, length = longest(inputs_.sequences);
  if (spec.is_vision() || context == 0 || length <= context) return;
  const std::string seen =
      fmt::format("a sequence of {} tokens; the model was made for {}", length, context);
  if (!options_.beyond_context) {
    throw Error(ErrorKind::kUsage, "read inputs", seen,
                "use a shorter --seq-len, or --beyond-context to run it all the same");
  }
  inputs_.warnings.push_back(seen);
}

void Scan::plan() {
  batches_ = cut_batches(inputs_.sequences, options_.batch_tokens);
  forward::RunOptions run;
  run.bfloat16 = options_.dtype == "bf16";
  const forward::Runner runner(*model_, run);
  for (const Batch& batch : batches_) {
    std::vector<int64_t> lengths;
    for (const store::SequenceInfo* s : batch) lengths.push_back(s->tokens());
    planned_bytes_ = std::max(planned_bytes_, runner.planned_bytes(lengths));
  }
  check_memory(planned_bytes_, options_.max_memory);
}

void Scan::announce() const {
  if (console_.verbosity < 0) return;
  std::ostream& err = console_.err;
  const bool images = model_->spec().is_vision();
  const store::SequenceInfo& first = inputs_.sequences.front();
  std::vector<std::string> shown = inputs_.labels(first);
  shown.resize(std::min<size_t>(shown.size(), 6));
  for (size_t i = 0; tokenizer_ && !images && i < shown.size(); ++i) {
    shown[i] = fmt::format("{} {}", first.ids[i], shown[i]);
  }
  err << fmt::format("model    {}  {}\n", model_->path().string(), model_->spec().text());
  err << fmt::format("inputs   {} of {} {}, {} tokens in all, longest {}{}\n",
                     inputs_.sequences.size(), inputs_.available, images ? "images" : "sequences",
                     report::count_text([&] {
                       int64_t sum = 0;
                       for (const auto& s : inputs_.sequences) sum += s.tokens();
                       return sum;
                     }()),
                     longest(inputs_.sequences), images ? "" : "; --bos " + options_.inputs.bos);
  err << fmt::format("first    {}{}\n", fmt::join(shown, " | "),
                     first.tokens() > std::ssize(shown) ? " ..." : "");
  err << fmt::format("memory   {} planned, {} free; {} reading(s) of the weights\n",
                     bytes_text(planned_bytes_), bytes_text(available_memory()), batches_.size());
  for (const std::string& warning : inputs_.warnings) err << "warning  " << warning << "\n";
}

store::RunIdentity Scan::identity() const {
  store::RunIdentity identity;
  identity.model_family = model_->spec().family;
  identity.dtype = options_.dtype;
  identity.device = options_.device;
  identity.inputs_kind = inputs_.kind;
  identity.inputs_sha256 = inputs_.sha256;
  identity.sequences = static_cast<int64_t>(inputs_.sequences.size());
  // Ids and prompts are run as long as they are.
  identity.seq_len =
      options_.inputs.files.empty() ? longest(inputs_.sequences) : options_.inputs.seq_len;
  identity.bos = options_.inputs.bos;
  identity.layers = options_.layers;
  identity.heads = options_.heads;
  for (const diagnostics::Diagnostic* d : measure_.diagnostics)
    identity.diagnostics.emplace_back(d->name);
  identity.seed = options_.inputs.seed;
  identity.thresholds = options_.thresholds;
  identity.thresholds.min_queries =
      diagnostics::effective_min_queries(identity.seq_len, options_.thresholds);
  return identity;
}

void Scan::open_store() {
  store::RunIdentity identity = this->identity();
  identity.model_sha256 = model_hash_.get();
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
  for (const store::SequenceInfo* s : batch) streams.push_back(inputs_.stream(*s));
  Measure measure(model_->spec(), measure_, batch);
  forward::Observer* observers[] = {&measure};
  runner.run(streams, observers);
  measure.finish();
  std::vector<store::Store::Finished> finished;
  for (size_t s = 0; s < batch.size(); ++s) finished.push_back({batch[s], &measure.record(s)});
  store_->put_batch(finished, measure.curves());
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
                                inputs_.sequences.size(), options_.output);
  }
  const int64_t steps = model_->spec().layers + 2;
  Progress progress(console_, std::max<int64_t>(1, todo_tokens * steps), todo_tokens);
  int64_t done = 0, batch_tokens = 0;
  forward::RunOptions run;
  run.bfloat16 = options_.dtype == "bf16";
  run.threads = options_.threads;
  run.event_mass = static_cast<float>(options_.thresholds.event_mass);
  run.progress = [&](int step, int) {
    progress.update(done * steps + batch_tokens * step);
    return !console_.interrupted || !console_.interrupted->load();
  };
  forward::Runner runner(*model_, run);
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
                              store_->finished().size(), inputs_.sequences.size()),
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
  const model::ModelSpec& spec = model_->spec();
  // A run that had nothing left to do keeps the timing of the one that did the work.
  store::RunFacts facts =
      measured_tokens_ == 0 ? store::read_facts(store_->facts()) : store::RunFacts{};
  facts.tool_version = kVersion, facts.tool_git = kGitRevision;
  facts.model_path = model_->path().string();
  facts.model_format = model_->format();
  facts.model_weights = model_->weight_types();
  facts.layers = spec.layers, facts.heads = spec.heads, facts.kv_heads = spec.kv_heads;
  facts.head_dim = spec.head_width, facts.d_model = spec.width, facts.vocab = spec.vocabulary;
  facts.parameters = model_->weights().parameters();
  facts.causal = spec.causal;
  facts.skipped = inputs_.skipped;
  if (tokenizer_) facts.bos_id = tokenizer_->bos_id();
  const auto& first = inputs_.sequences.front().ids;
  facts.first_tokens.assign(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(
                                                               std::min<size_t>(first.size(), 8)));
  facts.labels.clear();
  for (size_t s = 0; s < std::min(kLabelledSequences, inputs_.sequences.size()); ++s) {
    facts.labels.push_back(inputs_.labels(inputs_.sequences[s]));
  }
  facts.prefix_tokens = inputs_.prefix_tokens;
  facts.patch_rows = inputs_.patch_grid.rows;
  facts.patch_columns = inputs_.patch_grid.columns;
  facts.warnings = inputs_.warnings;
  if (measured_tokens_ > 0) {
    facts.load_s = load_s_;
    facts.forward_s = forward_s_;
    facts.tokens_per_s = static_cast<double>(measured_tokens_) / forward_s_;
  }
  facts.peak_rss_mb = peak_rss_mb();
  store::put_facts(*store_, facts);
}

int Scan::run() {
  open();
  plan();
  announce();
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
