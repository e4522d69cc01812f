#pragma once

#include <cstdint>

#include "sinkscope/forward/kernels/attention.h"

/// The inner half of attention_cpu: what one thread does with one chunk of query rows. The outer
/// half (attention_cpu.cpp) cuts the work into chunks, packs keys and values and adds the results.
///
/// Scores live in tiles of kTileRows queries x N keys; N (the panel) is a few vectors of the chosen
/// instruction set, so that a tile of products fits its registers: 6 x 16 with AVX2 (12 of 16), 6 x
/// 64 with AVX-512 (24 of 32). A tile is contiguous, [kTileRows][N], hence every offset inside the
/// two matrix products is a constant.
namespace sinkscope::forward::kernels {

constexpr int64_t kTileRows = 6;
constexpr int64_t kMaxTiles = 4;  ///< row tiles in a block: keys read from cache serve 24 queries

/// The instruction set in use: keys in a panel, and floats in a vector.
struct PanelShape {
  int64_t keys;
  int64_t lanes;

  int64_t panels(int64_t tokens) const { return (tokens + keys - 1) / keys; }
  int64_t padded_width(int64_t width) const { return (width + lanes - 1) / lanes * lanes; }
};
PanelShape panel_shape();

/// Keys and values of one key/value head, padded with zeros to whole panels and vectors.
struct PackedHead {
  float* keys = nullptr;    ///< [panels][K][N]
  float* values = nullptr;  ///< [panels * N][padded width]
};

/// Column sums of one chunk over the keys of the panels [first_panel, last_panel).
struct ChunkColumns {
  double* mass = nullptr;
  double* mass_sq = nullptr;
  int32_t* events = nullptr;
};

/// Consecutive queries of one head.
struct RowChunk {
  const AttentionProblem* problem = nullptr;
  const Visibility::Range* visible = nullptr;  ///< [T], clamped to [0, T)
  PackedHead packed;
  int64_t head = 0;
  int64_t first_row = 0, last_row = 0;
  int64_t first_panel = 0, last_panel = 0;  ///< panels that any of the rows sees
  int64_t tiles = 1;                        ///< row tiles in a block, at most kMaxTiles
  ChunkColumns columns;                     ///< zeroed by run_chunk; unused without statistics
};

/// Writes the rows of `out` and, with statistics, of the head's row sums, and fills the columns.
/// `scratch` holds Scratch::size(chunk, panel_shape()) floats, aligned to 64 bytes.
void run_chunk(const RowChunk& chunk, float* scratch);

}  // namespace sinkscope::forward::kernels
