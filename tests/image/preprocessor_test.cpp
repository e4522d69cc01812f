#include "sinkscope/image/preprocessor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sinkscope/image/image.h"
#include "tests/image/data.h"
#include "tests/io/files.h"

namespace sinkscope::image {
namespace {

using io::test::expect_error;
using nlohmann::json;

Preprocessor parse(const std::string& text, std::string_view model_type = {}) {
  return read_preprocessor(io::Config::parse(text, "p.json"), model_type);
}

Preprocessor vit(const std::string& keys) {
  return parse(R"({"image_processor_type": "ViTImageProcessor", )" + keys + "}");
}

json read_json(const std::string& name) {
  return json::parse(io::test::read_file(test::image_data(name)));
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(double{a[i]} - b[i]));
  return worst;
}

/// What a difference of one step of 8 bits becomes after normalising, at most.
double one_step(const Preprocessor& p) {
  double step = p.do_rescale ? p.rescale_factor : 1.0;
  if (p.do_normalize) step /= *std::min_element(p.std.begin(), p.std.end());
  return step;
}

/// How far the result may be from that of a backend of transformers 5.24, in normalised units.
///
/// Pillow (largest difference measured: 2.4e-7, the order of the float steps): the same pixels.
/// torchvision 0.26, the default (largest difference measured: 1 step of 8 bits): its resampler
/// takes 16-bit weights. DINOv3 resizes floats there (largest difference measured: 8.0e-6), and
/// without resizing, or with nearest, nothing is left to differ.
double tolerance(const std::string& config, const std::string& backend, const Preprocessor& p) {
  const bool same_pixels = p.rescale_first || !p.do_resize || p.resample == Resample::kNearest;
  if (backend == "pil" || same_pixels) return 4e-6 * std::max(1.0, 255 * one_step(p));
  return 1.001 * one_step(p);
}

TEST(Preprocess, EqualsTransformers) {
  const test::Expected expected("pixels.safetensors");
  ASSERT_GE(expected.all().size(), 50u);
  for (const io::TensorInfo& tensor : expected.all()) {
    SCOPED_TRACE(tensor.name);
    const size_t first = tensor.name.find(' '), second = tensor.name.rfind(' ');
    const std::string config = tensor.name.substr(0, first);
    const std::string backend = tensor.name.substr(second + 1);
    // Pillow's backend puts the larger half of an odd border first; the default is torchvision's.
    if (config == "deit_padded" && backend == "pil") continue;
    const Preprocessor p =
        read_preprocessor(io::Config::load(test::image_data("processors/" + config + ".json")));
    const Image image =
        read_image(test::image_data(tensor.name.substr(first + 1, second - first - 1)));
    const Pixels pixels = preprocess(image, p);
    ASSERT_EQ((std::vector<int64_t>{pixels.channels, pixels.height, pixels.width}), tensor.shape);
    EXPECT_EQ(output_size(p, {image.height, image.width}), (Size{pixels.height, pixels.width}));
    const double worst = largest_difference(pixels.values, expected.floats(tensor));
    EXPECT_LE(worst, tolerance(config, backend, p));
  }
}

Size size_of(const json& object) {
  return object.is_null() ? Size{} : Size{object.value("height", 0), object.value("width", 0)};
}

TEST(Preprocessor, AbsentKeysAreWhatTheClassSays) {
  const json all = read_json("defaults.json");
  ASSERT_EQ(all.size(), 7u);
  for (const auto& [name, wanted] : all.items()) {
    SCOPED_TRACE(name);
    for (const char* ending :
         {"ImageProcessor", "ImageProcessorFast", "ImageProcessorPil", "FeatureExtractor"}) {
      const Preprocessor p = parse(json{{"image_processor_type", name + ending}}.dump());
      EXPECT_EQ(p.type, name);
      EXPECT_EQ(p.do_resize, wanted["do_resize"]);
      EXPECT_EQ(p.size.exact, size_of(wanted["size"]));
      EXPECT_EQ(p.size.shortest_edge, wanted["size"].value("shortest_edge", 0));
      EXPECT_EQ(static_cast<int>(p.resample), wanted["resample"]);
      EXPECT_EQ(p.do_center_crop, wanted["do_center_crop"] == true);
      EXPECT_EQ(p.crop_size, size_of(wanted["crop_size"]));
      EXPECT_EQ(p.do_rescale, wanted["do_rescale"]);
      EXPECT_EQ(p.rescale_factor, wanted["rescale_factor"]);
      EXPECT_EQ(p.do_normalize, wanted["do_normalize"]);
      EXPECT_EQ(json(p.mean), wanted["image_mean"]);
      EXPECT_EQ(json(p.std), wanted["image_std"]);
      EXPECT_EQ(p.rescale_first, name == "DINOv3ViT");
    }
  }
}

TEST(Preprocessor, TheModelTypeChoosesWhereTheFileNamesNoClass) {
  EXPECT_EQ(parse("{}", "dinov2_with_registers").type, "Bit");
  EXPECT_EQ(parse("{}", "ijepa").type, "ViT");
  EXPECT_EQ(parse(R"({"feature_extractor_type": "CLIPFeatureExtractor"})", "vit").type, "CLIP");
  expect_error(ErrorKind::kUnsupported, {"p.json: key image_processor_type is missing", "convnext"},
               [] { parse("{}", "convnext"); });
}

TEST(Preprocessor, SizesKeepTheRatioAsTransformersDoes) {
  const json cases = read_json("sizes.json");
  ASSERT_GE(cases.size(), 30u);
  for (const json& c : cases) {
    Preprocessor p;
    p.size = {{}, c[2], c[3]};
    EXPECT_EQ(resized_size(p, {c[0], c[1]}), (Size{c[4], c[5]})) << c.dump();
  }
}

TEST(Preprocessor, AnIntegerIsBothSidesOrTheShorterOne) {
  EXPECT_EQ(vit(R"("size": 30)").size.exact, (Size{30, 30}));
  EXPECT_EQ(vit(R"("size": 30, "default_to_square": false)").size.shortest_edge, 30);
  EXPECT_EQ(
      parse(R"({"image_processor_type": "CLIPImageProcessor", "size": 30})").size.shortest_edge,
      30);
  EXPECT_EQ(vit(R"("size": [20, 30])").size.exact, (Size{20, 30}));
  EXPECT_EQ(vit(R"("size": {"shortest_edge": 30, "longest_edge": null})").size.shortest_edge, 30);
}

TEST(Preprocessor, WhatIsNotUnderstoodIsNamed) {
  const auto refused = [](ErrorKind kind, const std::string& keys, const std::string& says) {
    expect_error(kind, {"p.json", "key " + says}, [&] { vit(keys); });
  };
  using enum ErrorKind;
  refused(kUnsupported, R"("resample": 6)", "resample is 6");
  refused(kUnsupported, R"("resample": -1)", "resample is -1");
  refused(kBadFile, R"("resample": "bicubic")", "resample is");
  refused(kUnsupported, R"("size": {"longest_edge": 30})", "size is {\"longest_edge\":30}");
  refused(kUnsupported, R"("size": {"height": 30})", "size is {\"height\":30}");
  refused(kUnsupported, R"("size": {"height": 3, "width": 3, "shortest_edge": 3})", "size is {");
  refused(kUnsupported, R"("size": {"max_height": 3, "max_width": 3})", "size is {");
  refused(kBadFile, R"("size": {"height": 0, "width": 30})", "height is 0");
  refused(kBadFile, R"("size": 10000000000)", "size is 10000000000");
  refused(kBadFile, R"("size": [1, 2, 3])", "size has 3 elements");
  refused(kBadFile, R"("do_center_crop": true)", "crop_size must give height and width");
  refused(kBadFile, R"("do_center_crop": true, "crop_size": {"shortest_edge": 3})",
          "crop_size must");
  refused(kBadFile, R"("image_mean": [0.5])", "image_mean has 1 elements");
  refused(kBadFile, R"("image_std": [0.5, 0, 0.5])", "image_std holds 0");
  refused(kBadFile, R"("rescale_factor": 0)", "rescale_factor is 0");
  refused(kUnsupported, R"("do_pad": true)", "do_pad is true");
  expect_error(ErrorKind::kUnsupported,
               {"key image_processor_type names an unknown class, ConvNextImageProcessor", "Beit"},
               [] { parse(R"({"image_processor_type": "ConvNextImageProcessor"})"); });
}

TEST(Preprocess, OneNumberServesAllChannels) {
  const Image white{1, 1, {255, 255, 255}};
  const Preprocessor p = vit(R"("size": 1, "image_mean": 0.25, "image_std": 0.5)");
  EXPECT_EQ(preprocess(white, p).values, (std::vector<float>{1.5f, 1.5f, 1.5f}));
}

TEST(Preprocess, WithoutAConfigTheDefaultsAreTold) {
  const Preprocessor p = default_preprocessor({2, 3});
  ASSERT_EQ(p.warnings.size(), 1u);
  EXPECT_NE(p.warnings[0].find("3"), std::string::npos);
  const Pixels pixels = preprocess({1, 1, {0, 255, 51}}, p);
  EXPECT_EQ((Size{pixels.height, pixels.width}), (Size{2, 3}));
  EXPECT_FLOAT_EQ(pixels.values[0], -1.0f);
  EXPECT_FLOAT_EQ(pixels.values[6], 1.0f);
  EXPECT_FLOAT_EQ(pixels.values[17], -0.6f);
}

TEST(Preprocess, APictureThatWouldGrowTooLargeIsRefused) {
  const Preprocessor shortest = vit(R"("size": {"shortest_edge": 1000})");
  expect_error(ErrorKind::kTooLarge, {"resizing would make 131072000 x 1000"}, [&] {
    output_size(shortest, {1, 131'072});
  });
  const Preprocessor exact = vit(R"("size": 131072)");
  expect_error(ErrorKind::kTooLarge, {"16,777,216"}, [&] { preprocess({1, 1, {0, 0, 0}}, exact); });
  const Preprocessor as_is = vit(R"("do_resize": false)");
  EXPECT_EQ(output_size(as_is, {4096, 4096}), (Size{4096, 4096}));
  expect_error(ErrorKind::kTooLarge, {"5000 x 4096"}, [&] { output_size(as_is, {4096, 5000}); });
  const Preprocessor crop =
      vit(R"("do_center_crop": true, "crop_size": {"height": 131072, "width": 131072})");
  expect_error(ErrorKind::kTooLarge, {"cropping"}, [&] { output_size(crop, {10, 10}); });
}

}  // namespace
}  // namespace sinkscope::image
