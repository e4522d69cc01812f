#include "sinkscope/image/resample.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

namespace sinkscope::image {

namespace {

struct Filter {
  double support;
  double (*weight)(double);
};

double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double triangle(double x) {
  x = std::abs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

double hamming(double x) {
  x = std::abs(x);
  if (x == 0.0) return 1.0;
  if (x >= 1.0) return 0.0;
  x *= std::numbers::pi;
  return std::sin(x) / x * (0.54 + 0.46 * std::cos(x));
}

double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos(double x) { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }

Filter filter_of(Resample resample) {
  switch (resample) {
    case Resample::kNearest:  // has no weights: see nearest_indices
    case Resample::kBox: return {0.5, box};
    case Resample::kBilinear: return {1.0, triangle};
    case Resample::kHamming: return {1.0, hamming};
    case Resample::kBicubic: return {2.0, cubic};
    case Resample::kLanczos: return {3.0, lanczos};
  }
  return {};
}

/// The source pixels that one target pixel is made of: weights[first_weight ...] for the pixels
/// [first, first + count).
struct Window {
  int64_t first = 0;
  int64_t count = 0;
  size_t first_weight = 0;
};

template <typename Weight>
struct Windows {
  std::vector<Window> windows;  ///< one per target pixel
  std::vector<Weight> weights;
};

// Eight bits per pixel and two to spare for filters whose weights add up to more than 1.
constexpr int kFractionBits = 32 - 8 - 2;

template <typename Weight>
Weight stored(double weight) {
  if constexpr (std::is_same_v<Weight, int32_t>) {
    const double scaled = weight * (1 << kFractionBits);
    return static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  } else {
    return static_cast<Weight>(weight);
  }
}

template <typename Weight>
Windows<Weight> make_windows(int64_t from, int64_t to, Filter filter) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(scale, 1.0);
  const double support = filter.support * stretch;
  Windows<Weight> out;
  std::vector<double> weights;
  for (int64_t i = 0; i < to; ++i) {
    const double center = (i + 0.5) * scale;
    Window window;
    window.first = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
    window.count = std::min(static_cast<int64_t>(center + support + 0.5), from) - window.first;
    window.first_weight = out.weights.size();
    weights.clear();
    double sum = 0;
    for (int64_t k = 0; k < window.count; ++k) {
      // Times the reciprocal, as Pillow: a quotient would round to other weights.
      weights.push_back(filter.weight((k + window.first - center + 0.5) * (1.0 / stretch)));
      sum += weights.back();
    }
    for (const double weight : weights) {
      out.weights.push_back(stored<Weight>(sum != 0.0 ? weight / sum : weight));
    }
    out.windows.push_back(window);
  }
  return out;
}

// Sums of weight times pixel, and the pixel made of a sum.
template <typename T>
struct Arithmetic;

template <>
struct Arithmetic<uint8_t> {
  using Weight = int32_t;
  static constexpr int32_t kStart = 1 << (kFractionBits - 1);
  static uint8_t pixel(int32_t sum) {
    return static_cast<uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
  }
};

template <>
struct Arithmetic<float> {
  using Weight = double;
  static constexpr double kStart = 0;
  static float pixel(double sum) { return static_cast<float>(sum); }
};

template <typename T>
Raster<T> resize_rows(const Raster<T>& from, int64_t width, Filter filter) {
  using Sum = Arithmetic<T>;
  using Weight = typename Sum::Weight;
  const auto windows = make_windows<Weight>(from.size.width, width, filter);
  Raster<T> out{{from.size.height, width}, {}};
  out.values.resize(static_cast<size_t>(from.size.height * width * 3));
  T* to = out.values.data();
  for (int64_t y = 0; y < from.size.height; ++y) {
    const T* row = from.values.data() + y * from.size.width * 3;
    for (const Window& window : windows.windows) {
      const Weight* weight = windows.weights.data() + window.first_weight;
      const T* pixel = row + window.first * 3;
      Weight red = Sum::kStart, green = Sum::kStart, blue = Sum::kStart;
      for (int64_t k = 0; k < window.count; ++k, pixel += 3) {
        red += weight[k] * pixel[0];
        green += weight[k] * pixel[1];
        blue += weight[k] * pixel[2];
      }
      *to++ = Sum::pixel(red), *to++ = Sum::pixel(green), *to++ = Sum::pixel(blue);
    }
  }
  return out;
}

template <typename T>
Raster<T> resize_columns(const Raster<T>& from, int64_t height, Filter filter) {
  using Sum = Arithmetic<T>;
  using Weight = typename Sum::Weight;
  const auto windows = make_windows<Weight>(from.size.height, height, filter);
  const int64_t stride = from.size.width * 3;
  Raster<T> out{{height, from.size.width}, {}};
  out.values.resize(static_cast<size_t>(height * stride));
  std::vector<Weight> sums(static_cast<size_t>(stride));
  T* to = out.values.data();
  for (const Window& window : windows.windows) {
    std::fill(sums.begin(), sums.end(), Sum::kStart);
    for (int64_t k = 0; k < window.count; ++k) {
      const Weight weight = windows.weights[window.first_weight + k];
      const T* row = from.values.data() + (window.first + k) * stride;
      for (int64_t i = 0; i < stride; ++i) sums[i] += weight * row[i];
    }
    for (const Weight sum : sums) *to++ = Sum::pixel(sum);
  }
  return out;
}

std::vector<int64_t> nearest_indices(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  std::vector<int64_t> indices;
  // Added up, not multiplied: where a centre falls between two pixels, Pillow's rounding decides.
  double center = scale * 0.5;
  for (int64_t i = 0; i < to; ++i, center += scale) {
    indices.push_back(std::min(static_cast<int64_t>(center), from - 1));
  }
  return indices;
}

template <typename T>
Raster<T> resize_nearest(const Raster<T>& from, Size to) {
  const std::vector<int64_t> columns = nearest_indices(from.size.width, to.width);
  Raster<T> out{to, {}};
  out.values.reserve(static_cast<size_t>(to.height * to.width * 3));
  for (const int64_t y : nearest_indices(from.size.height, to.height)) {
    const T* row = from.values.data() + y * from.size.width * 3;
    for (const int64_t x : columns) {
      out.values.insert(out.values.end(), row + x * 3, row + x * 3 + 3);
    }
  }
  return out;
}

}  // namespace

template <typename T>
Raster<T> resize(const Raster<T>& from, Size to, Resample filter) {
  if (from.size == to) return from;
  if (filter == Resample::kNearest) return resize_nearest(from, to);
  if (from.size.width == to.width) return resize_columns(from, to.height, filter_of(filter));
  Raster<T> wide = resize_rows(from, to.width, filter_of(filter));
  if (wide.size.height == to.height) return wide;
  return resize_columns(wide, to.height, filter_of(filter));
}

template Raster<uint8_t> resize(const Raster<uint8_t>&, Size, Resample);
template Raster<float> resize(const Raster<float>&, Size, Resample);

}  // namespace sinkscope::image
