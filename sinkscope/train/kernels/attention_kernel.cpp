#include "sinkscope/train/kernels/attention_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>

// Arrays of vectors need a size known to the compiler, which scalable vectors lack.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sinkscope/train/kernels/attention_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "sinkscope/train/kernels/attention_rows-inl.h"
#include "sinkscope/train/kernels/products-inl.h"

namespace sinkscope::train::kernels {
#ifndef SINKSCOPE_TRAIN_ATTENTION_KERNEL_ONCE
#define SINKSCOPE_TRAIN_ATTENTION_KERNEL_ONCE
constexpr int64_t kBlockRows = 64;  ///< queries whose slopes are held at a time
#endif
}  // namespace sinkscope::train::kernels

HWY_BEFORE_NAMESPACE();
namespace sinkscope::train::kernels::HWY_NAMESPACE {

/// One head of one sequence: places in the big tensors, extents of the products.
struct Head {
  Head(const AttentionProblem& p, int64_t b, int64_t h)
      : problem(p),
        tokens(p.tokens),
        width(p.width),
        length(p.padded_tokens()),
        row(p.qkv_width()),
        out_row(p.heads * p.width),
        first_query(b * tokens * row + h * width),
        first_key(b * tokens * row + (p.heads + h / (p.heads / p.kv_heads)) * width),
        first_value(first_key + p.kv_heads * width),
        first_out(b * tokens * out_row + h * width),
        index(b * p.heads + h),
        extra_key(p.extra_key ? p.extra_key + h * width : nullptr),
        extra_value(p.extra_value ? p.extra_value + h * width : nullptr),
        sink(p.sinks ? p.sinks[h] : -std::numeric_limits<float>::infinity()) {}

  int64_t visible(int64_t query) const { return problem.causal ? query + 1 : tokens; }
  const float* query(int64_t i) const { return problem.qkv + first_query + i * row; }
  float extra_logit(int64_t i) const {
    return extra_key ? problem.scale * dot_product(query(i), extra_key, width) : sink;
  }
  /// Scores of rows from r on: whole vectors, so that no row needs a mask.
  Extent score_extent(int64_t r, int64_t rows) const {
    return {0, width, (visible(std::min(r + rows, tokens) - 1) + kLanes - 1) / kLanes * kLanes};
  }

  const AttentionProblem& problem;
  int64_t tokens, width, length, row, out_row;
  int64_t first_query, first_key, first_value, first_out, index;
  const float* extra_key;
  const float* extra_value;
  float sink;
};

HWY_INLINE float sum_of(const float* HWY_RESTRICT row, int64_t count) {
  const Tag d;
  Vec sum = hn::Zero(d);
  for (int64_t i = 0; i < count; i += kLanes) sum = hn::Add(sum, hn::LoadU(d, row + i));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// Rows [first, last) of a clipped head's weights, from what was kept.
HWY_INLINE void clip_rows(const RowForm& form, const Head& head, const float* kept, int64_t first,
                          int64_t last, float* weights) {
  for (int64_t i = first; i < last; ++i) {
    form.clip(kept + i * head.length, head.visible(i), weights + (i - first) * head.length);
  }
}

HWY_INLINE void forward_head(const Head& head, const RowForm& form, const float* keys,
                             const AttentionForward& to, float* block) {
  const AttentionProblem& p = head.problem;
  float* kept = to.weights + head.index * head.tokens * head.length;
  float* out = to.out + head.first_out;
  const float* values = p.qkv + head.first_value;
  product({head.query(0), head.row, 1}, {keys, head.length}, {kept, head.length, false}, 0,
          head.tokens, [&](int64_t r, int64_t rows) { return head.score_extent(r, rows); });
  for (int64_t i = 0; i < head.tokens; ++i) {
    const float share = form.keep(kept + i * head.length, head.visible(i), head.extra_logit(i));
    if (p.extra()) to.shares[head.index * head.tokens + i] = share;
  }
  for (int64_t first = 0; first < head.tokens; first += kBlockRows) {
    const int64_t last = std::min(head.tokens, first + kBlockRows);
    const float* weights = kept + first * head.length;
    if (form.clipped()) {
      clip_rows(form, head, kept, first, last, block);
      weights = block;
    }
    product({weights, head.length, 1}, {values, head.row},
            {out + first * head.out_row, head.out_row, false}, 0, last - first,
            [&](int64_t r, int64_t rows) {
              return Extent{0, head.visible(first + r + rows - 1), head.width};
            });
    for (int64_t i = first; head.extra_value && i < last; ++i) {
      const float rest = 1 - sum_of(weights + (i - first) * head.length, head.visible(i));
      add_scaled(rest, head.extra_value, head.width, out + i * head.out_row);
    }
  }
}

/// Slopes along the products of the rows [first, last), [rows, length], along their extra logits,
/// [rows], and along what those are made of.
HWY_INLINE void block_slopes(const Head& head, const RowForm& form, const float* values,
                             const AttentionBackward& from, const float* weights, int64_t first,
                             int64_t last, float* slope, float* extra_slope) {
  const AttentionProblem& p = head.problem;
  const float* kept = from.weights + head.index * head.tokens * head.length;
  const float* d_out = from.d_out + head.first_out;
  product({d_out + first * head.out_row, head.out_row, 1}, {values, head.length},
          {slope, head.length, false}, 0, last - first,
          [&](int64_t r, int64_t rows) { return head.score_extent(first + r, rows); });
  for (int64_t i = first; i < last; ++i) {
    const float* d_row = d_out + i * head.out_row;
    float* row = slope + (i - first) * head.length;
    float shift = 0;
    if (head.extra_value) {
      shift = dot_product(d_row, head.extra_value, head.width);
      const float rest = 1 - sum_of(weights + (i - first) * head.length, head.visible(i));
      add_scaled(rest, d_row, head.width, from.d_extra_value + head.index * head.width);
    }
    const float mean = form.slopes(kept + i * head.length, head.visible(i), shift, row);
    if (!p.extra()) continue;
    const float extra = -from.shares[head.index * head.tokens + i] * mean;
    if (p.sinks) from.d_sinks[head.index] += extra;
    if (head.extra_key) {
      add_scaled(extra * p.scale, head.query(i), head.width,
                 from.d_extra_key + head.index * head.width);
    }
    extra_slope[i - first] = extra * p.scale;
  }
}

HWY_INLINE void backward_head(const Head& head, const RowForm& form, const float* values,
                              const AttentionBackward& to, float* slope, float* clipped,
                              float* extra_slope) {
  const AttentionProblem& p = head.problem;
  const float* kept = to.weights + head.index * head.tokens * head.length;
  const float* d_out = to.d_out + head.first_out;
  float* d_query = to.d_qkv + head.first_query;
  for (int64_t first = 0; first < head.tokens; first += kBlockRows) {
    const int64_t last = std::min(head.tokens, first + kBlockRows), rows = last - first;
    const float* weights = kept + first * head.length;
    if (form.clipped()) {
      clip_rows(form, head, kept, first, last, clipped);
      weights = clipped;
    }
    block_slopes(head, form, values, to, weights, first, last, slope, extra_slope);
    product({slope, head.length, 1}, {p.qkv + head.first_key, head.row},
            {d_query + first * head.row, head.row, false}, 0, rows, [&](int64_t r, int64_t n) {
              return Extent{0, head.visible(first + r + n - 1), head.width};
            });
    for (int64_t i = first; head.extra_key && i < last; ++i) {
      add_scaled(extra_slope[i - first], head.extra_key, head.width, d_query + i * head.row);
    }
    // Of keys: every query of the block that sees the first of them adds to their slopes.
    const auto seen_by = [&](int64_t key, int64_t) {
      return Extent{p.causal ? std::max<int64_t>(0, key - first) : 0, rows, head.width};
    };
    const int64_t keys = p.causal ? last : head.tokens;
    product({weights, 1, head.length}, {d_out + first * head.out_row, head.out_row},
            {to.d_qkv + head.first_value, head.row, true}, 0, keys, seen_by);
    product({slope, 1, head.length}, {head.query(first), head.row},
            {to.d_qkv + head.first_key, head.row, true}, 0, keys, seen_by);
  }
}

void Forward(const AttentionProblem& p, const AttentionForward& to, int64_t b, int64_t g,
             float* scratch) {
  const RowForm form(p);
  const int64_t group = p.heads / p.kv_heads;
  float* keys = scratch;  // [K, padded T]
  float* block = scratch + p.width * p.padded_tokens();
  const Head any(p, b, g * group);
  transpose(p.qkv + any.first_key, any.row, p.tokens, p.width, keys, any.length);
  for (int64_t h = g * group; h < (g + 1) * group; ++h) {
    forward_head(Head(p, b, h), form, keys, to, block);
  }
}

void Backward(const AttentionProblem& p, const AttentionBackward& to, int64_t b, int64_t g,
              float* scratch) {
  const RowForm form(p);
  const int64_t group = p.heads / p.kv_heads;
  float* values = scratch;  // [K, padded T]
  const Head any(p, b, g * group);
  float* slope = values + p.width * any.length;
  float* clipped = slope + kBlockRows * any.length;
  float* extra_slope = clipped + kBlockRows * any.length;
  transpose(p.qkv + any.first_value, any.row, p.tokens, p.width, values, any.length);
  for (int64_t i = 0; i < p.tokens; ++i) {
    float* row = to.d_qkv + i * any.row;
    std::fill(row + any.first_key, row + any.first_key + p.width, 0.0f);
    std::fill(row + any.first_value, row + any.first_value + p.width, 0.0f);
  }
  for (int64_t h = g * group; h < (g + 1) * group; ++h) {
    backward_head(Head(p, b, h), form, values, to, slope, clipped, extra_slope);
  }
}

}  // namespace sinkscope::train::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinkscope::train::kernels {

HWY_EXPORT(Forward);
HWY_EXPORT(Backward);

int64_t attention_scratch(const AttentionProblem& problem) {
  return (problem.width + 2 * kBlockRows) * problem.padded_tokens() + kBlockRows;
}
void attention_forward(const AttentionProblem& problem, const AttentionForward& forward, int64_t b,
                       int64_t g, float* scratch) {
  HWY_DYNAMIC_DISPATCH(Forward)(problem, forward, b, g, scratch);
}
void attention_backward(const AttentionProblem& problem, const AttentionBackward& backward,
                        int64_t b, int64_t g, float* scratch) {
  HWY_DYNAMIC_DISPATCH(Backward)(problem, backward, b, g, scratch);
}

}  // namespace sinkscope::train::kernels
#endif
