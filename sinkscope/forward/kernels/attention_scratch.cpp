#include "sinkscope/forward/kernels/attention_scratch.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sinkscope::forward::kernels {
namespace {

constexpr double kLog2E = 1.44269504088896340736;
constexpr double kLn2 = 0.69314718055994530942;
constexpr int64_t kFlushRows = 48;

int64_t aligned(int64_t floats) { return (floats + 15) / 16 * 16; }

RowTile make_tile(const RowChunk& chunk, int64_t first_row, int64_t rows, int64_t panel_keys) {
  RowTile tile;
  tile.rows = rows;
  int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;
  tile.full_last = begin;
  for (int64_t r = 0; r < kTileRows; ++r) {
    const Visibility::Range range = chunk.visible[first_row + std::min(r, rows - 1)];
    tile.first[r] = range.first;
    tile.last[r] = range.last;
    tile.full_first = std::max(tile.full_first, range.first);
    tile.full_last = std::min(tile.full_last, range.last);
    if (range.first >= range.last) continue;
    begin = std::min(begin, range.first);
    end = std::max(end, range.last);
  }
  if (begin < end) {
    tile.first_panel = begin / panel_keys;
    tile.last_panel = (end + panel_keys - 1) / panel_keys;
  }
  return tile;
}

}  // namespace

void RowTile::start_row(int64_t row, float score_max, double sink_logit) {
  const float top = std::max(score_max, static_cast<float>(sink_logit));
  // A row that sees nothing: any finite maximum gives exponentials of exactly 0.
  max[row] = top == -std::numeric_limits<float>::infinity() ? 0 : top;
  sink[row] = std::exp2(sink_logit - max[row]);
  sums[row] = {};
}

void RowTile::finish_row(int64_t row) {
  const double total = sums[row].exponentials + sink[row];
  inverse[row] = row < rows && total != 0 ? static_cast<float>(1 / total) : 0.0f;
}

Block make_block(const RowChunk& chunk, int64_t first_row, int64_t panel_keys) {
  Block block;
  block.first_row = first_row;
  block.rows = std::min(chunk.tiles * kTileRows, chunk.last_row - first_row);
  block.tiles = (block.rows + kTileRows - 1) / kTileRows;
  block.first_panel = std::numeric_limits<int64_t>::max();
  for (int64_t t = 0; t < block.tiles; ++t) {
    const int64_t offset = t * kTileRows;
    block.tile[t] =
        make_tile(chunk, first_row + offset, std::min(kTileRows, block.rows - offset), panel_keys);
    if (block.tile[t].first_panel == block.tile[t].last_panel) continue;
    block.first_panel = std::min(block.first_panel, block.tile[t].first_panel);
    block.last_panel = std::max(block.last_panel, block.tile[t].last_panel);
  }
  block.first_panel = std::min(block.first_panel, block.last_panel);
  return block;
}

Scratch::Scratch(const RowChunk& chunk, const PanelShape& shape, float* memory)
    : panel_keys(shape.keys),
      lanes(shape.lanes),
      padded_width(shape.padded_width(chunk.problem->width)),
      query_size(aligned(kTileRows * chunk.problem->width)),
      column_keys(aligned((chunk.last_panel - chunk.first_panel) * shape.keys)) {
  queries = memory;
  maxima = queries + chunk.tiles * query_size;
  outputs = maxima + aligned(chunk.tiles * kTileRows * lanes);
  mass = outputs + aligned(chunk.tiles * kTileRows * padded_width);
  mass_sq = mass + column_keys;
  tiles = mass_sq + column_keys;
}

int64_t Scratch::size(const RowChunk& chunk, const PanelShape& shape) {
  const int64_t rows = chunk.tiles * kTileRows;
  const int64_t keys = aligned((chunk.last_panel - chunk.first_panel) * shape.keys);
  return chunk.tiles * aligned(kTileRows * chunk.problem->width) + aligned(rows * shape.lanes) +
         aligned(rows * shape.padded_width(chunk.problem->width)) + (2 + rows) * keys;
}

void Scratch::start_block(const RowChunk& chunk, const Block& block, float factor) const {
  const AttentionProblem& problem = *chunk.problem;
  const float scale = problem.scale * factor;
  for (int64_t t = 0; t < block.tiles; ++t) {
    float* packed = query(t);
    for (int64_t r = 0; r < kTileRows; ++r) {
      const int64_t row = block.first_row + t * kTileRows + std::min(r, block.tile[t].rows - 1);
      const float* q = problem.q + row * problem.q_stride + chunk.head * problem.width;
      for (int64_t c = 0; c < problem.width; ++c) packed[c * kTileRows + r] = scale * q[c];
    }
    std::fill_n(max(t), kTileRows * lanes, -std::numeric_limits<float>::infinity());
    std::fill_n(out(t), kTileRows * padded_width, 0.0f);
  }
}

namespace {

/// Row of the chunk's head in [G, K].
const float* of_group(const RowChunk& chunk, const float* data) {
  const AttentionProblem& p = *chunk.problem;
  return data + chunk.head / (p.heads / p.kv_heads) * p.width;
}

/// The share of the extra key goes to its value.
void add_extra_value(const RowChunk& chunk, double share, float* out) {
  const float* value = of_group(chunk, chunk.problem->extra_value);
  for (int64_t c = 0; c < chunk.problem->width; ++c) {
    out[c] += static_cast<float>(share * value[c]);
  }
}

}  // namespace

double sink_in_base_2(const RowChunk& chunk, int64_t row) {
  const AttentionProblem& p = *chunk.problem;
  if (p.sink_logits) return p.sink_logits[chunk.head] * kLog2E;
  if (!p.extra_key) return -std::numeric_limits<double>::infinity();
  const float *q = p.q + row * p.q_stride + chunk.head * p.width, *k = of_group(chunk, p.extra_key);
  double logit = 0;
  for (int64_t c = 0; c < p.width; ++c) logit += static_cast<double>(q[c]) * k[c];
  logit *= p.scale;
  return kLog2E * (p.softcap > 0 ? p.softcap * std::tanh(logit / p.softcap) : logit);
}

void write_out(const RowChunk& chunk, const Block& block, const Scratch& scratch) {
  const AttentionProblem& problem = *chunk.problem;
  for (int64_t i = 0; i < block.rows; ++i) {
    const RowTile& tile = block.tile[i / kTileRows];
    const int64_t r = i % kTileRows;
    float* out =
        problem.out + (block.first_row + i) * problem.out_stride + chunk.head * problem.width;
    for (int64_t c = 0; c < problem.width; c += scratch.panel_keys) {
      const int64_t channels = std::min(scratch.panel_keys, scratch.padded_width - c);
      const float* sums = scratch.out(i / kTileRows) + c * kTileRows + r * channels;
      const int64_t count = std::min(channels, problem.width - c);
      for (int64_t k = 0; k < count; ++k) out[c + k] = sums[k] * tile.inverse[r];
    }
    if (problem.extra_value && tile.first[r] < tile.last[r]) {
      add_extra_value(chunk, tile.sink[r] * tile.inverse[r], out);
    }
  }
}

void write_row_sums(const RowChunk& chunk, const Block& block, const Scratch& scratch) {
  AttentionSums& sums = chunk.problem->sums[chunk.head];
  for (int64_t i = 0; i < block.rows; ++i) {
    const int64_t t = i / kTileRows, r = i % kTileRows;
    const RowTile& tile = block.tile[t];
    const int64_t row = block.first_row + i;
    if (tile.first[r] >= tile.last[r]) continue;
    const RowSums& row_sums = tile.sums[r];
    const double total = row_sums.exponentials + tile.sink[r];
    if (total == 0) continue;
    sums.row_entropy[row] = static_cast<float>(
        kLn2 * (std::log2(total) * row_sums.exponentials - row_sums.weighted) / total);
    sums.row_square[row] = static_cast<float>(row_sums.squares / (total * total));
    if (tile.first[r] <= row && row < tile.last[r]) {
      const float* scores = scratch.scores(block, t, row / scratch.panel_keys);
      sums.row_self[row] =
          scores[r * scratch.panel_keys + row % scratch.panel_keys] * tile.inverse[r];
    }
    if (!sums.row_missing.empty()) {
      sums.row_missing[row] = static_cast<float>(tile.sink[r] / total);
    }
  }
}

ColumnFlush::ColumnFlush(const RowChunk& chunk, const Scratch& scratch, bool enabled)
    : chunk_(chunk), scratch_(scratch), first_panel_(chunk.last_panel) {
  if (!enabled) return;
  const int64_t columns = (chunk.last_panel - chunk.first_panel) * scratch.panel_keys;
  std::fill_n(scratch.mass, columns, 0.0f);
  std::fill_n(scratch.mass_sq, columns, 0.0f);
  std::fill_n(chunk.columns.mass, columns, 0.0);
  std::fill_n(chunk.columns.mass_sq, columns, 0.0);
  std::fill_n(chunk.columns.events, columns, 0);
}

void ColumnFlush::add_block(const Block& block) {
  rows_ += block.rows;
  if (block.first_panel < block.last_panel) {
    first_panel_ = std::min(first_panel_, block.first_panel);
    last_panel_ = std::max(last_panel_, block.last_panel);
  }
  const bool last_block = block.first_row + block.rows == chunk_.last_row;
  if (rows_ >= kFlushRows || last_block) flush();
}

void ColumnFlush::flush() {
  const int64_t begin = (first_panel_ - chunk_.first_panel) * scratch_.panel_keys;
  const int64_t end = (last_panel_ - chunk_.first_panel) * scratch_.panel_keys;
  for (int64_t key = begin; key < end; ++key) {
    chunk_.columns.mass[key] += scratch_.mass[key];
    chunk_.columns.mass_sq[key] += scratch_.mass_sq[key];
    scratch_.mass[key] = scratch_.mass_sq[key] = 0;
  }
  rows_ = 0;
  first_panel_ = chunk_.last_panel;
  last_panel_ = 0;
}

}  // namespace sinkscope::forward::kernels
