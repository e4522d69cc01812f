#include "sinkscope/app/render.h"

#include <unistd.h>

#include <sstream>

#include "sinkscope/base/error.h"
#include "sinkscope/io/pending_file.h"
#include "sinkscope/report/csv.h"
#include "sinkscope/report/effects.h"
#include "sinkscope/report/html.h"
#include "sinkscope/report/json.h"
#include "sinkscope/report/npz.h"
#include "sinkscope/report/sheet.h"
#include "sinkscope/report/terminal.h"
#include "sinkscope/store/run_result.h"

namespace sinkscope::app {
namespace fs = std::filesystem;
namespace {

report::TerminalOptions terminal_options(const RenderOptions& options, const Console& console) {
  report::TerminalOptions terminal;
  terminal.columns = console.columns, terminal.rows = console.rows;
  terminal.ascii = options.ascii;
  terminal.colour = console.colour && console.out_is_terminal && options.file.empty();
  terminal.results = options.results, terminal.page = options.report;
  terminal.next = options.next;
  return terminal;
}

void check_file(const std::string& flag, const std::string& file, bool overwrite) {
  if (file.empty()) return;
  const fs::path path(file);
  if (!overwrite && fs::exists(path)) {
    throw Error(ErrorKind::kUsage, "write results", flag + " " + file + ": the file exists",
                "give another name, or --overwrite");
  }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder) || ::access(folder.c_str(), W_OK) != 0) {
    throw Error(
        ErrorKind::kUsage, "write results",
        flag + " " + file + ": the folder " + folder.string() + " is not there or not writable",
        "make it first, or give another place");
  }
}

void write_results(const RenderOptions& options, const Console& console,
                   const std::function<void(std::ostream&)>& write) {
  if (options.file.empty()) {
    write(console.out);
  } else {
    write_file(options.file, write);
  }
}

/// "run.npz" -> "run.json", where a CSV or npz file's facts lie.
fs::path side_file(const fs::path& file) { return fs::path(file).replace_extension(".json"); }

}  // namespace

void check_outputs(const RenderOptions& options, const Console& console) {
  const std::string& f = options.format;
  if (f != "table" && f != "json" && f != "csv" && f != "npz") {
    throw Error(ErrorKind::kUsage, "read flags", "--format " + f, "table, json, csv or npz");
  }
  if (f == "npz" && options.file.empty() && console.out_is_terminal) {
    throw Error(ErrorKind::kUsage, "write results", "--format npz to a terminal",
                "redirect it: > run.npz");
  }
  check_file("--report", options.report, options.overwrite);
  check_file("--output", options.file, options.overwrite);
}

void write_file(const fs::path& file, const std::function<void(std::ostream&)>& write) {
  std::ostringstream out;
  write(out);
  io::write_file(file, out.view(), "write results");
}

void render(const store::Store& store, const RenderOptions& options, Console& console) {
  const store::RunResult run = store::read_run(store);
  if (!options.report.empty()) {
    write_file(options.report, [&](std::ostream& out) {
      report::write_html(store, run, report::page_bundle(), out);
    });
  }
  const auto results = [&](std::ostream& out) {
    if (options.format == "json") {
      report::write_json(run, out);
    } else if (options.format == "csv") {
      report::write_csv(run, out);
    } else if (options.format == "npz") {
      report::write_npz(run, out);
    } else {
      report::write_terminal(run, terminal_options(options, console), out);
    }
  };
  write_results(options, console, results);
  if (!options.file.empty() && (options.format == "csv" || options.format == "npz")) {
    write_file(side_file(options.file),
               [&](std::ostream& out) { report::write_run_json(run, out); });
  }
}

void render_effects(const store::EffectStore& store, const RenderOptions& options,
                    Console& console) {
  if (options.format == "npz" || !options.report.empty()) {
    throw Error(ErrorKind::kUsage, "write results", "effects of interventions as npz or page",
                "table, json or csv");
  }
  const auto results = [&](std::ostream& out) {
    if (options.format == "json") {
      report::write_effects_json(store, out);
    } else if (options.format == "csv") {
      report::write_effects_csv(store, out);
    } else {
      report::write_effects_terminal(store, terminal_options(options, console), out);
    }
  };
  write_results(options, console, results);
}

void render_sheet(const store::SheetStore& sheet, const RenderOptions& options, Console& console) {
  if (options.format == "npz") {
    throw Error(ErrorKind::kUsage, "write results", "tables of theory or train as npz",
                "table, json or csv");
  }
  if (!options.report.empty()) {
    write_file(options.report, [&](std::ostream& out) {
      report::write_sheet_html(sheet, report::page_bundle(), out);
    });
  }
  const auto results = [&](std::ostream& out) {
    if (options.format == "json") {
      report::write_sheet_json(sheet, out);
    } else if (options.format == "csv") {
      report::write_sheet_csv(sheet, options.table, out);
    } else {
      report::write_sheet_terminal(sheet, terminal_options(options, console), out);
    }
  };
  write_results(options, console, results);
}

}  // namespace sinkscope::app
