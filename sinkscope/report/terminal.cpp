#include "sinkscope/report/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "sinkscope/report/advice.h"
#include "sinkscope/report/findings.h"
#include "sinkscope/report/labels.h"
#include "sinkscope/report/map.h"
#include "sinkscope/report/text.h"
#include "sinkscope/store/run_facts.h"

namespace sinkscope::report {
namespace {

constexpr size_t kWarningsShown = 3;

std::string model_name(const store::RunFacts& facts) {
  const std::filesystem::path path = facts.model_path;
  // "models/x/" names x; only a weight file's ending says nothing.
  const std::filesystem::path last =
      path.has_filename() ? path.filename() : path.parent_path().filename();
  const bool file = last.extension() == ".gguf" || last.extension() == ".safetensors";
  return terminal_text((file ? last.stem() : last).string());
}

std::string inputs_text(const store::RunResult& run, const store::RunIdentity& identity,
                        const store::RunFacts& facts) {
  const std::string count = count_text(std::ssize(run.sequences));
  if (identity.inputs_kind == "images" || identity.inputs_kind == "pixels") {
    const std::string images = count + (run.sequences.size() == 1 ? " image" : " images");
    const std::optional<PatchGrid> grid = patch_grid(run, facts);
    return grid ? fmt::format("{} of {} x {} patches", images, grid->rows, grid->columns) : images;
  }
  return fmt::format("{} x {} tokens, BOS {}", count, count_text(identity.seq_len),
                     terminal_text(identity.bos));
}

void write_title(const store::RunResult& run, const store::RunIdentity& identity,
                 const store::RunFacts& facts, std::ostream& out) {
  out << fmt::format("{}  {}  {} layers x {} heads  {}", model_name(facts),
                     terminal_text(identity.model_family), run.layers, run.heads,
                     inputs_text(run, identity, facts));
  if (std::isfinite(facts.forward_s)) out << fmt::format("  {} s", number_text(facts.forward_s));
  out << '\n';
}

void write_thresholds(const diagnostics::Thresholds& t, int columns, std::ostream& out) {
  const std::string text = fmt::format(
      "sink: alpha > {} and {} x a uniform head, on {} queries or more; event: {} of the queries "
      "give "
      "{} or more; nop: ratio_out <= {}; broadcast: ratio_out >= {} and stable rank <= {}",
      number_text(t.epsilon), number_text(t.min_lift), t.min_queries,
      percent_text(t.event_query_share), number_text(t.event_mass), number_text(t.nop_ratio),
      number_text(t.broadcast_ratio), number_text(t.broadcast_stable_rank));
  for (const std::string& line : wrap_text(text, static_cast<size_t>(std::max(40, columns))))
    out << line << '\n';
}

void write_warnings(const store::RunFacts& facts, int columns, std::ostream& out) {
  std::vector<std::string> shown;
  for (const std::string& warning : facts.warnings) {
    if (shown.size() == kWarningsShown) {
      shown.push_back(
          fmt::format("and {} more (--format json)", facts.warnings.size() - kWarningsShown));
      break;
    }
    shown.push_back(terminal_text(warning));
  }
  write_paragraphs("Warnings", shown, columns, out);
}

}  // namespace

void write_results(const TerminalOptions& options, std::ostream& out) {
  const std::pair<const char*, const std::string*> entries[] = {
      {"Results", &options.results}, {"Page", &options.page}, {"Next", &options.next}};
  std::string line;
  for (const auto& [name, value] : entries) {
    if (value->empty()) continue;
    if (!line.empty()) line += "   ";
    line += fmt::format("{}  {}", name, terminal_text(*value));
  }
  if (!line.empty()) out << '\n' << line << '\n';
}

void write_terminal(const store::RunResult& run, const TerminalOptions& options,
                    std::ostream& out) {
  const store::RunIdentity identity = store::read_identity(run.identity);
  const store::RunFacts facts = store::read_facts(run.facts);
  write_title(run, identity, facts, out);
  out << '\n';
  write_map(make_map(run, options), options, out);
  write_thresholds(identity.thresholds, options.columns, out);
  std::vector<std::string> findings;
  for (const Finding& finding : find_findings(run)) findings.push_back(finding.text);
  write_paragraphs("Findings", findings, options.columns, out);
  std::vector<std::string> advice;
  for (const Finding& finding : find_advice(run)) advice.push_back(finding.text);
  write_paragraphs("Advice", advice, options.columns, out);
  write_warnings(facts, options.columns, out);
  write_results(options, out);
}

}  // namespace sinkscope::report
