#include "sinkscope/app/train/train.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "sinkscope/app/progress.h"
#include "sinkscope/app/render.h"
#include "sinkscope/app/train/plan.h"
#include "sinkscope/app/train/recorder.h"
#include "sinkscope/app/train/tables.h"
#include "sinkscope/app/version.h"
#include "sinkscope/base/error.h"
#include "sinkscope/base/sha256.h"
#include "sinkscope/forward/kernels/linear.h"
#include "sinkscope/report/sheet.h"
#include "sinkscope/report/tensorboard.h"
#include "sinkscope/store/run_facts.h"

namespace sinkscope::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kSaveSeconds = 60;  // a killed run loses at most this much work
constexpr int64_t kUnitsPerRun = int64_t{1} << 40;

/// Steps that are recorded: 0, the powers of two, every `every`, the last.
bool is_recorded(int64_t step, int64_t every, int64_t last) {
  return step == last || step % every == 0 || (step & (step - 1)) == 0;
}

/// One run: trains, records, keeps checkpoints, goes on where it was left.
class Run {
 public:
  Run(const TrainOptions& options, const TrainRun& run, int64_t index, const fs::path& folder,
      store::SheetStore& sheet, Console& console)
      : options_(options),
        run_(run),
        first_unit_(index * kUnitsPerRun),
        folder_(folder),
        sheet_(sheet),
        console_(console),
        trainer_(*run.task, run.plan.spec, run.plan.options),
        recorder_(*run.task, options.record_sequences, options.threads),
        recorded_(sheet.finished()),
        steps_(run.plan.options.steps) {
    fs::create_directories(folder / "tensorboard");
    const bool started = fs::exists(state_file());
    if (started) trainer_.load(state_file());
    const fs::path events = folder / "tensorboard" / "events.out.tfevents.sinkscope";
    const bool goes_on = started && fs::exists(events);
    events_ = std::make_unique<report::EventFile>(
        events, goes_on ? std::optional(trainer_.steps_done() + 1) : std::nullopt);
  }

  /// False when it was interrupted.
  bool run() {
    if (trainer_.steps_done() == 0) record();
    const int64_t before = trainer_.steps_done(), left = steps_ - before;
    Progress progress(console_, left, left, "steps");
    while (trainer_.steps_done() < steps_) {
      if (console_.interrupted && *console_.interrupted) {
        save();
        return false;
      }
      last_ = trainer_.step();
      progress.update(trainer_.steps_done() - before,
                      fmt::format("{}  loss {:.4f}", run_.name, trainer_.running_loss()));
      if (is_recorded(trainer_.steps_done(), record_every(), steps_)) record();
      if (seconds_since_save() > kSaveSeconds) save();
    }
    write_tables();
    return true;
  }

 private:
  fs::path state_file() const { return folder_ / "trainer.state"; }

  int64_t record_every() const {
    return options_.record_every > 0 ? options_.record_every : std::max<int64_t>(steps_ / 50, 1);
  }
  int64_t checkpoint_every() const {
    return options_.checkpoint_every > 0 ? options_.checkpoint_every
                                         : std::max<int64_t>(steps_ / 10, 1);
  }

  double seconds_since_save() const {
    return std::chrono::duration<double>(Clock::now() - saved_).count();
  }

  void save() {
    trainer_.save(state_file());
    saved_ = Clock::now();
  }

  /// The record comes before the saved state: a run that is killed between them measures the same
  /// step again, and never misses one.
  void record() {
    const int64_t step = trainer_.steps_done();
    // Measured first: numbers that went bad must not replace the last good model.
    const fs::path fresh = folder_ / "recording";
    trainer_.write_model(fresh);
    const int64_t unit = first_unit_ + step;
    if (!recorded_.contains(unit)) {
      const ModelRecord record = recorder_.record(trainer_, fresh);
      const StepFacts facts{step, trainer_.running_loss(), last_.gradient_norm, last_.rate};
      sheet_.put(unit, record_rows(run_, facts, record));
      recorded_.insert(unit);
    }
    for (const char* name : {"model.safetensors", "config.json"}) {
      fs::rename(fresh / name, folder_ / name);
    }
    fs::remove(fresh);
    add_events(step);
    if (is_recorded(step, checkpoint_every(), steps_)) {
      trainer_.write_model(folder_ / "checkpoints" / fmt::format("step{}", step));
    }
    save();
  }

  /// What the store has of this step, for TensorBoard.
  void add_events(int64_t step) {
    const double now =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const std::vector<store::SheetRow> rows = sheet_.unit_rows(first_unit_ + step);
    for (const store::SheetTable& table : sheet_.tables()) {
      std::vector<store::SheetRow> own;
      std::copy_if(rows.begin(), rows.end(), std::back_inserter(own),
                   [&](const store::SheetRow& row) { return row.table == table.name; });
      for (const report::StepScalars& at : report::step_scalars(table, own)) {
        events_->add(now, at.step, at.scalars);
      }
    }
  }

  void write_tables() const {
    fs::create_directories(folder_ / "csv");
    for (const store::SheetTable& table : sheet_.tables()) {
      write_file(folder_ / "csv" / (table.name + ".csv"), [&](std::ostream& out) {
        report::write_run_csv(sheet_, table.name, run_.name, out);
      });
    }
  }

  const TrainOptions& options_;
  const TrainRun& run_;
  int64_t first_unit_;
  fs::path folder_;
  store::SheetStore& sheet_;
  Console& console_;
  train::Trainer trainer_;
  Recorder recorder_;
  std::unique_ptr<report::EventFile> events_;
  std::set<int64_t> recorded_;
  int64_t steps_;
  train::StepResult last_;
  Clock::time_point saved_ = Clock::now();
};

/// What two commands must share to share a folder, the most telling parts by name.
store::Facts identity_of(const TrainOptions& options, const std::vector<TrainRun>& runs) {
  nlohmann::json names = nlohmann::json::array();
  std::string all;
  for (const TrainRun& run : runs) {
    names.push_back(run.name);
    all += train::identity_of(*run.task, run.plan.spec, run.plan.options);
  }
  const train::TrainerOptions& first = runs.front().plan.options;
  return {{std::string(store::kTrainKey), nlohmann::json(options.task).dump()},
          {"train.runs", names.dump()},
          {"train.settings", runs.front().task->settings().dump()},
          {"train.steps", std::to_string(first.steps)},
          {"train.batch", std::to_string(first.batch)},
          {"train.optimiser", nlohmann::json(first.optimiser.name).dump()},
          {"train.lr", nlohmann::json(first.optimiser.rate).dump()},
          {"train.record_sequences", std::to_string(options.record_sequences)},
          {"train.variants_sha256",
           nlohmann::json(sha256_bytes(std::as_bytes(std::span(all)))).dump()}};
}

/// Removes what an earlier command left; other files of the folder stay.
void clear(const fs::path& folder, const std::vector<TrainRun>& runs) {
  std::vector<fs::path> places = {folder};
  for (const TrainRun& run : runs) places.push_back(folder / run.name);
  for (const fs::path& place : places) {
    for (const char* name : {"config.json", "model.safetensors", "trainer.state", "checkpoints",
                             "recording", "tensorboard", "csv"}) {
      fs::remove_all(place / name);
    }
  }
}

/// Seconds that commands before this one have spent on the store.
double seconds_before(const store::SheetStore& sheet) {
  const double seconds = store::read_facts(sheet.facts()).forward_s;
  return std::isnan(seconds) ? 0 : seconds;
}

void put_facts(store::SheetStore& sheet, double seconds) {
  store::RunFacts facts;
  facts.tool_version = kVersion, facts.tool_git = kGitRevision;
  facts.forward_s = seconds;
  for (const auto& [key, value] : store::to_facts(facts)) sheet.put_fact(key, value);
}

void announce(const std::vector<TrainRun>& runs, const fs::path& folder, Console& console) {
  if (console.verbosity < 0) return;
  const train::TrainerOptions& options = runs.front().plan.options;
  console.err << fmt::format("task     {}\n", runs.front().task->name());
  console.err << fmt::format("model    {}\n", runs.front().plan.spec.text());
  console.err << fmt::format("recipe   {} steps of {} sequences, {} at {}, {} run(s)\n",
                             options.steps, options.batch, options.optimiser.name,
                             options.optimiser.rate, runs.size());
  console.err << fmt::format("folder   {}\n", folder.string());
}

}  // namespace

int train(const TrainOptions& options, Console& console) {
  RenderOptions render;
  render.format = options.format, render.table = options.table;
  render.report = options.report;
  render.overwrite = options.overwrite;
  check_outputs(render, console);
  forward::kernels::prepare_process();
  // In any case, and after that: a LibTorch built against OpenBLAS starts with one thread.
  at::set_num_threads(options.threads > 0
                          ? options.threads
                          : static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  const std::vector<TrainRun> runs = plan_runs(options);
  const fs::path folder = options.output.empty() ? options.task : options.output;
  const fs::path store_file = folder / "train.db";
  if (options.overwrite) clear(folder, runs);
  fs::create_directories(folder);
  render.results = store_file.string();
  const std::unique_ptr<store::SheetStore> sheet =
      store::SheetStore::open_or_create(store_file, identity_of(options, runs), options.overwrite);
  const train::Task& task = *runs.front().task;
  sheet->put_outline(train_tables(task), train_plots(task));
  announce(runs, folder, console);
  const double before = seconds_before(*sheet);
  const Clock::time_point begin = Clock::now();
  for (size_t r = 0; r < runs.size(); ++r) {
    const fs::path place = runs.size() == 1 ? folder : folder / runs[r].name;
    Run run(options, runs[r], static_cast<int64_t>(r), place, *sheet, console);
    const bool finished = run.run();
    put_facts(*sheet, before + std::chrono::duration<double>(Clock::now() - begin).count());
    if (finished) continue;
    throw Error(ErrorKind::kInterrupted, "train",
                fmt::format("interrupted in run {} of {}", r + 1, runs.size()),
                fmt::format("what is done is kept in {}; the same command goes on from there",
                            folder.string()));
  }
  sheet->put_conclusion({}, train_findings(task, *sheet));
  render_sheet(*sheet, render, console);
  return 0;
}

}  // namespace sinkscope::app
