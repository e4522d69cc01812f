#include "sinkscope/stats/smoothing.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include "sinkscope/stats/dot.h"
#include "sinkscope/stats/value_norms.h"

namespace sinkscope::stats {
namespace {

/// The head vectors of a query, [K] each, of which every pattern's update is a combination.
enum Part { kContext, kOwn, kMean, kDominant, kParts };
constexpr int64_t kProducts = kParts * (kParts + 1) / 2 + kParts + 1;

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
    on_head = at::mm(step, s.w_o);
    step_sq = step.square().sum(1, false, at::kDouble);
    total = step.sum(0, false, at::kDouble);
    if (left_out >= 0) total -= step[left_out];
  }
};

/// One head's pairs in one View: what its patterns add up to, before the steps are added.
struct CurveSums {
  const View* view = nullptr;
  const Patterns* patterns = nullptr;
  at::Tensor weights;      ///< [n, T] 1 / length of the step, 0 without a direction
  at::Tensor update;       ///< [2, n, K] sum_i weight_i x_i: all tokens; without the one left out
  at::Tensor left_weight;  ///< [n]
  at::Tensor tokens;       ///< [2, n] double, tokens with a direction
};

class HeadMixing {
 public:
  HeadMixing(const SmoothingInput& input, const at::Tensor& mean_values, const at::Tensor& valid,
             int64_t head)
      : input_(input), valid_(valid), head_(head) {
    const int64_t tokens = input.v.size(0), width = input.v.size(2);
    const int64_t group = head / (input.context.size(1) / input.v.size(1));
    parts_ = at::empty({tokens, kParts, width}, at::kFloat);
    parts_.select(1, kContext).copy_(input.context.select(1, head));
    parts_.select(1, kOwn).copy_(input.v.select(1, group));
    parts_.select(1, kMean).copy_(mean_values.select(1, group));
    parts_.select(1, kDominant).copy_(dominant_values(input.v.select(1, group)));
    if (input.gate.defined()) parts_ *= input.gate.select(1, head).unsqueeze(1);
  }

  /// Inner products of every token in this view, [T, kProducts] double.
  at::Tensor products(const View& view) const {
    const int64_t tokens = parts_.size(0), width = parts_.size(2);
    const at::Tensor mapped = at::mm(parts_.view({-1, width}), view.space.gram[head_]);
    at::Tensor products = at::empty({tokens, kProducts}, at::kDouble);
    const float* part = parts_.data_ptr<float>();
    const float* map = mapped.data_ptr<float>();
    const float* step = view.on_head.data_ptr<float>() + head_ * width;
    const double* step_sq = view.step_sq.data_ptr<double>();
    double* out = products.data_ptr<double>();
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t a = 0; a < kParts; ++a) {
        for (int64_t b = a; b < kParts; ++b) *out++ = dot(part + a * width, map + b * width, width);
      }
      for (int64_t a = 0; a < kParts; ++a) *out++ = dot(step, part + a * width, width);
      *out++ = step_sq[t];
      part += kParts * width, map += kParts * width, step += view.on_head.size(1);
    }
    return products;
  }

  CurveSums sums(const View& view, const Patterns& patterns, const at::Tensor& products) const {
    // Squares below this share of their parts are float32's rounding, not a length.
    constexpr double kResolved = 1e-6;
    const at::Tensor length_sq = at::mm(products, patterns.forms),
                     scale = at::mm(products, patterns.squares);
    const at::Tensor resolved = length_sq.gt(scale * kResolved).logical_and_(valid_);
    const at::Tensor weights =
        at::where(resolved, length_sq.rsqrt(), at::zeros({1}, at::kDouble)).t().contiguous();
    CurveSums sums;
    sums.view = &view, sums.patterns = &patterns;
    sums.weights = weights.to(at::kFloat);
    const at::Tensor all =
        combined(at::mm(sums.weights, parts_.view({parts_.size(0), -1})), patterns);
    const at::Tensor tokens = weights.gt(0).sum(1).to(at::kDouble);
    sums.left_weight = at::zeros({patterns.count}, at::kDouble);
    at::Tensor rest = all;
    if (input_.left_out >= 0) {
      sums.left_weight = weights.select(1, input_.left_out);
      const at::Tensor left = parts_[input_.left_out].reshape({1, -1}).expand({patterns.count, -1});
      rest = all - combined(left, patterns) * sums.left_weight.unsqueeze(1);
    }
    sums.update = at::stack({all, rest});
    sums.tokens = at::stack({tokens, tokens - sums.left_weight.gt(0).to(at::kDouble)});
    return sums;
  }

  /// Token moments of r = step - W_O ctx and u = W_O v, without the token left out.
  theory::StepMoments moments(const View& view, const at::Tensor& products) const {
    const int64_t left = input_.left_out;
    const double tokens = static_cast<double>(parts_.size(0) - (left >= 0));
    if (tokens < 1) return {};
    const auto mean_of = [&](const at::Tensor& rows) {
      at::Tensor sum = rows.sum(0, false, at::kDouble);
      if (left >= 0) sum -= rows[left];
      return sum / tokens;
    };
    const at::Tensor means = mean_of(products);
    const auto mean = [&](int64_t column) { return means[column].item<double>(); };
    // Columns of `products`: ctx.ctx 0, ctx.v 1, v.v 4, step.ctx 10, step.v 11, step.step 14.
    const double skip_sq = mean(14) - 2 * mean(10) + mean(0), cross = mean(11) - mean(1),
                 update_sq = mean(4);
    const at::Tensor map =
        view.space.w_o.narrow(1, head_ * parts_.size(2), parts_.size(2)).to(at::kDouble);
    const at::Tensor mean_update = at::mv(map, mean_of(parts_.select(1, kOwn))),
                     mean_skip =
                         view.total / tokens - at::mv(map, mean_of(parts_.select(1, kContext)));
    const auto inner = [](const at::Tensor& a, const at::Tensor& b) {
      return at::dot(a, b).item<double>();
    };
    // A variance below this share of the mean square is float32's rounding.
    constexpr double kResolved = 1e-6;
    const auto variance = [](double square, double mean_square) {
      return square - mean_square > kResolved * square ? square - mean_square : 0;
    };
    theory::StepMoments moments;
    moments.skip = variance(skip_sq, inner(mean_skip, mean_skip));
    moments.update = variance(update_sq, inner(mean_update, mean_update));
    if (moments.skip > 0 && moments.update > 0) {
      moments.cross = cross - inner(mean_skip, mean_update);
    }
    moments.mean_sq = inner(mean_skip + mean_update, mean_skip + mean_update);
    return moments;
  }

 private:
  /// [T, K]: the value of the dominant key, or the query's own where it does not see that key.
  at::Tensor dominant_values(const at::Tensor& values) const {
    const int64_t key = input_.dominant[static_cast<size_t>(head_)];
    if (key < 0) return at::zeros({1, values.size(1)}, at::kFloat);
    at::Tensor source = at::empty({values.size(0)}, at::kLong);
    int64_t* from = source.data_ptr<int64_t>();
    for (int64_t t = 0; t < values.size(0); ++t) {
      const theory::SeenKeys& seen = input_.seen[static_cast<size_t>(t)];
      from[t] = seen.first <= key && key < seen.last ? key : t;
    }
    return values.index_select(0, source);
  }

  /// Rows of parts [n, kParts K] as each pattern combines them: [n, K] double.
  static at::Tensor combined(const at::Tensor& rows, const Patterns& patterns) {
    return (rows.reshape({patterns.count, kParts, -1}) * patterns.parts.unsqueeze(2)).sum(1);
  }

  const SmoothingInput& input_;
  const at::Tensor& valid_;  // [T, 1]
  int64_t head_;
  at::Tensor parts_;  // [T, kParts, K]
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

StepCosines cosines_of(const at::Tensor& total, const at::Tensor& tokens) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor squares = total.square().sum(1);
  const double* square = squares.data_ptr<double>();
  std::vector<double> cosines;
  for (int64_t p = 0; p < squares.size(0); ++p) {
    const double n = tokens[p].item<double>();
    cosines.push_back(n < 2 ? kNaN : (square[p] - n) / (n * (n - 1)));
  }
  StepCosines result;
  result.by_lambda.assign(cosines.begin(), cosines.end() - 2);
  result.actual = *(cosines.end() - 2);
  result.sink = cosines.back();
  return result;
}

/// `steps` [n, D]: sum_i weight_i step_i of all tokens; undefined for the head alone.
StepCurves finish(const CurveSums& sums, const at::Tensor& steps, int64_t head,
                  const SmoothingInput& input) {
  const int64_t width = sums.update.size(2), count = sums.patterns->count;
  const at::Tensor map = sums.view->space.w_o.narrow(1, head * width, width);
  at::Tensor totals = at::mm(sums.update.view({-1, width}).to(at::kFloat), map.t())
                          .to(at::kDouble)
                          .view({2, count, -1});
  if (steps.defined()) {
    totals += steps;
    if (input.left_out >= 0) {
      totals[1] -= at::outer(sums.left_weight, sums.view->step[input.left_out].to(at::kDouble));
    }
  }
  StepCurves curves;
  curves.all = cosines_of(totals[0], sums.tokens[0]);
  curves.rest = cosines_of(totals[1], sums.tokens[1]);
  return curves;
}

void predict(const SmoothingInput& input, StepCurves& curves) {
  for (const double lambda : input.lambdas) {
    curves.predicted.push_back(
        theory::smoothed_cosine(curves.moments, lambda, input.seen, input.left_out));
  }
}

/// Everything of one head that needs its [T, ...] tensors.
struct HeadSums {
  std::vector<CurveSums> skip;  ///< by view
  CurveSums alone;
  std::vector<theory::StepMoments> moments;  ///< by view
};

}  // namespace

OutputSpace output_space(const at::Tensor& w_o, int64_t heads, const at::Tensor& gain,
                         bool centred) {
  OutputSpace space;
  space.w_o = w_o.to(at::kFloat);
  if (centred) space.w_o = space.w_o - space.w_o.mean(0, true);
  if (gain.defined()) space.w_o = space.w_o * gain.unsqueeze(1);
  space.w_o = space.w_o.contiguous();
  space.gram = output_gram(space.w_o, heads);
  space.gain = gain, space.centred = centred;
  return space;
}

std::vector<SmoothingValues> smoothing(const SmoothingInput& input, const OutputSpace& plain,
                                       const OutputSpace* normed) {
  const int64_t heads = input.context.size(1),
                patterns = static_cast<int64_t>(input.lambdas.size()) + 2;
  const Patterns with_skip = make_patterns(input.lambdas, true),
                 without_skip = make_patterns(input.lambdas, false);
  std::vector<View> views;
  views.emplace_back(plain, input.step, input.left_out);
  if (normed) views.emplace_back(*normed, input.step, input.left_out);
  const at::Tensor means = mean_values(input.v, input.seen), valid = queries_with_keys(input.seen);

  std::vector<HeadSums> sums(static_cast<size_t>(heads));
  const auto each_head = [&](const auto& body) {
    at::parallel_for(0, heads, 1, [&](int64_t begin, int64_t end) {
      const c10::NoGradGuard no_grad;
      for (int64_t h = begin; h < end; ++h) {
        if (input.dominant[static_cast<size_t>(h)] != kHeadLeftOut) body(h);
      }
    });
  };
  each_head([&](int64_t h) {
    HeadSums& head = sums[static_cast<size_t>(h)];
    const HeadMixing mixing(input, means, valid, h);
    for (const View& view : views) {
      const at::Tensor products = mixing.products(view);
      head.skip.push_back(mixing.sums(view, with_skip, products));
      head.moments.push_back(mixing.moments(view, products));
      if (&view == &views[0]) head.alone = mixing.sums(view, without_skip, products);
    }
  });
  // One product per view adds the steps of every head and pattern.
  std::vector<at::Tensor> steps;
  for (size_t v = 0; v < views.size(); ++v) {
    at::Tensor weights = at::zeros({heads, patterns, input.v.size(0)}, at::kFloat);
    for (int64_t h = 0; h < heads; ++h) {
      const HeadSums& head = sums[static_cast<size_t>(h)];
      if (!head.skip.empty()) weights[h] = head.skip[v].weights;
    }
    steps.push_back(
        at::mm(weights.view({heads * patterns, -1}), views[v].step).view({heads, patterns, -1}));
  }
  std::vector<SmoothingValues> values(static_cast<size_t>(heads));
  each_head([&](int64_t h) {
    const HeadSums& head = sums[static_cast<size_t>(h)];
    SmoothingValues& value = values[static_cast<size_t>(h)];
    value.left_out = input.left_out;
    value.alone = finish(head.alone, {}, h, input);
    for (size_t v = 0; v < views.size(); ++v) {
      StepCurves& curves = v == 0 ? value.skip : value.normed;
      curves = finish(head.skip[v], steps[v][h], h, input);
      curves.moments = head.moments[v];
      predict(input, curves);
    }
  });
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
  return queries > 0 ? sum / queries : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace sinkscope::stats
