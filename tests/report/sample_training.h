#pragma once

#include <limits>
#include <memory>
#include <string>

#include "sinkscope/store/sheet.h"

namespace sinkscope::report {

/// Two runs of a training, as `train` records them: a table of results, and tables per step.
inline std::unique_ptr<store::SheetStore> sample_training() {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  auto sheet =
      store::SheetStore::in_memory({{std::string(store::kTrainKey), "\"conditional-damping\""},
                                    {"train.steps", "1000"},
                                    {"train.seeds", "[0,1]"},
                                    {"theory.what", "\"not of this kind\""}});
  const store::SheetTable tables[] = {
      {"results", "Runs", {{"run", "", "name"}, {"step", "", ""}, {"class", "", "by scan"}}},
      {"losses", "Losses", {{"run", "", ""}, {"step", "", ""}, {"loss", "", ""}, {"rate", "", ""}}},
      {"attention",
       "Attention to the sink",
       {{"run", "", ""},
        {"layer", "", ""},
        {"head", "", ""},
        {"step", "", ""},
        {"kind", "", ""},
        {"mass", "", ""}}},
      {"spectrum",
       "QK spectrum",
       {{"run", "", ""},
        {"layer", "", ""},
        {"head", "", ""},
        {"step", "", ""},
        {"index", "", ""},
        {"sigma", "", ""}}},
      {"layers",
       "Residual",
       {{"run", "", ""}, {"layer", "", ""}, {"step", "", ""}, {"norm_key", "", ""}}}};
  const store::SheetPlot plots[] = {{"log-x", "losses", "Loss", "step", "loss", {"run"}}};
  sheet->put_outline(tables, plots);
  const store::SheetRow rows[] = {{"losses", {"seed-0", 0.0, 1.5, 0.003}},
                                  {"losses", {"seed-1", 0.0, 1.25, 0.003}},
                                  {"losses", {"seed-0", 100.0, 0.5, kNaN}},
                                  {"attention", {"seed-0", 0.0, 1.0, 100.0, "nop", 0.75}},
                                  {"attention", {"seed-0", 0.0, 1.0, 100.0, "active", 0.25}},
                                  {"spectrum", {"seed-0", 0.0, 0.0, 100.0, 1.0, 2.5}},
                                  {"layers", {"seed-0", 2.0, 100.0, 8.0}}};
  sheet->put(0, rows);
  const store::SheetRow concluded[] = {{"results", {"seed-0", 500.0, "nop"}},
                                       {"results", {"seed-1", 100.0, "nop"}}};
  const std::string findings[] = {"conditional-damping, 2 runs: both grow a sink."};
  sheet->put_conclusion(concluded, findings);
  return sheet;
}

}  // namespace sinkscope::report
