#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sinkscope/model/model_spec.h"

namespace sinkscope::model {

/// The value of model_type of the models that `train` makes.
inline constexpr std::string_view kLabType = "sinkscope_lab";

/// config.json of a lab model: reading it gives `spec` again. Facts that these models do not have
/// (rotary positions, experts, images) are not in it.
nlohmann::ordered_json lab_config(const ModelSpec& spec);

}  // namespace sinkscope::model
