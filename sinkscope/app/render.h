#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "sinkscope/app/console.h"
#include "sinkscope/store/effects.h"
#include "sinkscope/store/sheet.h"
#include "sinkscope/store/store.h"

namespace sinkscope::app {

/// Where the results of a store go.
struct RenderOptions {
  std::string format = "table";  ///< table, json, csv, npz
  std::string file;              ///< csv, npz, json: this file instead of stdout
  std::string report;            ///< HTML page; empty: none
  std::string results;           ///< path of the store, for the table; empty: in memory
  std::string table;             ///< of a sheet as CSV; empty: the first
  std::string next;              ///< command to try next, for the table
  bool ascii = false;
  bool overwrite = false;
};

/// Refuses (kUsage) before any work what could not be written after it: an existing file without
/// --overwrite, a folder that is not there or not writable, an unknown format.
void check_outputs(const RenderOptions& options, const Console& console);

/// Writes page, then results.
void render(const store::Store& store, const RenderOptions& options, Console& console);

/// The results of `ablate`; --format npz and a page are kUsage.
void render_effects(const store::EffectStore& store, const RenderOptions& options,
                    Console& console);

/// The results of `theory`; --format npz is kUsage.
void render_sheet(const store::SheetStore& sheet, const RenderOptions& options, Console& console);

/// Writes `file` through `write` under a temporary name, then renames it.
void write_file(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write);

}  // namespace sinkscope::app
