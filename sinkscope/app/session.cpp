#include "sinkscope/app/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sinkscope/app/memory.h"
#include "sinkscope/app/version.h"
#include "sinkscope/base/error.h"
#include "sinkscope/base/sha256.h"
#include "sinkscope/diagnostics/summary.h"
#include "sinkscope/report/text.h"

namespace sinkscope::app {
namespace {

constexpr size_t kLabelledSequences = 8;  // whose tokens are shown by name in the page

void check_flags(const RunModelOptions& options) {
  if (options.dtype != "f32" && options.dtype != "bf16") {
    throw Error(ErrorKind::kUsage, "read flags", "--dtype " + options.dtype, "f32 or bf16");
  }
  if (options.device != "cpu") {
    throw Error(ErrorKind::kUnsupported, "choose the device", "--device " + options.device,
                "this build runs on cpu");
  }
  if (options.batch_tokens < 1)
    throw Error(ErrorKind::kUsage, "read flags", "--batch-tokens: at least 1");
  diagnostics::check_thresholds(options.thresholds);
}

void check_context(Session& session, bool beyond_context) {
  const model::ModelSpec& spec = session.model->spec();
  const int64_t context = spec.context, length = longest(session.inputs.sequences);
  if (spec.is_vision() || context == 0 || length <= context) return;
  const std::string seen =
      fmt::format("a sequence of {} tokens; the model was made for {}", length, context);
  if (!beyond_context) {
    throw Error(ErrorKind::kUsage, "read inputs", seen,
                "use a shorter --seq-len, or --beyond-context to run it all the same");
  }
  session.inputs.warnings.push_back(seen);
}

}  // namespace

Session open_session(const RunModelOptions& options) {
  check_flags(options);
  Session session;
  session.model = model::Model::open(options.model, {options.allow_nonfinite});
  session.model_hash = std::async(std::launch::async, [files = session.model->source().files()] {
    return sha256_files(files);
  });
  session.tokenizer = open_tokenizer(*session.model);
  session.inputs = read_model_inputs(options.inputs, *session.model, session.tokenizer.get());
  std::vector<std::string>& warnings = session.inputs.warnings;
  if (options.allow_nonfinite) {
    warnings.emplace_back("--allow-nonfinite: NaN and infinite weights are not looked for");
  }
  for (const std::string& note : session.model->notes()) warnings.push_back(note);
  if (options.dtype == "bf16" && !cpu_has_bfloat16()) {
    warnings.emplace_back("this processor has no bfloat16 arithmetic: --dtype bf16 will be slow");
  }
  check_context(session, options.beyond_context);
  return session;
}

int64_t longest(const std::vector<store::SequenceInfo>& sequences) {
  int64_t length = 0;
  for (const store::SequenceInfo& s : sequences) length = std::max(length, s.tokens());
  return length;
}

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

forward::RunOptions run_options(const RunModelOptions& options) {
  forward::RunOptions run;
  run.bfloat16 = options.dtype == "bf16";
  run.threads = options.threads;
  run.event_mass = static_cast<float>(options.thresholds.event_mass);
  return run;
}

store::RunIdentity identity_of(Session& session, const RunModelOptions& options) {
  const Inputs& inputs = session.inputs;
  store::RunIdentity identity;
  identity.model_sha256 = session.model_hash.get();
  identity.model_family = session.model->spec().family;
  identity.dtype = options.dtype;
  identity.device = options.device;
  identity.inputs_kind = inputs.kind;
  identity.inputs_sha256 = inputs.sha256;
  identity.sequences = static_cast<int64_t>(inputs.sequences.size());
  // Ids and prompts are run as long as they are.
  identity.seq_len =
      options.inputs.files.empty() ? longest(inputs.sequences) : options.inputs.seq_len;
  identity.bos = options.inputs.bos;
  identity.seed = options.inputs.seed;
  identity.thresholds = options.thresholds;
  identity.thresholds.min_queries =
      diagnostics::effective_min_queries(identity.seq_len, options.thresholds);
  return identity;
}

store::RunFacts facts_of(const Session& session) {
  const model::ModelSpec& spec = session.model->spec();
  const Inputs& inputs = session.inputs;
  store::RunFacts facts;
  facts.tool_version = kVersion, facts.tool_git = kGitRevision;
  facts.model_path = session.model->path().string();
  facts.model_format = session.model->format();
  facts.model_weights = session.model->weight_types();
  facts.layers = spec.layers, facts.heads = spec.heads, facts.kv_heads = spec.kv_heads;
  facts.head_dim = spec.head_width, facts.d_model = spec.width, facts.vocab = spec.vocabulary;
  facts.parameters = session.model->weights().parameters();
  facts.causal = spec.causal;
  facts.skipped = inputs.skipped;
  if (session.tokenizer) facts.bos_id = session.tokenizer->bos_id();
  const auto& first = inputs.sequences.front().ids;
  facts.first_tokens.assign(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(
                                                               std::min<size_t>(first.size(), 8)));
  facts.labels.clear();
  for (size_t s = 0; s < std::min(kLabelledSequences, inputs.sequences.size()); ++s) {
    facts.labels.push_back(inputs.labels(inputs.sequences[s]));
  }
  facts.prefix_tokens = inputs.prefix_tokens;
  facts.patch_rows = inputs.patch_grid.rows;
  facts.patch_columns = inputs.patch_grid.columns;
  facts.warnings = inputs.warnings;
  facts.peak_rss_mb = peak_rss_mb();
  return facts;
}

void announce(const Session& session, const RunModelOptions& options, int64_t planned_bytes,
              size_t readings, Console& console) {
  if (console.verbosity < 0) return;
  std::ostream& err = console.err;
  const Inputs& inputs = session.inputs;
  const bool images = session.model->spec().is_vision();
  const store::SequenceInfo& first = inputs.sequences.front();
  std::vector<std::string> shown = inputs.labels(first);
  shown.resize(std::min<size_t>(shown.size(), 6));
  for (size_t i = 0; session.tokenizer && !images && i < shown.size(); ++i) {
    shown[i] = fmt::format("{} {}", first.ids[i], shown[i]);
  }
  err << fmt::format("model    {}  {}\n", session.model->path().string(),
                     session.model->spec().text());
  err << fmt::format("inputs   {} of {} {}, {} tokens in all, longest {}{}\n",
                     inputs.sequences.size(), inputs.available, images ? "images" : "sequences",
                     report::count_text([&] {
                       int64_t sum = 0;
                       for (const auto& s : inputs.sequences) sum += s.tokens();
                       return sum;
                     }()),
                     longest(inputs.sequences), images ? "" : "; --bos " + options.inputs.bos);
  err << fmt::format("first    {}{}\n", fmt::join(shown, " | "),
                     first.tokens() > std::ssize(shown) ? " ..." : "");
  if (readings > 0) {
    err << fmt::format("memory   {} planned, {} free; {} reading(s) of the weights\n",
                       bytes_text(planned_bytes), bytes_text(available_memory()), readings);
  }
  for (const std::string& warning : inputs.warnings) err << "warning  " << warning << "\n";
}

}  // namespace sinkscope::app
