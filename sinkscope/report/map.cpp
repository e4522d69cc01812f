#include "sinkscope/report/map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sinkscope/report/findings.h"
#include "sinkscope/report/text.h"

namespace sinkscope::report {
namespace {

using diagnostics::HeadClass;
using store::RunResult;

constexpr int kMargin = 12;       ///< "layer 12    "
constexpr int kColumns = 24;      ///< "   alpha0   P0 norm / rest"
constexpr int kSpacedHeads = 40;  ///< more heads: no space between cells
constexpr std::array<double, 4> kLevels = {0.2, 0.4, 0.6, 0.8};
constexpr std::array<const char*, 5> kShades = {".", "░", "▒", "▓", "█"};
constexpr std::array<const char*, 5> kAsciiShades = {".", ":", "+", "*", "#"};

constexpr const char* kNote = "   <- strong sinks from here";
constexpr int kNoteWidth = 25;

bool holds(const MapRow& row, int layer) { return row.first <= layer && layer <= row.last; }

/// Order in which cells are kept when one stands for several.
bool weaker(const Cell& a, const Cell& b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  return a.strength < b.strength;
}

Cell head_cell(const RunResult& run, int layer, int head) {
  Cell cell;
  if (!run.measured(layer, head)) return cell;
  const double code = run.head("class", layer, head);
  if (code == static_cast<double>(HeadClass::kTooShort))
    return {Cell::Kind::kTooShort, 0, HeadClass::kTooShort};
  const double strength = run.head("alpha_sink", layer, head);
  cell = {Cell::Kind::kStrength, std::isfinite(strength) ? strength : 0, HeadClass::kNone};
  if (run.head("event", layer, head) >= 0.5 && code >= 1 && code <= 3) {
    cell.kind = Cell::Kind::kEvent;
    cell.head_class = static_cast<HeadClass>(static_cast<int>(code));
  }
  return cell;
}

MapRow make_row(const RunResult& run, const std::vector<int>& layers, int heads_per_cell) {
  MapRow row{layers.front(), layers.back(), {}, 0, diagnostics::kNoData};
  for (int first = 0; first < run.heads; first += heads_per_cell) {
    Cell cell;
    for (int head = first; head < std::min(run.heads, first + heads_per_cell); ++head) {
      for (const int layer : layers) cell = std::max(cell, head_cell(run, layer, head), weaker);
    }
    row.cells.push_back(cell);
  }
  for (const int layer : layers) {
    row.alpha += layer_alpha(run, layer) / static_cast<double>(layers.size());
    const double ratio = run.layer("resid_norm_p0", layer) / run.layer("resid_norm_median", layer);
    if (std::isfinite(ratio) && !(ratio <= row.norm_ratio)) row.norm_ratio = ratio;
  }
  return row;
}

std::string cell_text(const Cell& cell, bool ascii) {
  switch (cell.kind) {
    case Cell::Kind::kNotMeasured: return " ";
    case Cell::Kind::kTooShort: return "-";
    case Cell::Kind::kEvent:
      return cell.head_class == HeadClass::kNop         ? "N"
             : cell.head_class == HeadClass::kBroadcast ? "B"
                                                        : "o";
    case Cell::Kind::kStrength: break;
  }
  const auto level =
      std::upper_bound(kLevels.begin(), kLevels.end(), cell.strength) - kLevels.begin();
  return (ascii ? kAsciiShades : kShades)[static_cast<size_t>(level)];
}

std::string coloured(const Cell& cell, const std::string& text) {
  if (cell.kind != Cell::Kind::kEvent) return text;
  const char* colour = cell.head_class == HeadClass::kNop         ? "36"
                       : cell.head_class == HeadClass::kBroadcast ? "33"
                                                                  : "35";
  return fmt::format("\x1B[1;{}m{}\x1B[0m", colour, text);
}

/// Head numbers above the cells, as many as fit without touching.
std::string head_line(const Map& map, size_t cells) {
  const int width = map.cell_width;
  const int every = cells <= 10 && width > 1 ? 1 : width > 1 ? 5 : 10;
  std::string line(cells * static_cast<size_t>(width), ' ');
  for (size_t i = 0; i < cells; i += static_cast<size_t>(every)) {
    const std::string label = std::to_string(i * static_cast<size_t>(map.heads_per_cell));
    const size_t at = i * static_cast<size_t>(width);
    if (at + label.size() > line.size()) line.resize(at + label.size(), ' ');
    line.replace(at, label.size(), label);
  }
  return line;
}

std::string ratio_text(double ratio) {
  if (std::isfinite(ratio) && ratio < 99.95) return fmt::format("{:.1f}", ratio);
  return number_text(ratio);
}

void write_legend(const Map& map, bool ascii, std::ostream& out) {
  const auto& shades = ascii ? kAsciiShades : kShades;
  bool short_input = false;
  for (const MapRow& row : map.rows) {
    for (const Cell& cell : row.cells) short_input |= cell.kind == Cell::Kind::kTooShort;
  }
  out << "cell: strength " << shades[0];
  for (size_t i = 0; i < kLevels.size(); ++i) {
    out << fmt::format("  {} from {}", shades[i + 1], kLevels[i]);
  }
  out << "\n      event: N nop, B broadcast, o other\n";
  if (short_input) out << "      - inputs too short to judge\n";
  if (map.layers_per_row > 1 || map.heads_per_cell > 1) {
    out << fmt::format(
        "      grouped to fit: {} layers x {} heads a cell, the strongest is shown\n",
        map.layers_per_row, map.heads_per_cell);
  }
}

}  // namespace

Map make_map(const RunResult& run, const TerminalOptions& options) {
  Map map;
  for (const Finding& finding : find_findings(run)) {
    if (finding.key == "strong_layers") map.strong_from = *finding.layer;
  }
  std::vector<int> layers;
  for (int l = 0; l < run.layers; ++l) {
    if (run.measured(l)) layers.push_back(l);
  }
  const int room = std::max(8, std::max(40, options.columns) - kMargin - kColumns);
  map.cell_width = run.heads > kSpacedHeads || 2 * run.heads > room ? 1 : 2;
  map.heads_per_cell = std::max(1, (run.heads * map.cell_width + room - 1) / room);
  const int rows = std::max(1, options.rows);
  map.layers_per_row = std::max(1, (static_cast<int>(layers.size()) + rows - 1) / rows);
  const auto step = static_cast<size_t>(map.layers_per_row);
  for (size_t first = 0; first < layers.size(); first += step) {
    const size_t last = std::min(layers.size(), first + step);
    map.rows.push_back(make_row(run,
                                {layers.begin() + static_cast<std::ptrdiff_t>(first),
                                 layers.begin() + static_cast<std::ptrdiff_t>(last)},
                                map.heads_per_cell));
  }
  return map;
}

void write_map(const Map& map, const TerminalOptions& options, std::ostream& out) {
  if (map.rows.empty()) {
    out << "nothing was measured\n";
    return;
  }
  const size_t cells = map.rows.front().cells.size();
  const std::string heads = head_line(map, cells);
  out << fmt::format("{:>{}}{}  alpha0  P0 norm / rest\n", "head ", kMargin, heads);
  const char* word = "layer";
  const bool note_fits = kMargin + std::ssize(heads) + 17 + kNoteWidth <= options.columns;
  for (const MapRow& row : map.rows) {
    const std::string number = row.first == row.last ? std::to_string(row.first)
                                                     : fmt::format("{}-{}", row.first, row.last);
    out << fmt::format("{:<5}{:>5}  ", word, number);
    word = "";
    for (const Cell& cell : row.cells) {
      const std::string text = cell_text(cell, options.ascii);
      out << (options.colour ? coloured(cell, text) : text) << (map.cell_width > 1 ? " " : "");
    }
    const size_t used = cells * static_cast<size_t>(map.cell_width);
    const std::string alpha = std::isfinite(row.alpha) ? fmt::format("{:.2f}", row.alpha) : "-";
    out << std::string(heads.size() - std::min(used, heads.size()), ' ')
        << fmt::format("  {:>6}  {:>7}", alpha, ratio_text(row.norm_ratio))
        << (note_fits && holds(row, map.strong_from) ? kNote : "") << '\n';
  }
  write_legend(map, options.ascii, out);
}

}  // namespace sinkscope::report
