// Compiled once per instruction set, hence the guard that toggles.
#if defined(SINKSCOPE_TRAIN_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SINKSCOPE_TRAIN_PRODUCTS_INL_H_
#undef SINKSCOPE_TRAIN_PRODUCTS_INL_H_
#else
#define SINKSCOPE_TRAIN_PRODUCTS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace sinkscope::train::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 16>;
using Vec = hn::Vec<Tag>;

constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Tag()));
// A tile of sums, rows x 2 vectors, in half of the registers.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int64_t kTileRows = 8;
#else
constexpr int64_t kTileRows = 4;
#endif

/// a[r * row + i * depth]
struct Left {
  const float* at;
  int64_t row, depth;
};
/// b[i * row + c], c[r * row + c]
struct Right {
  const float* at;
  int64_t row;
};
struct Result {
  float* at;
  int64_t row;
  bool add;  ///< to what is there
};

/// The first `count` of a vector. Where masks are emulated they touch the whole vector, which may
/// be another thread's.
HWY_INLINE Vec load_some(const float* from, int64_t count) {
  const Tag d;
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
#else
  HWY_ALIGN float buffer[kLanes] = {};
  std::copy(from, from + count, buffer);
  return hn::Load(d, buffer);
#endif
}
HWY_INLINE void store_some(Vec x, float* to, int64_t count) {
  const Tag d;
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(x, hn::FirstN(d, static_cast<size_t>(count)), d, to);
#else
  HWY_ALIGN float buffer[kLanes];
  hn::Store(x, d, buffer);
  std::copy(buffer, buffer + count, to);
#endif
}

/// c[r, 0:columns] (+)= sum_{i < depth} a[r, i] b[i, 0:columns] for kRows rows and one or two
/// vectors; `columns` below whole vectors only where kWhole is false.
template <int64_t kRows, int64_t kVecs, bool kWhole>
HWY_INLINE void tile(Left a, Right b, Result c, int64_t depth, int64_t columns) {
  const Tag d;
  const int64_t rest = columns - (kVecs - 1) * kLanes;  // of the last vector
  const auto load = [&](const float* from, int64_t v) {
    return kWhole || v + 1 < kVecs ? hn::LoadU(d, from + v * kLanes)
                                   : load_some(from + v * kLanes, rest);
  };
  Vec sum[kRows][kVecs];
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t v = 0; v < kVecs; ++v) sum[r][v] = hn::Zero(d);
  }
  const float* left = a.at;
  const float* right = b.at;
  for (int64_t i = 0; i < depth; ++i, left += a.depth, right += b.row) {
    Vec row[kVecs];
    for (int64_t v = 0; v < kVecs; ++v) row[v] = load(right, v);
    for (int64_t r = 0; r < kRows; ++r) {
      const Vec factor = hn::Set(d, left[r * a.row]);
      for (int64_t v = 0; v < kVecs; ++v) sum[r][v] = hn::MulAdd(factor, row[v], sum[r][v]);
    }
  }
  for (int64_t r = 0; r < kRows; ++r) {
    float* to = c.at + r * c.row;
    for (int64_t v = 0; v < kVecs; ++v) {
      const Vec x = c.add ? hn::Add(load(to, v), sum[r][v]) : sum[r][v];
      if (kWhole || v + 1 < kVecs) {
        hn::StoreU(x, d, to + v * kLanes);
      } else {
        store_some(x, to + v * kLanes, rest);
      }
    }
  }
}

template <int64_t kRows>
HWY_INLINE void tiles(Left a, Right b, Result c, int64_t depth, int64_t columns) {
  int64_t left = columns;
  for (; left >= 2 * kLanes; left -= 2 * kLanes, b.at += 2 * kLanes, c.at += 2 * kLanes) {
    tile<kRows, 2, true>(a, b, c, depth, 2 * kLanes);
  }
  if (left > kLanes) {
    tile<kRows, 2, false>(a, b, c, depth, left);
  } else if (left == kLanes) {
    tile<kRows, 1, true>(a, b, c, depth, left);
  } else if (left > 0) {
    tile<kRows, 1, false>(a, b, c, depth, left);
  }
}

/// c[r, :] (+)= sum_i a[r, i] b[i, :] for the rows [first, last). `extent(r, n)` says what the n
/// rows from r on need: the terms [first, last) of the sum and how many columns.
struct Extent {
  int64_t first, last, columns;
};
template <class F>
HWY_INLINE void product(Left a, Right b, Result c, int64_t first, int64_t last, F extent) {
  const auto run = [&]<int64_t kRows>(int64_t r) {
    const Extent e = extent(r, kRows);
    tiles<kRows>({a.at + r * a.row + e.first * a.depth, a.row, a.depth},
                 {b.at + e.first * b.row, b.row}, {c.at + r * c.row, c.row, c.add},
                 e.last - e.first, e.columns);
  };
  int64_t r = first;
  for (; r + kTileRows <= last; r += kTileRows) run.template operator()<kTileRows>(r);
  for (; r + 2 <= last; r += 2) run.template operator()<2>(r);
  if (r < last) run.template operator()<1>(r);
}

/// to[c, r] = from[r, c], rows of `to` `to_row` apart; columns of `to` from `rows` to to_row
/// become 0.
HWY_INLINE void transpose(const float* HWY_RESTRICT from, int64_t from_row, int64_t rows,
                          int64_t columns, float* HWY_RESTRICT to, int64_t to_row) {
  int64_t r = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<float, 4> d;
  const hn::Repartition<uint64_t, decltype(d)> pair;
  for (; r + 4 <= rows; r += 4) {
    const float* row = from + r * from_row;
    int64_t c = 0;
    for (; c + 4 <= columns; c += 4, row += 4) {
      const auto a = hn::LoadU(d, row), b = hn::LoadU(d, row + from_row),
                 e = hn::LoadU(d, row + 2 * from_row), f = hn::LoadU(d, row + 3 * from_row);
      const auto ab0 = hn::BitCast(pair, hn::InterleaveLower(d, a, b)),
                 ab1 = hn::BitCast(pair, hn::InterleaveUpper(d, a, b)),
                 ef0 = hn::BitCast(pair, hn::InterleaveLower(d, e, f)),
                 ef1 = hn::BitCast(pair, hn::InterleaveUpper(d, e, f));
      float* out = to + c * to_row + r;
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pair, ab0, ef0)), d, out);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pair, ab0, ef0)), d, out + to_row);
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pair, ab1, ef1)), d, out + 2 * to_row);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pair, ab1, ef1)), d, out + 3 * to_row);
    }
    for (; c < columns; ++c, ++row) {
      for (int64_t i = 0; i < 4; ++i) to[c * to_row + r + i] = row[i * from_row];
    }
  }
#endif
  for (; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) to[c * to_row + r] = from[r * from_row + c];
  }
  for (int64_t c = 0; c < columns; ++c)
    std::fill(to + c * to_row + rows, to + (c + 1) * to_row, 0.0f);
}

/// Sum over i of a[i] b[i].
HWY_INLINE float dot_product(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                             int64_t count) {
  const Tag d;
  Vec sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    sum = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum);
  }
  float result = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < count; ++i) result += a[i] * b[i];
  return result;
}

/// y[i] += factor x[i]
HWY_INLINE void add_scaled(float factor, const float* HWY_RESTRICT x, int64_t count,
                           float* HWY_RESTRICT y) {
  const Tag d;
  const Vec f = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(hn::MulAdd(f, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, y + i);
  }
  for (; i < count; ++i) y[i] += factor * x[i];
}

}  // namespace sinkscope::train::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
