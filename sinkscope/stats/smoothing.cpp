#include "sinkscope/stats/smoothing.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>

#include "sinkscope/stats/dot.h"
#include "sinkscope/stats/step_patterns.h"
#include "sinkscope/stats/value_norms.h"

namespace sinkscope::stats {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Squares below this share of their parts, and variances of the mean square, are float32's
// rounding.
constexpr double kResolved = 1e-6;

/// Which tokens are left out, by position and as a list.
struct LeftOut {
  std::vector<bool> is;
  at::Tensor positions;  // [E]

  LeftOut(std::span<const int64_t> left_out, int64_t tokens)
      : is(static_cast<size_t>(tokens)),
        positions(at::tensor(at::IntArrayRef(left_out.data(), left_out.size()))) {
    for (const int64_t position : left_out) is[static_cast<size_t>(position)] = true;
  }
  bool any() const { return positions.size(0) > 0; }
};

/// Sums over the kept rows of float32 [T, ...], [...] in double; rows lie contiguous. A sum by
/// LibTorch would make a copy in double first.
at::Tensor column_sums(const at::Tensor& rows, const LeftOut& left_out) {
  at::Tensor sums = at::zeros(rows.sizes().slice(1), at::kDouble);
  const int64_t width = sums.numel();
  double* sum = sums.data_ptr<double>();
  for (int64_t t = 0; t < rows.size(0); ++t) {
    if (left_out.is[static_cast<size_t>(t)]) continue;
    const float* row = rows.data_ptr<float>() + t * rows.stride(0);
    for (int64_t c = 0; c < width; ++c) sum[c] += row[c];
  }
  return sums;
}

/// The stream as one OutputSpace sees it.
struct View {
  const OutputSpace& space;
  at::Tensor step;     ///< [T, D]
  at::Tensor on_head;  ///< [T, H K] step W_O
  at::Tensor step_sq;  ///< [T] double
  at::Tensor total;    ///< [D] double, sum of the steps of the tokens kept

  View(const OutputSpace& s, const at::Tensor& raw_step, const LeftOut& left_out) : space(s) {
    step = s.centred ? raw_step - raw_step.mean(1, true) : raw_step.contiguous();
    if (s.gain.defined()) step = step * s.gain;
    on_head = at::mm(step, s.maps.flatten(0, 1).t());
    step_sq = at::empty({step.size(0)}, at::kDouble);
    for (int64_t t = 0; t < step.size(0); ++t) {
      const float* row = step.data_ptr<float>() + t * step.size(1);
      step_sq.data_ptr<double>()[t] = dot(row, row, step.size(1));
    }
    total = column_sums(step, left_out);
  }
};

/// Neighbouring heads [first, first + count) worked on together: a call of LibTorch for each head
/// would cost more than its arithmetic.
struct HeadBlock {
  int64_t first, count;
};

class BlockMixing {
 public:
  BlockMixing(const SmoothingInput& input, const LeftOut& left_out, const at::Tensor& mean_values,
              const at::Tensor& valid, HeadBlock heads)
      : input_(input), left_out_(left_out), valid_(valid), heads_(heads) {
    const int64_t tokens = input.v.size(0), width = input.v.size(2);
    const int64_t shared = input.context.size(1) / input.v.size(1);
    parts_ = at::empty({heads.count, tokens, kParts, width}, at::kFloat);
    for (int64_t b = 0; b < heads.count; ++b) {
      const int64_t head = heads.first + b, group = head / shared;
      const at::Tensor parts = parts_[b];
      parts.select(1, kContext).copy_(input.context.select(1, head));
      parts.select(1, kOwn).copy_(input.v.select(1, group));
      parts.select(1, kMean).copy_(mean_values.select(1, group));
      parts.select(1, kDominant).copy_(dominant_values(input.v.select(1, group), head));
      if (input.gate.defined()) parts.mul_(input.gate.select(1, head).unsqueeze(1));
    }
    mean_parts_ = at::empty({heads.count, 2, width}, at::kFloat);
    for (int64_t b = 0; b < heads.count; ++b) {
      mean_parts_[b] = column_sums(parts_[b].narrow(1, kContext, 2), left_out) / kept_tokens();
    }
  }

  /// The curves of the block's heads in this view, [count]: with the skip connection and, where
  /// `alone` is not empty, without.
  void measure(const View& view, const StepPatterns& with_skip, std::span<StepCurves> skip,
               const StepPatterns& without_skip, std::span<StepCurves> alone) const {
    const at::Tensor products = products_in(view);
    const at::Tensor maps = view.space.maps.narrow(0, heads_.first, heads_.count);  // [B, K, D]
    add_cosines(with_skip, &view, products, maps, skip);
    add_moments(view, products, maps, skip);
    if (!alone.empty()) add_cosines(without_skip, nullptr, products, maps, alone);
  }

 private:
  /// [T, K]: the value of the dominant key, or the query's own where it does not see that key.
  at::Tensor dominant_values(const at::Tensor& values, int64_t head) const {
    const int64_t key = input_.dominant[static_cast<size_t>(head)];
    if (key < 0) return at::zeros({1, values.size(1)}, at::kFloat);
    at::Tensor source = at::empty({values.size(0)}, at::kLong);
    int64_t* from = source.data_ptr<int64_t>();
    for (int64_t t = 0; t < values.size(0); ++t) {
      const theory::SeenKeys& seen = input_.seen[static_cast<size_t>(t)];
      from[t] = seen.first <= key && key < seen.last ? key : t;
    }
    return values.index_select(0, source);
  }

  /// Inner products of every token in this view, [B, T, kProducts] double.
  at::Tensor products_in(const View& view) const {
    const int64_t tokens = parts_.size(1), width = parts_.size(3);
    const at::Tensor mapped = at::bmm(parts_.view({heads_.count, tokens * kParts, width}),
                                      view.space.gram.narrow(0, heads_.first, heads_.count));
    at::Tensor products = at::empty({heads_.count, tokens, kProducts}, at::kDouble);
    const float* part = parts_.data_ptr<float>();
    const float* map = mapped.data_ptr<float>();
    const double* step_sq = view.step_sq.data_ptr<double>();
    double* out = products.data_ptr<double>();
    for (int64_t b = 0; b < heads_.count; ++b) {
      const float* step = view.on_head.data_ptr<float>() + (heads_.first + b) * width;
      for (int64_t t = 0; t < tokens; ++t) {
        for (int64_t p = 0; p < kParts; ++p) {
          for (int64_t q = p; q < kParts; ++q) {
            *out++ = dot(part + p * width, map + q * width, width);
          }
        }
        for (int64_t p = 0; p < kParts; ++p) *out++ = dot(step, part + p * width, width);
        *out++ = step_sq[t];
        part += kParts * width, map += kParts * width, step += view.on_head.size(1);
      }
    }
    return products;
  }

  /// Without `view` the step is no part of it: the head's update alone.
  void add_cosines(const StepPatterns& patterns, const View* view, const at::Tensor& products,
                   const at::Tensor& maps, std::span<StepCurves> curves) const {
    const at::Tensor length_sq = at::matmul(products, patterns.forms),
                     scale = at::matmul(products, patterns.squares);  // [B, T, n]
    const at::Tensor resolved = length_sq.gt(scale * kResolved).logical_and_(valid_);
    const at::Tensor inverse = at::where(resolved, length_sq.rsqrt(), at::zeros({1}, at::kDouble))
                                   .to(at::kFloat);  // 0: no direction
    const at::Tensor step = view ? view->step : at::Tensor();
    const at::Tensor sum = direction_sum(patterns, inverse, parts_, step, maps),
                     directed = resolved.sum(1);  // [B, n]
    if (!left_out_.any()) return write_cosines(sum, directed, sum, directed, curves);
    const auto left = [&](const at::Tensor& rows, int64_t dimension) {
      return rows.index_select(dimension, left_out_.positions);
    };
    const at::Tensor left_sum = direction_sum(patterns, left(inverse, 1), left(parts_, 1),
                                              view ? left(step, 0) : step, maps);
    write_cosines(sum, directed, sum - left_sum, directed - left(resolved, 1).sum(1), curves);
  }

  /// Sum over tokens of the directions of their steps, [B, n, D] double, from the inverse lengths
  /// [B, R, n], the parts [B, R, kParts, K] and the steps [R, D] of these tokens.
  static at::Tensor direction_sum(const StepPatterns& patterns, const at::Tensor& inverse,
                                  const at::Tensor& parts, const at::Tensor& step,
                                  const at::Tensor& maps) {
    const at::Tensor weights = inverse.transpose(1, 2).contiguous();  // [B, n, R]
    const at::Tensor part_sums =
        at::bmm(weights, parts.flatten(2)).unflatten(2, at::IntArrayRef({kParts, -1}));
    const at::Tensor updates = (part_sums * patterns.parts.unsqueeze(2)).sum(2);  // [B, n, K]
    const at::Tensor sum = at::bmm(updates.to(at::kFloat), maps).to(at::kDouble);
    if (!step.defined()) return sum;
    return sum + at::mm(weights.flatten(0, 1), step).view(sum.sizes());
  }

  static void write_cosines(const at::Tensor& all, const at::Tensor& all_tokens,
                            const at::Tensor& rest, const at::Tensor& rest_tokens,
                            std::span<StepCurves> curves) {
    for (size_t b = 0; b < curves.size(); ++b) {
      const auto head = static_cast<int64_t>(b);
      curves[b].all = cosines_of(all[head], all_tokens[head]);
      curves[b].rest = cosines_of(rest[head], rest_tokens[head]);
    }
  }

  /// `sum` [n, D] of unit vectors, `tokens` [n] of them.
  static StepCosines cosines_of(const at::Tensor& sum, const at::Tensor& tokens) {
    const at::Tensor squares = sum.square().sum(1), counts = tokens.contiguous();
    const double* square = squares.data_ptr<double>();
    const int64_t* token_count = counts.data_ptr<int64_t>();
    std::vector<double> cosines;
    for (int64_t p = 0; p < squares.size(0); ++p) {
      const auto n = static_cast<double>(token_count[p]);
      cosines.push_back(n < 2 ? kNaN : (square[p] - n) / (n * (n - 1)));
    }
    StepCosines result;
    result.by_lambda.assign(cosines.begin(), cosines.end() - 2);
    result.actual = *(cosines.end() - 2);
    result.sink = cosines.back();
    return result;
  }

  double kept_tokens() const {
    return static_cast<double>(parts_.size(1) - left_out_.positions.size(0));
  }

  /// Moments of r = step - W_O ctx and u = W_O v over the tokens kept.
  void add_moments(const View& view, const at::Tensor& products, const at::Tensor& maps,
                   std::span<StepCurves> curves) const {
    if (kept_tokens() < 1) return;
    at::Tensor means = products.sum(1);
    if (left_out_.any()) means -= products.index_select(1, left_out_.positions).sum(1);
    means /= kept_tokens();
    const at::Tensor update = at::bmm(mean_parts_, maps).to(at::kDouble);  // of ctx and v
    const at::Tensor mean_update = update.select(1, 1),                    // [B, D]
        mean_skip = view.total / kept_tokens() - update.select(1, 0);
    const auto inner = [](const at::Tensor& a, const at::Tensor& b) { return (a * b).sum(1); };
    const at::Tensor mean_squares =
        at::stack({inner(mean_skip, mean_skip), inner(mean_skip, mean_update),
                   inner(mean_update, mean_update)});
    for (size_t b = 0; b < curves.size(); ++b) {
      const double* mean = means.data_ptr<double>() + static_cast<int64_t>(b) * kProducts;
      const double* of_means = mean_squares.data_ptr<double>() + b;
      const auto heads = static_cast<size_t>(heads_.count);
      curves[b].moments = moments_of(mean, of_means[0], of_means[heads], of_means[2 * heads]);
    }
  }

  /// From the mean products of the tokens and the products of the means of r and u.
  static theory::StepMoments moments_of(const double* mean, double skip, double cross,
                                        double update) {
    // Columns of the products: ctx.ctx 0, ctx.v 1, v.v 4, step.ctx 10, step.v 11, step.step 14.
    const double skip_sq = mean[14] - 2 * mean[10] + mean[0], update_sq = mean[4];
    theory::StepMoments moments;
    if (skip_sq - skip > kResolved * skip_sq) moments.skip = skip_sq - skip;
    if (update_sq - update > kResolved * update_sq) moments.update = update_sq - update;
    if (moments.skip > 0 && moments.update > 0) moments.cross = mean[11] - mean[1] - cross;
    moments.mean_sq = std::max(0.0, skip + 2 * cross + update);
    return moments;
  }

  const SmoothingInput& input_;
  const LeftOut& left_out_;
  const at::Tensor& valid_;  // [T, 1]
  HeadBlock heads_;
  at::Tensor parts_;       // [B, T, kParts, K]
  at::Tensor mean_parts_;  // [B, 2, K]: ctx and v of the tokens kept
};

/// Mean over V(i) of the values, [T, G, K].
at::Tensor mean_values(const at::Tensor& v, std::span<const theory::SeenKeys> seen) {
  const at::Tensor sums =
      at::cat({at::zeros({1, v.size(1), v.size(2)}, at::kDouble), v.to(at::kDouble).cumsum(0)});
  at::Tensor first = at::empty({v.size(0)}, at::kLong), last = at::empty({v.size(0)}, at::kLong);
  for (int64_t t = 0; t < v.size(0); ++t) {
    const theory::SeenKeys& keys = seen[static_cast<size_t>(t)];
    first.data_ptr<int64_t>()[t] = keys.first, last.data_ptr<int64_t>()[t] = keys.last;
  }
  const at::Tensor count = (last - first).clamp_min(1).view({-1, 1, 1});
  return ((sums.index_select(0, last) - sums.index_select(0, first)) / count).to(at::kFloat);
}

at::Tensor queries_with_keys(std::span<const theory::SeenKeys> seen) {  // [T, 1]
  at::Tensor valid = at::empty({static_cast<int64_t>(seen.size()), 1}, at::kBool);
  for (size_t t = 0; t < seen.size(); ++t) {
    valid.data_ptr<bool>()[t] = seen[t].first < seen[t].last;
  }
  return valid;
}

/// `queries`: the keys of those kept.
void predict(std::span<const double> lambdas, std::span<const theory::SeenKeys> queries,
             StepCurves& curves) {
  for (const double lambda : lambdas) {
    curves.predicted.push_back(theory::smoothed_cosine(curves.moments, lambda, queries));
  }
}

/// Blocks small enough for some megabytes of parts, and one for each thread that is free.
std::vector<HeadBlock> head_blocks(int64_t heads, int64_t numbers_of_head) {
  constexpr int64_t kNumbers = 4 << 20;
  const int64_t threads = at::in_parallel_region() ? 1 : at::get_num_threads();
  const int64_t size =
      std::clamp<int64_t>(kNumbers / numbers_of_head, 1, (heads + threads - 1) / threads);
  std::vector<HeadBlock> blocks;
  for (int64_t first = 0; first < heads; first += size) {
    blocks.push_back({first, std::min(size, heads - first)});
  }
  return blocks;
}

}  // namespace

OutputSpace output_space(const at::Tensor& w_o, int64_t heads, const at::Tensor& gain,
                         bool centred) {
  at::Tensor map = w_o.to(at::kFloat);
  if (centred) map = map - map.mean(0, true);
  if (gain.defined()) map = map * gain.unsqueeze(1);
  OutputSpace space;
  space.maps = map.t().contiguous().view({heads, -1, w_o.size(0)});
  space.gram = output_gram(map, heads);
  space.gain = gain, space.centred = centred;
  return space;
}

std::vector<SmoothingValues> smoothing(const SmoothingInput& input, const OutputSpace& plain,
                                       const OutputSpace* normed) {
  const int64_t heads = input.context.size(1);
  const StepPatterns with_skip = step_patterns(input.lambdas, true),
                     without_skip = step_patterns(input.lambdas, false);
  const LeftOut left_out(input.left_out, input.v.size(0));
  const View plain_view(plain, input.step, left_out);
  std::optional<View> normed_view;
  if (normed) normed_view.emplace(*normed, input.step, left_out);
  const at::Tensor means = mean_values(input.v, input.seen), valid = queries_with_keys(input.seen);
  std::vector<StepCurves> skip(static_cast<size_t>(heads)), alone = skip, behind = skip;

  const std::vector<HeadBlock> blocks =
      head_blocks(heads, input.v.size(0) * kParts * input.v.size(2));
  at::parallel_for(0, std::ssize(blocks), 1, [&](int64_t begin, int64_t end) {
    const c10::NoGradGuard no_grad;
    for (int64_t b = begin; b < end; ++b) {
      const HeadBlock block = blocks[static_cast<size_t>(b)];
      const auto part = [&](std::vector<StepCurves>& curves) {
        return std::span(curves).subspan(static_cast<size_t>(block.first),
                                         static_cast<size_t>(block.count));
      };
      const BlockMixing mixing(input, left_out, means, valid, block);
      mixing.measure(plain_view, with_skip, part(skip), without_skip, part(alone));
      if (normed_view) mixing.measure(*normed_view, with_skip, part(behind), without_skip, {});
    }
  });
  std::vector<theory::SeenKeys> queries(input.seen.begin(), input.seen.end());
  for (const int64_t position : input.left_out) queries[static_cast<size_t>(position)] = {};
  std::vector<SmoothingValues> values(static_cast<size_t>(heads));
  for (size_t h = 0; h < values.size(); ++h) {
    if (input.dominant[h] == kHeadLeftOut) continue;
    values[h].left_out = std::ssize(input.left_out);
    values[h].skip = std::move(skip[h]);
    values[h].alone = std::move(alone[h]);
    values[h].normed = std::move(behind[h]);
    predict(input.lambdas, queries, values[h].skip);
    if (normed) predict(input.lambdas, queries, values[h].normed);
  }
  return values;
}

std::vector<int64_t> outlier_tokens(const at::Tensor& step) {
  constexpr float kOutlierRatio = 5;
  const at::Tensor lengths = step.norm(2, 1).contiguous();
  const float limit = kOutlierRatio * lengths.median().item<float>();
  std::vector<int64_t> outliers;
  for (int64_t t = 0; t < lengths.size(0); ++t) {
    const float length = lengths.data_ptr<float>()[t];
    if (length > 0 && length >= limit) outliers.push_back(t);
  }
  return outliers;
}

double mean_uniformity(std::span<const float> to_self, std::span<const theory::SeenKeys> seen) {
  double sum = 0, queries = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    const double keys = static_cast<double>(seen[i].last - seen[i].first);
    if (keys < 2) continue;
    sum += (1 - static_cast<double>(to_self[i])) / (1 - 1 / keys);
    queries += 1;
  }
  return queries > 0 ? sum / queries : kNaN;
}

}  // namespace sinkscope::stats
