#include "sinkscope/app/train/tables.h"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "sinkscope/diagnostics/diagnostic.h"

namespace sinkscope::app {
namespace {

using store::SheetCell;
using store::SheetColumn;
using store::SheetRow;

const SheetColumn kRun{"run", "", "arm or swept value, and seed"};
const SheetColumn kLayer{"layer", "", "block, from 0"};
const SheetColumn kHead{"head", "", "query head, from 0"};
const SheetColumn kStep{"step", "", "steps done when it was measured"};
const SheetColumn kKind{"kind", "", "what a query has to do (docs/training.md)"};

std::string loss_unit(const train::Task& task) { return task.spec().vectors ? "" : "nats"; }

/// The measures of a head that the tables "heads" and "results" share.
const std::vector<SheetColumn> kMeasures = {
    {"selected", "share", "sequences whose dominant key is the one that the task expects"},
    {"value_ratio", "", "||W_O v|| at that key / mean over the others (method.md section 2)"},
    {"alpha_sink", "share", "mean attention that the dominant key receives (method.md section 1)"},
    {"ratio_out", "", "||W_O v|| at the dominant key / mean over the others"},
    {"stable_rank", "", "of the head's update over the tokens (method.md section 3)"},
    {"common_mode", "share", "energy of the update's mean over the tokens (method.md section 3)"},
    {"sigma_ratio", "", "sigma_1 / sigma_2 of W_Q^T W_K (method.md section 4)"},
};

std::vector<SheetCell> measures_of(const HeadRecord& head) {
  return {head.selected,    head.value_ratio, head.alpha_sink, head.ratio_out,
          head.stable_rank, head.common_mode, head.sigma_ratio};
}

std::vector<SheetColumn> with(std::vector<SheetColumn> first,
                              const std::vector<SheetColumn>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

SheetRow row_of(std::string_view table, std::vector<SheetCell> first,
                const std::vector<SheetCell>& rest = {}) {
  first.insert(first.end(), rest.begin(), rest.end());
  return {std::string(table), std::move(first)};
}

std::vector<SheetColumn> result_columns(const train::Task& task) {
  std::vector<SheetColumn> columns = {kRun,
                                      {"arm", "", "variant or swept value"},
                                      {"seed", "", "of data and initial values"},
                                      kStep,
                                      {"loss", loss_unit(task), "on the evaluation sequences"}};
  for (const train::QueryKind& kind : task.kinds()) {
    columns.push_back({fmt::format("loss_{}", kind.name), loss_unit(task),
                       fmt::format("of these queries: {}", kind.definition)});
  }
  columns = with(std::move(columns), {kLayer, kHead});
  for (const train::QueryKind& kind : task.kinds()) {
    columns.push_back({fmt::format("attention_{}", kind.name), "share",
                       "mean attention of these queries to the key that the task expects"});
  }
  columns = with(std::move(columns), kMeasures);
  return with(std::move(columns),
              {{"class", "", "most frequent class of the head, as `scan` gives it"},
               {"class_routed", "", "the same of a conditional sink by its routed queries"}});
}

}  // namespace

std::vector<store::SheetTable> train_tables(const train::Task& task) {
  const std::string unit = loss_unit(task);
  return {
      {"results", "Trained models", result_columns(task)},
      {"losses",
       "Loss",
       {kRun,
        kStep,
        {"loss", unit, "on the evaluation sequences"},
        {"running_loss", unit, "exponential mean over training batches"},
        {"gradient_norm", "", "of the step before, not clipped"},
        {"rate", "", "learning rate of the step before"}}},
      {"kind_losses",
       "Loss by what a query has to do",
       {kRun,
        kStep,
        kKind,
        {"loss", unit, "mean over these queries"},
        {"over_oracle", unit, "minus the loss of the best possible model"}}},
      {"attention",
       "Attention to the key that the task expects",
       {kRun, kLayer, kHead, kStep, kKind, {"mass", "share", "mean over these queries"}}},
      {"heads", "Heads", with({kRun, kLayer, kHead, kStep}, kMeasures)},
      {"spectrum",
       "Singular values of W_Q^T W_K",
       {kRun,
        kLayer,
        kHead,
        kStep,
        {"index", "", "1: the largest"},
        {"sigma", "", "with the gain of the norm before folded in"}}},
      {"layers",
       "Residual norms",
       {kRun,
        kLayer,
        kStep,
        {"norm_key", "", "behind the block, at the key that the task expects"},
        {"norm_rest", "", "mean over the other positions"}}},
  };
}

std::vector<store::SheetPlot> train_plots(const train::Task& task) {
  const auto lines = [](const char* table, const char* title, const char* y,
                        std::vector<std::string> series) {
    store::SheetPlot plot{"log-x", table, title};
    plot.x = "step", plot.y = y, plot.series = std::move(series);
    return plot;
  };
  std::vector<store::SheetPlot> plots = {lines("losses", "Loss", "loss", {"run"})};
  if (task.kinds().size() > 1) {
    plots.push_back(lines("kind_losses", "Loss over the best possible, by what a query has to do",
                          "over_oracle", {"run", "kind"}));
  }
  plots.push_back(lines("attention", "Attention to the expected key, by what a query has to do",
                        "mass", {"run", "layer", "head", "kind"}));
  plots.push_back(lines("heads", "Value drain: length of the expected key's value over the others",
                        "value_ratio", {"run", "layer", "head"}));
  plots.push_back(lines("spectrum", "Query-key spectrum: a spike leaves the bulk", "sigma",
                        {"run", "layer", "head", "index"}));
  plots.push_back(
      lines("heads", "Stable rank of the update", "stable_rank", {"run", "layer", "head"}));
  plots.push_back(
      lines("heads", "Common-mode share of the update", "common_mode", {"run", "layer", "head"}));
  plots.push_back(
      lines("layers", "Residual norm at the expected key", "norm_key", {"run", "layer"}));
  return plots;
}

std::vector<SheetRow> record_rows(const TrainRun& run, const StepFacts& facts,
                                  const ModelRecord& record) {
  const auto number = [](auto value) { return SheetCell(static_cast<double>(value)); };
  const SheetCell name = run.name, step = number(facts.step);
  const std::vector<train::QueryKind> kinds = run.task->kinds();
  std::vector<SheetRow> rows;
  rows.push_back(row_of(
      "losses", {name, step, record.loss, facts.running_loss, facts.gradient_norm, facts.rate}));
  for (size_t k = 0; k < kinds.size(); ++k) {
    const double loss = record.loss_of_kind[k];
    rows.push_back(row_of("kind_losses",
                          {name, step, std::string(kinds[k].name), loss, loss - kinds[k].oracle}));
  }
  std::vector<SheetCell> losses = {SheetCell(record.loss)};
  losses.insert(losses.end(), record.loss_of_kind.begin(), record.loss_of_kind.end());
  for (size_t l = 0; l < record.layers.size(); ++l) {
    const LayerRecord& layer = record.layers[l];
    rows.push_back(row_of("layers", {name, number(l), step, layer.norm_key, layer.norm_rest}));
    for (size_t h = 0; h < layer.heads.size(); ++h) {
      const HeadRecord& head = layer.heads[h];
      for (size_t k = 0; k < kinds.size(); ++k) {
        rows.push_back(row_of("attention", {name, number(l), number(h), step,
                                            std::string(kinds[k].name), head.mass[k]}));
      }
      rows.push_back(row_of("heads", {name, number(l), number(h), step}, measures_of(head)));
      for (size_t i = 0; i < head.spectrum.size(); ++i) {
        rows.push_back(row_of("spectrum",
                              {name, number(l), number(h), step, number(i + 1), head.spectrum[i]}));
      }
      std::vector<SheetCell> result = {name, run.arm, number(run.plan.options.seed), step};
      result.insert(result.end(), losses.begin(), losses.end());
      result.insert(result.end(), {number(l), number(h)});
      result.insert(result.end(), head.mass.begin(), head.mass.end());
      const std::vector<SheetCell> measures = measures_of(head);
      result.insert(result.end(), measures.begin(), measures.end());
      result.insert(result.end(), {head.verdict, head.verdict_conditional});
      if (facts.step == run.plan.options.steps) rows.push_back(row_of("results", result));
    }
  }
  return rows;
}

std::vector<std::string> train_findings(const train::Task& task, const store::SheetStore& sheet) {
  const std::vector<SheetColumn> columns = result_columns(task);
  const std::vector<train::QueryKind> kinds = task.kinds();
  std::vector<std::string> findings;
  std::set<std::string> runs;
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const SheetRow& row : sheet.rows("results")) {
    const auto cell = [&](std::string_view name) -> const SheetCell& {
      size_t c = 0;
      while (columns[c].name != name) ++c;
      return row.cells[c];
    };
    const auto number = [&](std::string_view name) { return std::get<double>(cell(name)); };
    runs.insert(std::get<std::string>(cell("run")));
    least = std::min(least, number("loss")), most = std::max(most, number("loss"));
    std::string text = fmt::format("{}: loss {:.4f}; L{}H{} gives the expected key",
                                   std::get<std::string>(cell("run")), number("loss"),
                                   number("layer"), number("head"));
    for (size_t k = 0; k < kinds.size(); ++k) {
      text += fmt::format("{} {:.3f} ({})", k == 0 ? "" : ",",
                          number(fmt::format("attention_{}", kinds[k].name)), kinds[k].name);
    }
    const std::string& verdict = std::get<std::string>(cell("class"));
    const std::string& routed = std::get<std::string>(cell("class_routed"));
    findings.push_back(text + fmt::format("; its value is {:.3f} of the others'; class {}{}",
                                          number("value_ratio"), verdict,
                                          routed == "none" || routed == verdict
                                              ? ""
                                              : fmt::format(", {} by its routed queries", routed)));
  }
  if (runs.size() > 1) {
    findings.insert(findings.begin(), fmt::format("{}, {} runs: losses from {:.4f} to {:.4f}",
                                                  task.name(), runs.size(), least, most));
  }
  return findings;
}

}  // namespace sinkscope::app
