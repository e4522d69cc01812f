#pragma once

#include <string>
#include <vector>

#include "sinkscope/app/inputs.h"

namespace sinkscope::app {

/// The inputs of an image model: files and folders of --images through the model's
/// preprocessor_config.json, or --pixels as they are. Every file is read once here, so that a
/// damaged one is refused before the run, and again when its turn comes. Throws kUsage when there
/// is nothing, or text for an image model.
Inputs read_images(const InputOptions& options, const model::Model& model);

/// "CLS", "distillation", "register 0", "patch (2, 5)": the tokens of an image in order.
std::vector<std::string> image_labels(const model::Vision& vision, forward::PatchGrid grid);

}  // namespace sinkscope::app
