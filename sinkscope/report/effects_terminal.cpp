#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "sinkscope/report/effects.h"
#include "sinkscope/report/text.h"
#include "sinkscope/store/run_facts.h"

namespace sinkscope::report {
namespace {

constexpr size_t kHeadsListed = 10;
constexpr double kLevels[] = {0.001, 0.01, 0.1, 1};  // nats
constexpr const char* kShades[] = {" ", "\u00b7", "\u2591", "\u2592", "\u2588"};
constexpr const char* kAsciiShades[] = {" ", ".", ":", "+", "#"};

std::string signed_text(double value) {
  return std::isfinite(value) ? fmt::format("{:+.4f}", value) : std::string("-");
}

std::string line_of(const std::string& name, const EffectRow& row) {
  const auto share = [&](double store::Effect::*value) {
    return percent_text(mean_of(row, value));
  };
  const std::string change =
      signed_text(row.loss_change) + (std::isfinite(row.loss_change_sem)
                                          ? fmt::format(" +- {:.4f}", row.loss_change_sem)
                                          : std::string());
  const std::string sinks =
      share(&store::Effect::sink0_base) + " > " + share(&store::Effect::sink0);
  return fmt::format("{:<28} {:>20} {:>9} {:>7} {:>8}  {}\n", name, change,
                     number_text(mean_of(row, &store::Effect::kl)), share(&store::Effect::top1),
                     number_text(mean_of(row, &store::Effect::rms)), sinks);
}

void write_head(const char* first, std::ostream& out) {
  out << fmt::format("{:<28} {:>20} {:>9} {:>7} {:>8}  {}\n", first, "loss change", "KL", "top-1",
                     "rms", "sinks at 0 in later layers");
}

/// "L2H0 zero-head 3" with the edited key where it is one, "L2 zero-attention", "mask-p0".
std::string name_of(const EffectRow& row) {
  std::string place;
  if (row.head >= 0) {
    place = head_text(static_cast<int>(row.layer), static_cast<int>(row.head)) + ' ';
  } else if (row.layer >= 0) {
    place = fmt::format("L{} ", row.layer);
  }
  return place + row.intervention +
         (row.key < 0 || !row.same_key ? "" : fmt::format(" {}", row.key));
}

/// One line per intervention: of the model as it is, of heads the mean and the dearest head.
void write_interventions(const std::vector<EffectRow>& rows, std::ostream& out) {
  std::map<std::string, std::vector<const EffectRow*>> heads;
  bool model = false;
  for (const EffectRow& row : rows) {
    if (row.head >= 0) {
      heads[row.intervention].push_back(&row);
    } else {
      if (!model) write_head("intervention", out);
      out << line_of(name_of(row), row);
      model = true;
    }
  }
  if (heads.empty()) return;
  if (model) out << '\n';
  out << fmt::format("{:<22} {:>6} {:>14} {:>14}  {}\n", "of single heads", "heads", "mean change",
                     "largest", "head");
  for (const auto& [name, of_name] : heads) {
    double sum = 0;
    const EffectRow* dearest = of_name.front();
    for (const EffectRow* row : of_name) {
      if (std::isfinite(row->loss_change)) sum += row->loss_change;
      if (row->loss_change > dearest->loss_change) dearest = row;
    }
    out << fmt::format(
        "{:<22} {:>6} {:>14} {:>14}  {}\n", name, of_name.size(),
        signed_text(sum / static_cast<double>(of_name.size())), signed_text(dearest->loss_change),
        head_text(static_cast<int>(dearest->layer), static_cast<int>(dearest->head)));
  }
}

void write_dearest_heads(std::vector<EffectRow> rows, std::ostream& out) {
  std::erase_if(rows,
                [](const EffectRow& r) { return r.head < 0 || !(r.loss_change == r.loss_change); });
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(), [](const EffectRow& a, const EffectRow& b) {
    return std::abs(a.loss_change) > std::abs(b.loss_change);
  });
  if (rows.size() > kHeadsListed) rows.resize(kHeadsListed);
  out << "\nlargest changes\n";
  write_head("", out);
  for (const EffectRow& row : rows) out << line_of(name_of(row), row);
}

/// Layers x heads of the intervention with the largest change of one head.
void write_effect_map(const std::vector<EffectRow>& rows, const store::RunFacts& facts,
                      const TerminalOptions& options, std::ostream& out) {
  const EffectRow* dearest = nullptr;
  for (const EffectRow& row : rows) {
    if (row.head >= 0 && (!dearest || row.loss_change > dearest->loss_change)) dearest = &row;
  }
  if (!dearest || facts.heads < 2 || 2 * facts.heads + 8 > options.columns) return;
  std::map<std::pair<int64_t, int64_t>, double> change;
  for (const EffectRow& row : rows) {
    if (row.intervention == dearest->intervention) change[{row.layer, row.head}] = row.loss_change;
  }
  const auto& shades = options.ascii ? kAsciiShades : kShades;
  out << fmt::format("\nloss change by head, {}\n  layer  ", dearest->intervention);
  for (int64_t h = 0; h < facts.heads; ++h)
    out << fmt::format("{:<2}", h < 10 || h % 5 == 0 ? fmt::format("{}", h) : "");
  out << '\n';
  for (int64_t l = 0; l < facts.layers; ++l) {
    out << fmt::format("  {:>5}  ", l);
    for (int64_t h = 0; h < facts.heads; ++h) {
      const auto found = change.find({l, h});
      if (found == change.end()) {
        out << "  ";
        continue;
      }
      size_t level = 0;
      for (const double limit : kLevels) level += std::abs(found->second) >= limit;
      out << shades[level] << (found->second < 0 && level > 0 ? "-" : " ");
    }
    out << '\n';
  }
  out << "  |change| from";
  for (size_t i = 0; i < std::size(kLevels); ++i)
    out << fmt::format("  {} {}", shades[i + 1], kLevels[i]);
  out << " nats; - behind it: the loss falls\n";
}

/// Of a task whose outputs are vectors: every row, heads first, then blocks, then the model.
void write_output_effects(std::vector<EffectRow> rows, std::ostream& out) {
  const auto last = [](int64_t place) { return place < 0 ? INT64_MAX : place; };
  std::stable_sort(rows.begin(), rows.end(), [&](const EffectRow& a, const EffectRow& b) {
    return std::pair(last(a.layer), last(a.head)) < std::pair(last(b.layer), last(b.head));
  });
  out << fmt::format("{:<28} {:>17} {:>19} {:>13} {:>13} {:>10}\n", "", "loss", "change by query",
                     "donor", "loss against", "energy");
  out << fmt::format("{:<28} {:>8} {:>8} {:>9} {:>9} {:>13} {:>13} {:>10}\n", "edit", "without",
                     "with", "using", "other", "cosine", "donor target", "shared");
  for (const EffectRow& row : rows) {
    const auto text = [&](double store::Effect::*value) {
      return number_text(mean_of(row, value));
    };
    out << fmt::format("{:<28} {:>8} {:>8} {:>9} {:>9} {:>13} {:>13} {:>10}\n", name_of(row),
                       text(&store::Effect::loss_base), text(&store::Effect::loss),
                       text(&store::Effect::change_using), text(&store::Effect::change_other),
                       text(&store::Effect::donor_cosine), text(&store::Effect::donor_loss),
                       text(&store::Effect::shared_energy));
  }
  out << "loss: squared error per channel; change: root mean square per channel, of the queries "
         "that use the edited key and of the others\n";
}

}  // namespace

void write_effects_terminal(const store::EffectStore& store, const TerminalOptions& options,
                            std::ostream& out) {
  const store::RunIdentity identity = store::read_identity(store.identity());
  const store::RunFacts facts = store::read_facts(store.facts());
  const std::vector<EffectRow> rows = summarise_effects(store.effects());
  out << fmt::format("{}  {}  {} layers x {} heads  {} x {} tokens, BOS {}",
                     terminal_text(std::filesystem::path(facts.model_path).stem().string()),
                     terminal_text(identity.model_family), facts.layers, facts.heads,
                     count_text(identity.sequences), count_text(identity.seq_len),
                     terminal_text(identity.bos));
  if (std::isfinite(facts.forward_s)) out << fmt::format("  {} s", number_text(facts.forward_s));
  out << "\n\n";
  if (are_squared_errors(rows)) {
    write_output_effects(rows, out);
  } else {
    write_interventions(rows, out);
    write_dearest_heads(rows, out);
    write_effect_map(rows, facts, options, out);
  }
  for (const std::string& warning : facts.warnings)
    out << "note: " << terminal_text(warning) << '\n';
  if (!options.results.empty()) out << "results: " << terminal_text(options.results) << '\n';
}

}  // namespace sinkscope::report
