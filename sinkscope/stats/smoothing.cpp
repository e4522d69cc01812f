#include "sinkscope/stats/smoothing.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>

#include "sinkscope/stats/dot.h"
#include "sinkscope/stats/value_norms.h"

namespace sinkscope::stats {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The head vectors of a query, [K] each, of which every pattern's update is a combination.
enum Part { kContext, kOwn, kMean, kDominant, kParts };
constexpr int64_t kProducts = kParts * (kParts + 1) / 2 + kParts + 1;
// Squares below this share of their parts, and variances of the mean square, are float32's
// rounding.
constexpr double kResolved = 1e-6;

/// Attention patterns whose steps are compared: one per lambda, the head's own, the sink alone.
struct Patterns {
  at::Tensor parts;  ///< [n, kParts] double: x_i = sum_p parts[p] part_p
  /// [kProducts, n] double: squared length of a step from the inner products of a token (upper
  /// triangle of the parts, step with part, step with itself), and the same from squares alone.
  at::Tensor forms, squares;
  int64_t count = 0;
};

Patterns make_patterns(std::span<const double> lambdas, bool skip) {
  Patterns patterns;
  patterns.count = static_cast<int64_t>(lambdas.size()) + 2;
  patterns.parts = at::zeros({patterns.count, kParts}, at::kDouble);
  auto parts = patterns.parts.accessor<double, 2>();
  for (int64_t l = 0; l < patterns.count - 2; ++l) {
    const double lambda = lambdas[static_cast<size_t>(l)];
    parts[l][kOwn] = 1 - lambda, parts[l][kMean] = lambda;
  }
  parts[patterns.count - 2][kContext] = 1;
  parts[patterns.count - 1][kDominant] = 1;
  // The step already holds the head's own update.
  if (skip) patterns.parts.select(1, kContext).sub_(1);

  patterns.forms = at::zeros({kProducts, patterns.count}, at::kDouble);
  patterns.squares = at::zeros_like(patterns.forms);
  int64_t row = 0;
  for (int64_t a = 0; a < kParts; ++a) {
    for (int64_t b = a; b < kParts; ++b, ++row) {
      patterns.forms[row] =
          patterns.parts.select(1, a) * patterns.parts.select(1, b) * (a == b ? 1 : 2);
      if (a == b) patterns.squares[row] = patterns.forms[row];
    }
  }
  if (!skip) return patterns;
  for (int64_t a = 0; a < kParts; ++a, ++row) patterns.forms[row] = patterns.parts.select(1, a) * 2;
  patterns.forms[row] = 1;
  patterns.squares[row] = 1;
  return patterns;
}

/// The stream as one OutputSpace sees it.
struct View {
  const OutputSpace& space;
  at::Tensor step;     ///< [T, D]
  at::Tensor on_head;  ///< [T, H K] step W_O
  at::Tensor step_sq;  ///< [T] double
  at::Tensor total;    ///< [D] double, sum of the steps of the tokens that are not left out

  View(const OutputSpace& s, const at::Tensor& raw_step, int64_t left_out) : space(s) {
    step = s.centred ? raw_step - raw_step.mean(1, true) : raw_step;
    if (s.gain.defined()) step = step * s.gain;
    on_head = at::mm(step, s.maps.flatten(0, 1).t());
    step_sq = step.square().sum(1, false, at::kDouble);
    total = step.sum(0, false, at::kDouble);
    if (left_out >= 0) total -= step[left_out];
  }
};

/// Neighbouring heads [first, first + count) worked on together: a call of LibTorch for each head
/// would cost more than its arithmetic.
struct HeadBlock {
  int64_t first, count;
};

class BlockMixing {
 public:
  BlockMixing(const SmoothingInput& input, const at::Tensor& mean_values, const at::Tensor& valid,
              HeadBlock heads)
      : input_(input), valid_(valid), heads_(heads) {
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
    mean_parts_ = mean_of(parts_.narrow(2, kContext, 2));
  }

  /// The curves of the block's heads in this view, [count]: with the skip connection and, where
  /// `alone` is not empty, without.
  void measure(const View& view, const Patterns& with_skip, std::span<StepCurves> skip,
               const Patterns& without_skip, std::span<StepCurves> alone) const {
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

  /// Without `view` the step is left out: the head's update alone.
  void add_cosines(const Patterns& patterns, const View* view, const at::Tensor& products,
                   const at::Tensor& maps, std::span<StepCurves> curves) const {
    const int64_t heads = heads_.count, tokens = parts_.size(1), count = patterns.count;
    const at::Tensor length_sq = at::matmul(products, patterns.forms),
                     scale = at::matmul(products, patterns.squares);  // [B, T, n]
    const at::Tensor resolved = length_sq.gt(scale * kResolved).logical_and_(valid_);
    const at::Tensor inverse =
        at::where(resolved, length_sq.rsqrt(), at::zeros({1}, at::kDouble));  // 0: no direction
    const at::Tensor weights = inverse.transpose(1, 2).to(at::kFloat).contiguous();  // [B, n, T]
    // The sum of the directions of all tokens, and of all but the one left out.
    const at::Tensor part_sums =
        at::bmm(weights, parts_.view({heads, tokens, -1})).view({heads, count, kParts, -1});
    const at::Tensor update_sums = (part_sums * patterns.parts.unsqueeze(2)).sum(2);  // [B, n, K]
    at::Tensor sum = at::bmm(update_sums.to(at::kFloat), maps).to(at::kDouble);       // [B, n, D]
    if (view) {
      sum += at::mm(weights.view({heads * count, tokens}), view->step).view({heads, count, -1});
    }
    const at::Tensor directed = resolved.sum(1);  // [B, n]
    const int64_t left = input_.left_out;
    if (left < 0) return write_cosines(sum, directed, sum, directed, curves);
    const at::Tensor left_parts = at::bmm(parts_.select(1, left), maps).to(at::kDouble);
    at::Tensor left_step = at::matmul(patterns.parts, left_parts);  // [B, n, D]
    if (view) left_step += view->step[left];
    write_cosines(sum, directed, sum - left_step * inverse.select(1, left).unsqueeze(2),
                  directed - resolved.select(1, left).to(at::kLong), curves);
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
    return static_cast<double>(parts_.size(1) - (input_.left_out >= 0));
  }
  /// Mean over the tokens without the one left out of rows [B, T, ...], in double.
  at::Tensor mean_of(const at::Tensor& rows) const {
    at::Tensor sum = rows.sum(1, false, at::kDouble);
    if (input_.left_out >= 0) sum -= rows.select(1, input_.left_out);
    return sum / kept_tokens();
  }

  /// Token moments of r = step - W_O ctx and u = W_O v, without the token left out.
  void add_moments(const View& view, const at::Tensor& products, const at::Tensor& maps,
                   std::span<StepCurves> curves) const {
    if (kept_tokens() < 1) return;
    const at::Tensor means = mean_of(products);
    const at::Tensor update =
        at::bmm(mean_parts_.to(at::kFloat), maps).to(at::kDouble);  // of ctx and v
    const at::Tensor mean_update = update.select(1, 1),             // [B, D]
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
  const at::Tensor& valid_;  // [T, 1]
  HeadBlock heads_;
  at::Tensor parts_;       // [B, T, kParts, K]
  at::Tensor mean_parts_;  // [B, 2, K] double: ctx and v, without the token left out
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

void predict(const SmoothingInput& input, StepCurves& curves) {
  for (const double lambda : input.lambdas) {
    curves.predicted.push_back(
        theory::smoothed_cosine(curves.moments, lambda, input.seen, input.left_out));
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
  const Patterns with_skip = make_patterns(input.lambdas, true),
                 without_skip = make_patterns(input.lambdas, false);
  const View plain_view(plain, input.step, input.left_out);
  std::optional<View> normed_view;
  if (normed) normed_view.emplace(*normed, input.step, input.left_out);
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
      const BlockMixing mixing(input, means, valid, block);
      mixing.measure(plain_view, with_skip, part(skip), without_skip, part(alone));
      if (normed_view) mixing.measure(*normed_view, with_skip, part(behind), without_skip, {});
    }
  });
  std::vector<SmoothingValues> values(static_cast<size_t>(heads));
  for (size_t h = 0; h < values.size(); ++h) {
    if (input.dominant[h] == kHeadLeftOut) continue;
    values[h] = {input.left_out, std::move(skip[h]), std::move(alone[h]), std::move(behind[h])};
    predict(input, values[h].skip);
    if (normed) predict(input, values[h].normed);
  }
  return values;
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
