#pragma once

#include <string>
#include <vector>

#include "sinkscope/report/terminal.h"

namespace sinkscope::report {

/// What one character of the map says.
struct Cell {
  enum class Kind { kNotMeasured, kTooShort, kStrength, kEvent };
  Kind kind = Kind::kNotMeasured;
  double strength = 0;  ///< mean attention of the dominant key
  diagnostics::HeadClass head_class = diagnostics::HeadClass::kNone;  ///< for kEvent
};

/// One row: layers first..last; each cell is the strongest of the heads (and layers) it stands for.
struct MapRow {
  int first = 0, last = 0;
  std::vector<Cell> cells;
  double alpha = 0;       ///< mean alpha_0 of the row's layers
  double norm_ratio = 0;  ///< largest P0 norm / rest of the row's layers
};

/// The map as it fits on the terminal.
struct Map {
  int heads_per_cell = 1, layers_per_row = 1;
  int cell_width = 2;    ///< characters, the space included
  int strong_from = -1;  ///< first layer of the strong range, -1: there is none (findings.h)
  std::vector<MapRow> rows;
};

Map make_map(const store::RunResult& run, const TerminalOptions& options);

/// The head line, a line per row and the legend.
void write_map(const Map& map, const TerminalOptions& options, std::ostream& out);

}  // namespace sinkscope::report
