#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sinkscope/base/error.h"
#include "sinkscope/image/preprocessor.h"
#include "sinkscope/io/printable.h"

namespace sinkscope::image {

namespace {

constexpr char kOperation[] = "preprocess image";

void check_pixels(Size size, int64_t limit, const char* step) {
  // The sides first: then the product cannot overflow.
  const bool sides = std::max(size.height, size.width) <= kMaxPixels;
  if (sides && size.height * size.width <= limit) return;
  throw Error(ErrorKind::kTooLarge, kOperation,
              fmt::format("{} would make {} x {} pixels, at most {} are made", step, size.width,
                          size.height, io::grouped(limit)),
              "crop the picture to a usual ratio, or ask for a smaller size");
}

/// The ratio kept: the shorter side `target.shortest_edge` long, both cut to integers, and the
/// longer at most `target.longest_edge` (get_size_with_aspect_ratio of transformers).
Size keep_ratio(const ResizeTarget& target, Size size) {
  const int64_t shorter = std::min(size.height, size.width);
  const int64_t longer = std::max(size.height, size.width);
  int64_t short_to = target.shortest_edge;
  double exact = static_cast<double>(short_to);
  const double ratio = static_cast<double>(longer) / static_cast<double>(shorter);
  if (target.longest_edge && ratio * exact > static_cast<double>(target.longest_edge)) {
    exact = static_cast<double>(target.longest_edge * shorter) / static_cast<double>(longer);
    // Half to even, as Python rounds.
    short_to = std::max<int64_t>(std::lrint(exact), 1);
  }
  if (shorter == short_to) return size;
  const auto long_to = std::max<int64_t>(static_cast<int64_t>(exact * longer / shorter), 1);
  return size.width <= size.height ? Size{long_to, short_to} : Size{short_to, long_to};
}

/// The middle `size` of the picture; what lies outside of it is 0.
template <typename T>
Raster<T> center_crop(const Raster<T>& from, Size size) {
  // Cut towards zero on both sides of it: the smaller half of a border or of an overhang comes
  // first.
  const int64_t top = (from.size.height - size.height) / 2;
  const int64_t left = (from.size.width - size.width) / 2;
  Raster<T> out{size, std::vector<T>(static_cast<size_t>(size.height * size.width * 3))};
  const int64_t first = std::max<int64_t>(0, -left);
  const int64_t last = std::min(size.width, from.size.width - left);
  for (int64_t y = 0; y < size.height; ++y) {
    const int64_t from_y = y + top;
    if (from_y < 0 || from_y >= from.size.height) continue;
    const T* row = from.values.data() + (from_y * from.size.width + left + first) * 3;
    std::copy(row, row + (last - first) * 3, out.values.data() + (y * size.width + first) * 3);
  }
  return out;
}

/// value = (pixel * scale - offset) / divisor, with float32 steps in the order of transformers.
struct Affine {
  float scale = 1;
  std::array<float, 3> offset = {0, 0, 0};
  std::array<float, 3> divisor = {1, 1, 1};
};

Affine affine_of(const Preprocessor& p, bool rescaled) {
  Affine out;
  const bool rescale = p.do_rescale && !rescaled;
  if (rescale && !p.do_normalize) out.scale = static_cast<float>(p.rescale_factor);
  if (!p.do_normalize) return out;
  // Both steps in one: mean and deviation in units of the picture instead of the picture in theirs.
  const float unit = rescale ? static_cast<float>(1.0 / p.rescale_factor) : 1.0f;
  for (int c = 0; c < 3; ++c) {
    out.offset[c] = static_cast<float>(p.mean[c]) * unit;
    out.divisor[c] = static_cast<float>(p.std[c]) * unit;
  }
  return out;
}

template <typename T>
Pixels to_planes(const Raster<T>& from, const Affine& affine) {
  Pixels out{3, from.size.height, from.size.width, {}};
  const int64_t count = from.size.height * from.size.width;
  out.values.resize(static_cast<size_t>(count * 3));
  for (int c = 0; c < 3; ++c) {
    float* plane = out.values.data() + c * count;
    for (int64_t i = 0; i < count; ++i) {
      const float value = static_cast<float>(from.values[i * 3 + c]) * affine.scale;
      plane[i] = (value - affine.offset[c]) / affine.divisor[c];
    }
  }
  return out;
}

template <typename T>
Pixels run(Raster<T> raster, const Preprocessor& p, bool rescaled) {
  const Size target = resized_size(p, raster.size);
  // What the first pass leaves for the second.
  check_pixels({raster.size.height, target.width}, kMaxPixels, "resizing");
  if (target != raster.size) raster = resize(raster, target, p.resample);
  if (p.do_center_crop && raster.size != p.crop_size) raster = center_crop(raster, p.crop_size);
  return to_planes(raster, affine_of(p, rescaled));
}

}  // namespace

Size resized_size(const Preprocessor& p, Size size) {
  if (!p.do_resize) return size;
  const Size target = p.size.shortest_edge ? keep_ratio(p.size, size) : p.size.exact;
  check_pixels(target, kMaxModelPixels, "resizing");
  return target;
}

Size output_size(const Preprocessor& p, Size size) {
  const Size resized = resized_size(p, size);
  const Size out = p.do_center_crop ? p.crop_size : resized;
  check_pixels(out, kMaxModelPixels, p.do_center_crop ? "cropping" : "leaving the size as it is");
  return out;
}

Pixels preprocess(const Image& image, const Preprocessor& p) {
  const Size size{image.height, image.width};
  output_size(p, size);
  if (!p.rescale_first || !p.do_rescale) return run(Raster<uint8_t>{size, image.rgb}, p, false);
  Raster<float> raster{size, std::vector<float>(image.rgb.begin(), image.rgb.end())};
  const float factor = static_cast<float>(p.rescale_factor);
  for (float& value : raster.values) value *= factor;
  return run(std::move(raster), p, true);
}

}  // namespace sinkscope::image
