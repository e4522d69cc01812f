#pragma once

#include <cstdint>

#include "sinkscope/forward/kernels/attention_block.h"

/// Bookkeeping of one chunk: everything around the vector loops of attention_block-inl.h that does
/// not depend on the instruction set.
namespace sinkscope::forward::kernels {

/// Sums over the visible keys of one row; x is the base-2 distance to `max`, e is 2^x.
struct RowSums {
  double exponentials = 0;
  double weighted = 0;  ///< sum e x
  double squares = 0;   ///< sum e^2
};

/// Up to kTileRows queries. Rows past the last query repeat its range and have no weight.
struct RowTile {
  int64_t rows = 0;
  int64_t first_panel = 0, last_panel = 0;  ///< panels that any row sees
  int64_t full_first = 0, full_last = 0;    ///< keys that every row sees
  int64_t first[kTileRows], last[kTileRows];
  float max[kTileRows];      ///< of the visible scores and the sink logit, base 2
  float inverse[kTileRows];  ///< 1 / denominator; 0 for a row without keys
  double sink[kTileRows];    ///< exponential of the sink logit or of the extra key's
  RowSums sums[kTileRows];

  bool sees_all(int64_t first_key, int64_t last_key) const {
    return full_first <= first_key && last_key <= full_last;
  }
  /// `sink_logit` is in base 2, minus infinity where the head has none.
  void start_row(int64_t row, float score_max, double sink_logit);
  void finish_row(int64_t row);
};

struct Block {
  int64_t first_row = 0, rows = 0;
  int64_t tiles = 0;
  int64_t first_panel = 0, last_panel = 0;
  RowTile tile[kMaxTiles];
};
Block make_block(const RowChunk& chunk, int64_t first_row, int64_t panel_keys);

/// The parts of a thread's scratch memory.
struct Scratch {
  Scratch(const RowChunk& chunk, const PanelShape& shape, float* memory);
  static int64_t size(const RowChunk& chunk, const PanelShape& shape);

  float* query(int64_t tile) const { return queries + tile * query_size; }  ///< [K][kTileRows]
  float* max(int64_t tile) const { return maxima + tile * kTileRows * lanes; }
  float* out(int64_t tile) const { return outputs + tile * kTileRows * padded_width; }
  float* scores(const Block& block, int64_t tile, int64_t panel) const {
    const int64_t panels = block.last_panel - block.first_panel;
    return tiles + (tile * panels + panel - block.first_panel) * kTileRows * panel_keys;
  }
  /// Copies the block's queries, scaled, and clears its maxima and outputs.
  void start_block(const RowChunk& chunk, const Block& block, float factor) const;

  int64_t panel_keys, lanes, padded_width, query_size, column_keys;
  float *queries, *maxima, *outputs, *mass, *mass_sq, *tiles;
};

/// The logit beside the visible keys of a row, in base 2: the head's sink logit or the row's with
/// the extra key; minus infinity where there is neither.
double sink_in_base_2(const RowChunk& chunk, int64_t row);

void write_out(const RowChunk& chunk, const Block& block, const Scratch& scratch);
void write_row_sums(const RowChunk& chunk, const Block& block, const Scratch& scratch);

/// Moves the float column sums of a few blocks into the chunk's double sums before they drift.
class ColumnFlush {
 public:
  /// Clears both when `enabled`.
  ColumnFlush(const RowChunk& chunk, const Scratch& scratch, bool enabled);
  void add_block(const Block& block);

 private:
  void flush();

  const RowChunk& chunk_;
  const Scratch& scratch_;
  int64_t rows_ = 0;
  int64_t first_panel_, last_panel_ = 0;
};

}  // namespace sinkscope::forward::kernels
