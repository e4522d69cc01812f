#include "sinkscope/app/images.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "sinkscope/app/choose.h"
#include "sinkscope/base/error.h"
#include "sinkscope/base/sha256.h"
#include "sinkscope/image/files.h"
#include "sinkscope/image/preprocessor.h"

namespace sinkscope::app {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& seen, const std::string& hint = {}) {
  throw Error(ErrorKind::kUsage, "read inputs", seen, hint);
}

forward::Stream stream_of(const image::Pixels& pixels) {
  forward::Stream stream;
  stream.pixels = at::tensor(pixels.values).view({pixels.channels, pixels.height, pixels.width});
  return stream;
}

image::Preprocessor preprocessor_of(const model::Model& model, Inputs& inputs) {
  const fs::path file = model.path() / "preprocessor_config.json";
  const model::Vision& vision = model.spec().vision;
  std::error_code ignored;
  const image::Preprocessor preprocessor =
      fs::exists(file, ignored)
          ? image::read_preprocessor(io::Config::load(file), model.spec().family)
          : image::default_preprocessor({vision.image_height, vision.image_width});
  inputs.warnings.insert(inputs.warnings.end(), preprocessor.warnings.begin(),
                         preprocessor.warnings.end());
  return preprocessor;
}

/// Adds one image whose stream is `made`; the grid goes into `grids` for its labels.
class Collector {
 public:
  Collector(const model::ModelSpec& spec, Inputs& inputs) : spec_(spec), inputs_(inputs) {}

  void add(const std::string& source, int64_t place, const image::Pixels& pixels) {
    const forward::Stream stream = stream_of(pixels);
    const auto id = static_cast<int64_t>(inputs_.sequences.size());
    forward::check_stream(spec_, stream, static_cast<size_t>(id));
    grids_.push_back(forward::grid_of(spec_, stream));
    const int64_t p = spec_.vision.patch;
    if (pixels.height % p != 0 || pixels.width % p != 0) cropped_ += 1;
    store::SequenceInfo info{id, source, place, {}, forward::tokens_of(spec_, stream)};
    inputs_.sequences.push_back(std::move(info));
    const std::array<int64_t, 3> shape = {pixels.channels, pixels.height, pixels.width};
    hashes_ += sha256_bytes(std::as_bytes(std::span(shape))) +
               sha256_bytes(std::as_bytes(std::span(pixels.values)));
  }

  void finish() {
    inputs_.sha256 = sha256_bytes(std::as_bytes(std::span(hashes_)));
    inputs_.available = std::max(inputs_.available, std::ssize(inputs_.sequences));
    if (cropped_ > 0) {
      inputs_.warnings.push_back(
          fmt::format("{} image(s) are no multiple of the {}-pixel patch: right and bottom edges "
                      "were cut to whole patches (the first gives {} x {})",
                      cropped_, spec_.vision.patch, grids_.front().rows, grids_.front().columns));
    }
    inputs_.prefix_tokens = spec_.vision.prefix();
    const bool same = std::all_of(grids_.begin(), grids_.end(), [&](const forward::PatchGrid& g) {
      return g.rows == grids_.front().rows && g.columns == grids_.front().columns;
    });
    if (same && !grids_.empty()) inputs_.patch_grid = grids_.front();
    inputs_.labels = [vision = spec_.vision, grids = grids_](const store::SequenceInfo& sequence) {
      return image_labels(vision, grids[static_cast<size_t>(sequence.id)]);
    };
  }

 private:
  const model::ModelSpec& spec_;
  Inputs& inputs_;
  std::vector<forward::PatchGrid> grids_;
  std::string hashes_;
  int64_t cropped_ = 0;
};

Inputs read_files(const InputOptions& options, const model::Model& model) {
  Inputs inputs;
  inputs.kind = "images";
  std::vector<fs::path> files;
  for (const std::string& argument : options.images) {
    std::error_code ignored;
    if (!fs::exists(argument, ignored)) {
      refuse("--images " + argument + ": no such file or folder", "give PNG or JPEG files");
    }
    image::ImageFiles found = image::image_files(argument);
    files.insert(files.end(), found.files.begin(), found.files.end());
    inputs.skipped += std::ssize(found.skipped);
  }
  if (inputs.skipped > 0) {
    inputs.warnings.push_back(
        fmt::format("{} file(s) without .png, .jpg or .jpeg were skipped", inputs.skipped));
  }
  inputs.available = std::ssize(files);
  const image::Preprocessor preprocessor = preprocessor_of(model, inputs);
  Collector collector(model.spec(), inputs);
  for (const int64_t i : choose(std::ssize(files), options.max_seqs, options.seed)) {
    const fs::path& file = files[static_cast<size_t>(i)];
    collector.add(file.string(), 0, image::preprocess(image::read_image(file), preprocessor));
  }
  collector.finish();
  inputs.stream = [preprocessor](const store::SequenceInfo& sequence) {
    return stream_of(image::preprocess(image::read_image(sequence.source), preprocessor));
  };
  return inputs;
}

Inputs read_arrays(const InputOptions& options, const model::Model& model) {
  Inputs inputs;
  inputs.kind = "pixels";
  const auto all = std::make_shared<std::vector<image::Pixels>>();
  std::vector<std::pair<std::string, int64_t>> places;
  for (const std::string& file : options.pixels) {
    std::error_code ignored;
    if (!fs::exists(file, ignored)) {
      refuse("--pixels " + file + ": no such file", "give a .npy or .safetensors file");
    }
    int64_t place = 0;
    for (image::Pixels& pixels : image::read_pixels(file)) {
      places.emplace_back(file, place++);
      all->push_back(std::move(pixels));
    }
  }
  inputs.available = std::ssize(places);
  Collector collector(model.spec(), inputs);
  std::vector<int64_t> chosen = choose(std::ssize(places), options.max_seqs, options.seed);
  for (const int64_t i : chosen) {
    const auto& [file, place] = places[static_cast<size_t>(i)];
    collector.add(file, place, (*all)[static_cast<size_t>(i)]);
  }
  collector.finish();
  inputs.stream = [all, chosen](const store::SequenceInfo& sequence) {
    const int64_t place = chosen[static_cast<size_t>(sequence.id)];
    return stream_of((*all)[static_cast<size_t>(place)]);
  };
  return inputs;
}

}  // namespace

std::vector<std::string> image_labels(const model::Vision& vision, forward::PatchGrid grid) {
  std::vector<std::string> labels;
  if (vision.class_token) labels.push_back("CLS");
  if (vision.distillation_token) labels.push_back("distillation");
  for (int64_t r = 0; r < vision.registers; ++r) labels.push_back(fmt::format("register {}", r));
  for (int64_t row = 0; row < grid.rows; ++row) {
    for (int64_t column = 0; column < grid.columns; ++column) {
      labels.push_back(fmt::format("patch ({}, {})", row, column));
    }
  }
  return labels;
}

Inputs read_images(const InputOptions& options, const model::Model& model) {
  if (options.max_seqs < 1) refuse(fmt::format("--max-seqs {}: at least 1", options.max_seqs));
  if (!options.files.empty() || !options.prompts.empty() || !options.tokens.empty()) {
    refuse(model.spec().family + " reads images, not text", "give --images or --pixels");
  }
  if (options.images.empty() == options.pixels.empty()) {
    refuse(options.images.empty() ? "nothing to measure" : "--images together with --pixels",
           "give --images FILE|FOLDER, or --pixels FILE");
  }
  return options.images.empty() ? read_arrays(options, model) : read_files(options, model);
}

}  // namespace sinkscope::app
