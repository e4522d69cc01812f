#include "sinkscope/app/theory/theory.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "sinkscope/app/progress.h"
#include "sinkscope/app/render.h"
#include "sinkscope/app/theory/calculator.h"
#include "sinkscope/app/theory/named.h"
#include "sinkscope/app/version.h"
#include "sinkscope/base/error.h"
#include "sinkscope/store/run_facts.h"

namespace sinkscope::app {
namespace {

using Clock = std::chrono::steady_clock;

/// Runs units on several threads and stores each as it is finished.
class Sweep {
 public:
  Sweep(const Calculator& calculator, store::SheetStore& sheet, Console& console)
      : calculator_(calculator), sheet_(sheet), console_(console) {
    const std::set<int64_t> finished = sheet.finished();
    for (int64_t unit = 0; unit < calculator.units(); ++unit) {
      if (!finished.contains(unit)) open_.push_back(unit);
    }
  }

  /// False when it was interrupted.
  bool run(int threads) {
    if (open_.empty()) return true;
    const auto hardware = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const auto count = static_cast<size_t>(threads > 0 ? threads : hardware);
    Progress progress(console_, std::ssize(open_), std::ssize(open_), "units");
    progress_ = &progress;
    std::vector<std::thread> workers;
    for (size_t w = 0; w < std::min(count, open_.size()); ++w)
      workers.emplace_back([this] { work(); });
    for (std::thread& worker : workers) worker.join();
    if (failure_) std::rethrow_exception(failure_);
    return done_ == std::ssize(open_);
  }

 private:
  void work() {
    while (true) {
      int64_t unit = 0;
      {
        const std::lock_guard lock(mutex_);
        const bool stop = failure_ || (console_.interrupted && *console_.interrupted);
        if (stop || next_ == open_.size()) return;
        unit = open_[next_++];
      }
      try {
        const std::vector<store::SheetRow> rows = calculator_.run(unit);
        const std::lock_guard lock(mutex_);
        sheet_.put(unit, rows);
        progress_->update(++done_);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
    }
  }

  const Calculator& calculator_;
  store::SheetStore& sheet_;
  Console& console_;
  Progress* progress_ = nullptr;
  std::vector<int64_t> open_;
  std::mutex mutex_;  // of everything below, the store and the progress
  size_t next_ = 0;
  int64_t done_ = 0;
  std::exception_ptr failure_;
};

store::Facts identity_of(const Calculator& calculator, const TheoryOptions& options) {
  store::Facts identity = {{std::string(store::kSheetKey), nlohmann::json(options.what).dump()},
                           {"theory.seed", std::to_string(options.seed)}};
  for (const auto& [key, value] : calculator.settings()) identity["theory." + key] = value;
  return identity;
}

void put_facts(store::SheetStore& sheet, double seconds) {
  store::RunFacts facts;
  facts.tool_version = kVersion, facts.tool_git = kGitRevision;
  facts.forward_s = seconds;
  for (const auto& [key, value] : store::to_facts(facts)) sheet.put_fact(key, value);
}

bool all_hold(const store::SheetStore& sheet) {
  for (const store::SheetRow& row : sheet.rows(store::kChecksTable)) {
    const auto* holds = row.cells.empty() ? nullptr : std::get_if<double>(&row.cells.back());
    if (!holds || *holds != 1) return false;
  }
  return true;
}

}  // namespace

int theory(const TheoryOptions& options, Console& console) {
  RenderOptions render;
  render.format = options.format, render.table = options.table;
  render.report = options.report, render.results = options.output;
  render.overwrite = options.overwrite;
  check_outputs(render, console);
  const std::unique_ptr<Calculator> calculator =
      need_named(calculators(), options.what, "theory").make(options, console);
  const store::Facts identity = identity_of(*calculator, options);
  const std::unique_ptr<store::SheetStore> sheet =
      options.output.empty()
          ? store::SheetStore::in_memory(identity)
          : store::SheetStore::open_or_create(options.output, identity, options.overwrite);
  sheet->put_outline(calculator->tables(), calculator->plots());
  const Clock::time_point begin = Clock::now();
  Sweep sweep(*calculator, *sheet, console);
  if (!sweep.run(options.threads)) {
    throw Error(ErrorKind::kInterrupted, "theory",
                fmt::format("interrupted; {} of {} units are finished", sheet->finished().size(),
                            calculator->units()),
                options.output.empty()
                    ? "nothing is kept without -o sweep.db"
                    : fmt::format("they are kept in {}; the same command goes on "
                                  "from there",
                                  options.output));
  }
  const Calculator::Conclusion conclusion = calculator->conclude(*sheet);
  sheet->put_conclusion(conclusion.rows, conclusion.findings);
  put_facts(*sheet, std::chrono::duration<double>(Clock::now() - begin).count());
  render_sheet(*sheet, render, console);
  return all_hold(*sheet) ? 0 : 1;
}

}  // namespace sinkscope::app
