#include "sinkscope/image/preprocessor.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "sinkscope/base/error.h"
#include "sinkscope/io/json_text.h"
#include "sinkscope/io/printable.h"

namespace sinkscope::image {

namespace {

using Triple = std::array<double, 3>;

constexpr char kOperation[] = "read preprocessor config";
constexpr Triple kHalf = {0.5, 0.5, 0.5};
constexpr Triple kImageNetMean = {0.485, 0.456, 0.406};
constexpr Triple kImageNetStd = {0.229, 0.224, 0.225};
constexpr Triple kClipMean = {0.48145466, 0.4578275, 0.40821073};
constexpr Triple kClipStd = {0.26862954, 0.26130258, 0.27577711};

/// What transformers' class of this name does where the file says nothing.
struct ClassDefaults {
  std::string_view type;
  Resample resample;
  Triple mean, std;
  ResizeTarget size;
  bool int_is_square;  ///< a size of one number: both sides, else the shorter one
  Size crop_size;      ///< 0: none
  bool do_center_crop;
  bool rescale_first;
};

// clang-format off
constexpr ClassDefaults kClasses[] = {
    {"ViT", Resample::kBilinear, kHalf, kHalf, {{224, 224}}, true, {}, false, false},
    {"DeiT", Resample::kBicubic, kHalf, kHalf, {{256, 256}}, true, {224, 224}, true, false},
    {"Bit", Resample::kBicubic, kClipMean, kClipStd, {{}, 224}, false, {224, 224}, true, false},
    {"DINOv3ViT", Resample::kBilinear, kImageNetMean, kImageNetStd, {{224, 224}}, true, {}, false, true},
    {"CLIP", Resample::kBicubic, kClipMean, kClipStd, {{}, 224}, false, {224, 224}, true, false},
    {"Siglip", Resample::kBicubic, kHalf, kHalf, {{224, 224}}, false, {}, false, false},
    {"Beit", Resample::kBicubic, kHalf, kHalf, {{224, 224}}, true, {224, 224}, false, false},
};

// The class that transformers' AutoImageProcessor takes for a model whose file names none.
constexpr std::pair<std::string_view, std::string_view> kClassOfModel[] = {
    {"vit", "ViT"}, {"vit_mae", "ViT"}, {"vit_msn", "ViT"}, {"ijepa", "ViT"}, {"deit", "DeiT"},
    {"dinov2", "Bit"}, {"dinov2_with_registers", "Bit"}, {"dinov3_vit", "DINOv3ViT"},
    {"clip", "CLIP"}, {"clip_vision_model", "CLIP"}, {"siglip", "Siglip"},
    {"siglip_vision_model", "Siglip"}, {"beit", "Beit"},
};
// clang-format on

[[noreturn]] void refuse(ErrorKind kind, const io::Config& config, std::string_view key,
                         const std::string& seen, const std::string& hint = {}) {
  throw Error(kind, kOperation, fmt::format("{}: key {} {}", config.where(), key, seen), hint);
}

const ClassDefaults* find_class(std::string_view name) {
  for (const ClassDefaults& entry : kClasses) {
    if (entry.type == name) return &entry;
  }
  return nullptr;
}

std::string known_classes() {
  std::string out;
  for (const ClassDefaults& entry : kClasses) {
    out += fmt::format("{}{}ImageProcessor", out.empty() ? "" : ", ", entry.type);
  }
  return out;
}

const ClassDefaults& class_of_model(const io::Config& config, std::string_view model_type) {
  for (const auto& [model, type] : kClassOfModel) {
    if (model == model_type) return *find_class(type);
  }
  refuse(ErrorKind::kUnsupported, config, "image_processor_type",
         fmt::format("is missing, and model type \"{}\" has no known image processor",
                     io::printable(model_type)),
         "add the key; known are " + known_classes());
}

const ClassDefaults& choose_class(const io::Config& config, std::string_view model_type) {
  const std::string_view key =
      config.has("image_processor_type") ? "image_processor_type" : "feature_extractor_type";
  if (!config.has(key)) return class_of_model(config, model_type);
  const std::string name = config.text({key});
  for (const std::string_view ending :
       {"ImageProcessorFast", "ImageProcessorPil", "ImageProcessor", "FeatureExtractor"}) {
    if (!name.ends_with(ending)) continue;
    const auto* found = find_class(std::string_view(name).substr(0, name.size() - ending.size()));
    if (found) return *found;
  }
  refuse(ErrorKind::kUnsupported, config, key,
         fmt::format("names an unknown class, {}", io::printable(name)),
         "known are " + known_classes());
}

int64_t side(const io::Config& config, std::string_view key, int64_t value) {
  if (value < 1 || value > kMaxSide) {
    refuse(ErrorKind::kBadFile, config, key,
           fmt::format("is {}; a side has 1 to {} pixels", value, io::grouped(kMaxSide)));
  }
  return value;
}

int64_t side(const io::Config& config, std::string_view key) {
  return side(config, key, config.integer({key}));
}

ResizeTarget read_size_object(const io::Config& config, std::string_view key,
                              const io::Config& object) {
  std::vector<std::string_view> known = {"height", "width"};
  if (object.has("shortest_edge")) {
    known = {"shortest_edge"};
    if (object.has("longest_edge")) known.push_back("longest_edge");
  }
  size_t present = 0;
  for (const auto& [name, value] : object.json().items()) present += !value.is_null();
  bool complete = present == known.size();
  for (const std::string_view name : known) complete = complete && object.has(name);
  if (!complete) {
    refuse(ErrorKind::kUnsupported, config, key,
           fmt::format("is {}", io::printable(object.json().dump())),
           "height and width, shortest_edge, or shortest_edge and longest_edge are supported");
  }
  if (known[0] == "height") return {{side(object, "height"), side(object, "width")}};
  const int64_t longest = known.size() == 2 ? side(object, "longest_edge") : 0;
  return {{}, side(object, "shortest_edge"), longest};
}

/// nullopt when the key is absent.
std::optional<ResizeTarget> read_size(const io::Config& config, std::string_view key,
                                      bool int_is_square) {
  if (!config.has(key)) return std::nullopt;
  const nlohmann::json& value = *config.json().find(key);
  if (value.is_object()) return read_size_object(config, key, *config.child(key));
  if (value.is_array()) {
    const std::vector<int64_t> sides = config.integers(key);
    if (sides.size() != 2) {
      refuse(ErrorKind::kBadFile, config, key,
             fmt::format("has {} elements; height and width are expected", sides.size()));
    }
    return ResizeTarget{{side(config, key, sides[0]), side(config, key, sides[1])}};
  }
  const int64_t edge = side(config, key);
  return int_is_square ? ResizeTarget{{edge, edge}} : ResizeTarget{{}, edge};
}

Resample read_resample(const io::Config& config, Resample fallback) {
  const int64_t number = config.integer({"resample"}, static_cast<int64_t>(fallback));
  if (number < 0 || number > static_cast<int64_t>(Resample::kHamming)) {
    refuse(ErrorKind::kUnsupported, config, "resample", fmt::format("is {}", number),
           "0 nearest, 1 lanczos, 2 bilinear, 3 bicubic, 4 box and 5 hamming are known");
  }
  return static_cast<Resample>(number);
}

/// Three numbers, or one for all channels.
Triple read_channels(const io::Config& config, std::string_view key, const Triple& fallback) {
  if (!config.has(key)) return fallback;
  if (!config.json().find(key)->is_array()) {
    const double value = config.number({key});
    return {value, value, value};
  }
  const std::vector<double> values = config.numbers(key);
  if (values.size() != 3) {
    refuse(ErrorKind::kBadFile, config, key,
           fmt::format("has {} elements, one per channel (3) is expected", values.size()));
  }
  return {values[0], values[1], values[2]};
}

void read_crop(const io::Config& config, const ClassDefaults& defaults, Preprocessor& out) {
  out.do_center_crop = config.flag({"do_center_crop"}, defaults.do_center_crop);
  const ResizeTarget crop = read_size(config, "crop_size", /*int_is_square=*/true)
                                .value_or(ResizeTarget{defaults.crop_size});
  out.crop_size = crop.exact;
  if (out.do_center_crop && out.crop_size.height == 0) {
    refuse(ErrorKind::kBadFile, config, "crop_size",
           "must give height and width, since do_center_crop is true");
  }
}

void read_scaling(const io::Config& config, const ClassDefaults& defaults, Preprocessor& out) {
  out.do_rescale = config.flag({"do_rescale"}, true);
  out.rescale_factor = config.number({"rescale_factor"}, out.rescale_factor);
  out.do_normalize = config.flag({"do_normalize"}, true);
  out.mean = read_channels(config, "image_mean", defaults.mean);
  out.std = read_channels(config, "image_std", defaults.std);
  if (out.do_rescale && !(out.rescale_factor > 0)) {
    refuse(ErrorKind::kBadFile, config, "rescale_factor",
           fmt::format("is {}, it must be positive", out.rescale_factor));
  }
  for (const double deviation : out.std) {
    if (out.do_normalize && !(deviation > 0)) {
      refuse(ErrorKind::kBadFile, config, "image_std",
             fmt::format("holds {}, deviations are positive", deviation));
    }
  }
}

}  // namespace

Preprocessor read_preprocessor(const io::Config& config, std::string_view model_type) {
  const ClassDefaults& defaults = choose_class(config, model_type);
  if (config.flag({"do_pad"}, false)) {
    refuse(ErrorKind::kUnsupported, config, "do_pad", "is true; padding a batch is not supported");
  }
  Preprocessor out;
  out.type = defaults.type;
  out.rescale_first = defaults.rescale_first;
  out.do_resize = config.flag({"do_resize"}, true);
  const bool int_is_square = config.flag({"default_to_square"}, defaults.int_is_square);
  out.size = read_size(config, "size", int_is_square).value_or(defaults.size);
  out.resample = read_resample(config, defaults.resample);
  read_crop(config, defaults, out);
  read_scaling(config, defaults, out);
  return out;
}

Preprocessor default_preprocessor(Size image_size) {
  Preprocessor out;
  out.type = "ViT";
  out.size.exact = image_size;
  out.warnings.push_back(fmt::format(
      "no preprocessor_config.json: pictures are resized to {} x {} (height x width, bilinear) and "
      "normalised with mean 0.5 and standard deviation 0.5",
      image_size.height, image_size.width));
  return out;
}

}  // namespace sinkscope::image
