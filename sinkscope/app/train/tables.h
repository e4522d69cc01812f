#pragma once

#include <span>
#include <string>
#include <vector>

#include "sinkscope/app/train/plan.h"
#include "sinkscope/app/train/recorder.h"
#include "sinkscope/store/sheet.h"

namespace sinkscope::app {

/// The tables of a training store, docs/training.md, and what is drawn of them.
std::vector<store::SheetTable> train_tables(const train::Task& task);
std::vector<store::SheetPlot> train_plots(const train::Task& task);

/// What the trainer says of the step before a record.
struct StepFacts {
  int64_t step = 0;  ///< steps done
  double running_loss = 0, gradient_norm = 0, rate = 0;
};

/// Rows of one record of a run; that of its last step has results too.
std::vector<store::SheetRow> record_rows(const TrainRun& run, const StepFacts& facts,
                                         const ModelRecord& record);

/// A sentence per row of the table of results.
std::vector<std::string> train_findings(const train::Task& task, const store::SheetStore& sheet);

}  // namespace sinkscope::app
