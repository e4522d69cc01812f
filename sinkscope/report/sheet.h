#pragma once

#include <nlohmann/json.hpp>
#include <ostream>

#include "sinkscope/report/terminal.h"
#include "sinkscope/store/sheet.h"

namespace sinkscope::report {

/// The document sinkscope.theory/1 of a calculator's store or sinkscope.train/1 of a training's
/// (docs/json.md); the page holds it as its data.
nlohmann::ordered_json sheet_document(const store::SheetStore& sheet);

void write_sheet_json(const store::SheetStore& sheet, std::ostream& out);
/// One table: the first, or the one named (kUsage naming those that are there). Lists of numbers
/// stand in one field, separated by spaces.
void write_sheet_csv(const store::SheetStore& sheet, std::string_view table, std::ostream& out);
/// The rows of one run of a training: those whose column "run" is `run`. kUsage for a table that is
/// not there or has no such column.
void write_run_csv(const store::SheetStore& sheet, std::string_view table, std::string_view run,
                   std::ostream& out);
/// Every table as text, then the findings. Lists of numbers are left to JSON and CSV, and so are
/// the tables that a training records per step: they are named with their sizes.
void write_sheet_terminal(const store::SheetStore& sheet, const TerminalOptions& options,
                          std::ostream& out);
/// `bundle` with the document as its data.
void write_sheet_html(const store::SheetStore& sheet, std::string_view bundle, std::ostream& out);

}  // namespace sinkscope::report
