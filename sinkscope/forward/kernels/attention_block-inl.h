// Compiled once per instruction set by attention_block.cpp, hence the guard that toggles.
#if defined(SINKSCOPE_ATTENTION_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SINKSCOPE_ATTENTION_BLOCK_INL_H_
#undef SINKSCOPE_ATTENTION_BLOCK_INL_H_
#else
#define SINKSCOPE_ATTENTION_BLOCK_INL_H_
#endif

#include <hwy/highway.h>

#include "hwy/contrib/math/math-inl.h"
#include "sinkscope/forward/kernels/attention_block.h"
#include "sinkscope/forward/kernels/attention_scratch.h"

HWY_BEFORE_NAMESPACE();
namespace sinkscope::forward::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;
using IntTag = hn::RebindToSigned<Tag>;
using IntVec = hn::Vec<IntTag>;

constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Tag()));
// Sixteen registers hold 6 x 2 products, thirty-two 6 x 4, beside the operands.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int64_t kVecs = 4;
#else
constexpr int64_t kVecs = 2;
#endif
constexpr int64_t kPanel = kVecs * kLanes;
constexpr int64_t kTileSize = kTileRows * kPanel;
constexpr int64_t kProductPanels = std::max<int64_t>(1, 64 / kPanel);  // 64 values fit the L1 cache
constexpr int64_t kSumPanels = std::max<int64_t>(1, 1024 / kPanel);    // float sums of 1024 terms
constexpr float kLog2E = 1.44269504088896341f;

template <int64_t kWidth>
struct Products {
  Vec at[kTileRows][kWidth];
};

/// products[r][:] += sum_d a[r * kRowStep + d * kDepthStep] * b[d * b_stride + :]
template <int64_t kWidth, int64_t kRowStep, int64_t kDepthStep>
HWY_INLINE void multiply_add(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                             int64_t b_stride, int64_t depth, Products<kWidth>& products) {
  const Tag d;
  for (int64_t i = 0; i < depth; ++i) {
    Vec right[kWidth];
    for (int64_t v = 0; v < kWidth; ++v) right[v] = hn::Load(d, b + v * kLanes);
    for (int64_t r = 0; r < kTileRows; ++r) {
      const Vec left = hn::Set(d, a[r * kRowStep]);
      for (int64_t v = 0; v < kWidth; ++v) {
        products.at[r][v] = hn::MulAdd(left, right[v], products.at[r][v]);
      }
    }
    a += kDepthStep;
    b += b_stride;
  }
}

/// 2^x for x <= 0, to 2.1 units in the last place; exactly 1 at 0 and exactly 0 from -127 down.
HWY_INLINE Vec exp2_of_negative(Vec x) {
  const Tag d;
  const IntTag di;
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits. At -127 the fraction is 0, the
  // polynomial 1, and taking 127 from its exponent leaves the bits of +0: no mask is needed.
  const Vec rounder = hn::Set(d, 12582912.0f);
  const Vec shifted = hn::Add(x, rounder);
  const Vec fraction = hn::Sub(x, hn::Sub(shifted, rounder));
  Vec p = hn::Set(d, 0.0013264727051948125f);  // minimax on [-1/2, 1/2] with p(0) = 1: 9.1e-8
  p = hn::MulAdd(p, fraction, hn::Set(d, 0.009671512648717058f));
  p = hn::MulAdd(p, fraction, hn::Set(d, 0.05550733743728291f));
  p = hn::MulAdd(p, fraction, hn::Set(d, 0.2402224208517733f));
  p = hn::MulAdd(p, fraction, hn::Set(d, 0.6931469775988409f));
  p = hn::MulAdd(p, fraction, hn::Set(d, 1.0f));
  const IntVec exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), exponent));
}

/// Soft cap, ALiBi and bias on one tile of scores, then the change to base 2.
HWY_INLINE void transform(const RowChunk& chunk, int64_t first_row, int64_t first_key,
                          float* HWY_RESTRICT scores) {
  const Tag d;
  const AttentionProblem& problem = *chunk.problem;
  const Vec cap = hn::Set(d, problem.softcap);
  const Vec slope = hn::Set(d, problem.alibi_slopes ? problem.alibi_slopes[chunk.head] : 0.0f);
  for (int64_t r = 0; r < kTileRows; ++r) {
    const Vec row = hn::Set(d, static_cast<float>(first_row + r));
    // Rows past the last query read its bias: they have no weight, but must stay in the table.
    const int64_t bias_row = std::min(first_row + r, problem.tokens - 1);
    const float* bias = problem.bias ? problem.bias + chunk.head * problem.bias_head_stride +
                                           bias_row * problem.bias_row_stride
                                     : nullptr;
    for (int64_t v = 0; v < kVecs; ++v, scores += kLanes) {
      Vec s = hn::Load(d, scores);
      if (problem.softcap > 0) s = hn::Mul(cap, hn::Tanh(d, hn::Div(s, cap)));
      const Vec key = hn::Iota(d, static_cast<float>(first_key + v * kLanes));
      s = hn::MulAdd(slope, hn::Sub(key, row), s);
      if (bias) s = hn::Add(s, hn::LoadU(d, bias + first_key + v * kLanes));
      hn::Store(hn::Mul(s, hn::Set(d, kLog2E)), d, scores);
    }
  }
}

/// Minus infinity at the keys of one tile outside each row's range.
HWY_INLINE void mask(const RowTile& tile, int64_t first_key, float* HWY_RESTRICT scores) {
  const Tag d;
  const IntTag di;
  const Vec hidden = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (int64_t r = 0; r < kTileRows; ++r) {
    const IntVec first = hn::Set(di, static_cast<int32_t>(tile.first[r]));
    const IntVec last = hn::Set(di, static_cast<int32_t>(tile.last[r]));
    for (int64_t v = 0; v < kVecs; ++v, scores += kLanes) {
      const IntVec key = hn::Iota(di, static_cast<int32_t>(first_key + v * kLanes));
      const auto before = hn::RebindMask(d, hn::Lt(key, first));
      const auto inside = hn::RebindMask(d, hn::Lt(key, last));
      const Vec s = hn::IfThenElse(before, hidden, hn::Load(d, scores));
      hn::Store(hn::IfThenElse(inside, s, hidden), d, scores);
    }
  }
}

/// Raises the rows' maxima, lane by lane, to the scores of one tile.
HWY_INLINE void raise_max(const float* HWY_RESTRICT scores, float* HWY_RESTRICT max) {
  const Tag d;
  for (int64_t r = 0; r < kTileRows; ++r, max += kLanes) {
    Vec row_max = hn::Load(d, max);
    for (int64_t v = 0; v < kVecs; ++v, scores += kLanes) {
      row_max = hn::Max(row_max, hn::Load(d, scores));
    }
    hn::Store(row_max, d, max);
  }
}

/// Products of one tile of queries with one panel of keys.
HWY_INLINE void score_tile(const float* HWY_RESTRICT queries, const float* HWY_RESTRICT keys,
                           int64_t width, float* HWY_RESTRICT scores) {
  const Tag d;
  Products<kVecs> products;
  for (int64_t r = 0; r < kTileRows; ++r) {
    for (int64_t v = 0; v < kVecs; ++v) products.at[r][v] = hn::Zero(d);
  }
  multiply_add<kVecs, 1, kTileRows>(queries, keys, kPanel, width, products);
  for (int64_t r = 0; r < kTileRows; ++r) {
    for (int64_t v = 0; v < kVecs; ++v) {
      hn::Store(products.at[r][v], d, scores + r * kPanel + v * kLanes);
    }
  }
}

/// Scores of the block in base 2, and the running maximum of every row, lane by lane.
template <bool kTransform>
void score_pass(const RowChunk& chunk, const Block& block, const Scratch& scratch) {
  const int64_t width = chunk.problem->width;
  for (int64_t panel = block.first_panel; panel < block.last_panel; ++panel) {
    const float* keys = chunk.packed.keys + panel * width * kPanel;
    const int64_t first_key = panel * kPanel;
    for (int64_t t = 0; t < block.tiles; ++t) {
      const RowTile& tile = block.tile[t];
      if (panel < tile.first_panel || panel >= tile.last_panel) continue;
      float* scores = scratch.scores(block, t, panel);
      score_tile(scratch.query(t), keys, width, scores);
      if (kTransform) transform(chunk, block.first_row + t * kTileRows, first_key, scores);
      if (!tile.sees_all(first_key, first_key + kPanel)) mask(tile, first_key, scores);
      raise_max(scores, scratch.max(t));
    }
  }
}

/// Replaces scores by exponentials and adds up e and, with statistics, e * x and e^2, where x is
/// the distance to the row's maximum in base 2: all that entropy and sum of squares need.
template <bool kStats>
HWY_INLINE void exponentials(float* HWY_RESTRICT scores, int64_t panels, float max, RowSums& sums) {
  const Tag d;
  const Vec top = hn::Set(d, max);
  const Vec lowest = hn::Set(d, -127.0f);
  Vec sum[kVecs], weighted[kVecs], square[kVecs];
  for (int64_t v = 0; v < kVecs; ++v) sum[v] = weighted[v] = square[v] = hn::Zero(d);
  for (int64_t panel = 0; panel < panels; ++panel, scores += kTileSize) {
    for (int64_t v = 0; v < kVecs; ++v) {
      const Vec x = hn::Max(hn::Sub(hn::Load(d, scores + v * kLanes), top), lowest);
      const Vec e = exp2_of_negative(x);
      hn::Store(e, d, scores + v * kLanes);
      sum[v] = hn::Add(sum[v], e);
      if (kStats) {
        weighted[v] = hn::MulAdd(e, x, weighted[v]);
        square[v] = hn::MulAdd(e, e, square[v]);
      }
    }
  }
  for (int64_t v = 1; v < kVecs; ++v) {
    sum[0] = hn::Add(sum[0], sum[v]);
    weighted[0] = hn::Add(weighted[0], weighted[v]);
    square[0] = hn::Add(square[0], square[v]);
  }
  sums.exponentials += hn::GetLane(hn::SumOfLanes(d, sum[0]));
  if (kStats) {
    sums.weighted += hn::GetLane(hn::SumOfLanes(d, weighted[0]));
    sums.squares += hn::GetLane(hn::SumOfLanes(d, square[0]));
  }
}

template <bool kStats>
void softmax_pass(const RowChunk& chunk, Block& block, const Scratch& scratch) {
  const Tag d;
  for (int64_t t = 0; t < block.tiles; ++t) {
    RowTile& tile = block.tile[t];
    for (int64_t r = 0; r < kTileRows; ++r) {
      const Vec lanes = hn::Load(d, scratch.max(t) + r * kLanes);
      const int64_t row = block.first_row + t * kTileRows + std::min(r, tile.rows - 1);
      tile.start_row(r, hn::GetLane(hn::MaxOfLanes(d, lanes)), sink_in_base_2(chunk, row));
    }
    for (int64_t panel = tile.first_panel; panel < tile.last_panel; panel += kSumPanels) {
      const int64_t panels = std::min(kSumPanels, tile.last_panel - panel);
      for (int64_t r = 0; r < kTileRows; ++r) {
        exponentials<kStats>(scratch.scores(block, t, panel) + r * kPanel, panels, tile.max[r],
                             tile.sums[r]);
      }
    }
    for (int64_t r = 0; r < kTileRows; ++r) tile.finish_row(r);
  }
}

/// Adds one panel of the block's probabilities to the chunk's columns.
HWY_INLINE void add_columns(const RowChunk& chunk, const Block& block, const Scratch& scratch,
                            int64_t panel) {
  const Tag d;
  const IntTag di;
  const Vec event = hn::Set(d, chunk.problem->event_mass);
  const int64_t column = (panel - chunk.first_panel) * kPanel;
  Vec mass[kVecs], square[kVecs];
  IntVec events[kVecs];
  for (int64_t v = 0; v < kVecs; ++v) {
    mass[v] = hn::Load(d, scratch.mass + column + v * kLanes);
    square[v] = hn::Load(d, scratch.mass_sq + column + v * kLanes);
    events[v] = hn::Load(di, chunk.columns.events + column + v * kLanes);
  }
  for (int64_t t = 0; t < block.tiles; ++t) {
    const RowTile& tile = block.tile[t];
    if (panel < tile.first_panel || panel >= tile.last_panel) continue;
    const float* scores = scratch.scores(block, t, panel);
    for (int64_t r = 0; r < kTileRows; ++r) {
      const Vec inverse = hn::Set(d, tile.inverse[r]);
      for (int64_t v = 0; v < kVecs; ++v) {
        const Vec p = hn::Mul(hn::Load(d, scores + r * kPanel + v * kLanes), inverse);
        mass[v] = hn::Add(mass[v], p);
        square[v] = hn::MulAdd(p, p, square[v]);
        events[v] = hn::Sub(events[v], hn::VecFromMask(di, hn::RebindMask(di, hn::Ge(p, event))));
      }
    }
  }
  for (int64_t v = 0; v < kVecs; ++v) {
    hn::Store(mass[v], d, scratch.mass + column + v * kLanes);
    hn::Store(square[v], d, scratch.mass_sq + column + v * kLanes);
    hn::Store(events[v], di, chunk.columns.events + column + v * kLanes);
  }
}

/// Sums the values of the panels [first, last) under the tile's exponentials, for `kWidth` vectors
/// of channels.
template <int64_t kWidth>
HWY_INLINE void add_values(const float* HWY_RESTRICT scores, const float* HWY_RESTRICT values,
                           int64_t stride, int64_t panels, float* HWY_RESTRICT out) {
  const Tag d;
  Products<kWidth> sums;
  for (int64_t r = 0; r < kTileRows; ++r) {
    for (int64_t v = 0; v < kWidth; ++v) {
      sums.at[r][v] = hn::Load(d, out + (r * kWidth + v) * kLanes);
    }
  }
  for (int64_t p = 0; p < panels; ++p) {
    multiply_add<kWidth, kPanel, 1>(scores + p * kTileSize, values + p * kPanel * stride, stride,
                                    kPanel, sums);
  }
  for (int64_t r = 0; r < kTileRows; ++r) {
    for (int64_t v = 0; v < kWidth; ++v) {
      hn::Store(sums.at[r][v], d, out + (r * kWidth + v) * kLanes);
    }
  }
}

void add_values(const RowChunk& chunk, const Block& block, const Scratch& scratch, int64_t t,
                int64_t first, int64_t last) {
  const int64_t stride = scratch.padded_width;
  const float* scores = scratch.scores(block, t, first);
  for (int64_t c = 0; c < stride; c += kPanel) {
    const float* values = chunk.packed.values + first * kPanel * stride + c;
    float* out = scratch.out(t) + c * kTileRows;
    switch (std::min(kVecs, (stride - c) / kLanes)) {
      case 1: add_values<1>(scores, values, stride, last - first, out); break;
      case 2: add_values<2>(scores, values, stride, last - first, out); break;
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
      case 3: add_values<3>(scores, values, stride, last - first, out); break;
      default: add_values<4>(scores, values, stride, last - first, out); break;
#endif
    }
  }
}

template <bool kStats>
void value_pass(const RowChunk& chunk, const Block& block, const Scratch& scratch) {
  for (int64_t panel = block.first_panel; panel < block.last_panel; panel += kProductPanels) {
    const int64_t end = std::min(panel + kProductPanels, block.last_panel);
    if (kStats) {
      for (int64_t p = panel; p < end; ++p) add_columns(chunk, block, scratch, p);
    }
    for (int64_t t = 0; t < block.tiles; ++t) {
      const int64_t first = std::max(panel, block.tile[t].first_panel);
      const int64_t last = std::min(end, block.tile[t].last_panel);
      if (first < last) add_values(chunk, block, scratch, t, first, last);
    }
  }
}

template <bool kStats, bool kTransform>
void run_rows(const RowChunk& chunk, const Scratch& scratch) {
  ColumnFlush flush(chunk, scratch, kStats);
  for (int64_t row = chunk.first_row; row < chunk.last_row; row += chunk.tiles * kTileRows) {
    Block block = make_block(chunk, row, kPanel);
    scratch.start_block(chunk, block, kTransform ? 1.0f : kLog2E);
    score_pass<kTransform>(chunk, block, scratch);
    softmax_pass<kStats>(chunk, block, scratch);
    value_pass<kStats>(chunk, block, scratch);
    write_out(chunk, block, scratch);
    if (kStats) {
      write_row_sums(chunk, block, scratch);
      flush.add_block(block);
    }
  }
}

PanelShape PanelShapeOfTarget() { return {kPanel, kLanes}; }

void RunChunk(const RowChunk& chunk, float* memory) {
  const Scratch scratch(chunk, {kPanel, kLanes}, memory);
  const bool stats = chunk.problem->sums != nullptr;
  const bool transform = chunk.problem->softcap > 0 || chunk.problem->alibi_slopes != nullptr ||
                         chunk.problem->bias != nullptr;
  if (stats) {
    transform ? run_rows<true, true>(chunk, scratch) : run_rows<true, false>(chunk, scratch);
  } else {
    transform ? run_rows<false, true>(chunk, scratch) : run_rows<false, false>(chunk, scratch);
  }
}

}  // namespace sinkscope::forward::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
