#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sinkscope/image/image.h"
#include "sinkscope/image/pixels.h"
#include "sinkscope/image/resample.h"
#include "sinkscope/io/config_json.h"

namespace sinkscope::image {

/// No picture is made larger than this for a model, 200 MB of float32: 65,536 patches of 16 x 16.
inline constexpr int64_t kMaxModelPixels = int64_t{1} << 24;

/// The size that resizing aims at: both sides, or the shorter one with the ratio kept.
struct ResizeTarget {
  Size exact;                 ///< used when `shortest_edge` is 0
  int64_t shortest_edge = 0;  ///< pixels; the longer side is cut to an integer
  int64_t longest_edge = 0;   ///< where not 0: the longer side at most, the shorter gives way
};

/// How a picture becomes the input of a model: preprocessor_config.json as the image processors of
/// transformers read it. The steps are resize, centre crop, rescale, normalise, each optional.
struct Preprocessor {
  std::string type;  ///< "ViT", "DeiT", "Bit", "DINOv3ViT", "CLIP", "Siglip" or "Beit"
  bool do_resize = true;
  ResizeTarget size;
  Resample resample = Resample::kBilinear;
  bool do_center_crop = false;
  Size crop_size;
  bool do_rescale = true;
  double rescale_factor = 1.0 / 255.0;
  bool do_normalize = true;
  std::array<double, 3> mean = {0.5, 0.5, 0.5};
  std::array<double, 3> std = {0.5, 0.5, 0.5};
  bool rescale_first = false;         ///< DINOv3: resizing works on float and rounds nothing
  std::vector<std::string> warnings;  ///< for the user: what was assumed
};

/// `image_processor_type` or `feature_extractor_type` chooses the class (with or without Fast or
/// Pil at its end), and with it the value of every key that is absent; `model_type` (of
/// config.json) chooses when both are absent. Whatever the file says, pictures are converted to
/// RGB.
///
/// Throws kUnsupported, naming the key, for a class, a filter, a kind of size or a step that is not
/// known; kBadFile for values that make no sense.
Preprocessor read_preprocessor(const io::Config& config, std::string_view model_type = {});

/// Where a model has no preprocessor_config.json: resized to `image_size` whatever its ratio
/// (bilinear), and normalised with mean and standard deviation 0.5, which are the defaults of
/// transformers' ViTImageProcessor. `warnings` says so.
Preprocessor default_preprocessor(Size image_size);

/// The picture's size after resizing and after cropping. Throws kTooLarge above kMaxModelPixels.
Size resized_size(const Preprocessor& preprocessor, Size size);
Size output_size(const Preprocessor& preprocessor, Size size);

/// The model's input: [3, H, W]. A picture smaller than the crop gets a black border (of the colour
/// 0 before it is normalised), half of it rounded down above and on the left.
Pixels preprocess(const Image& image, const Preprocessor& preprocessor);

}  // namespace sinkscope::image
