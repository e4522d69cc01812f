#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sinkscope/model/family.h"

namespace sinkscope::model {

/// "{}" filled with the layer, "{e}" or "{h}" with the expert or head.
std::string expand_name(std::string_view pattern, int64_t layer, int64_t index = -1);

/// Whether the name has a place for the head: one tensor [K] for each.
bool per_head(std::string_view name);
/// Whether there is one such weight per expert.
bool per_expert(const WeightName& row);

int64_t length(const ModelSpec& spec, Dim dim);

/// Whether two values share a byte.
bool is_packed(Layout layout);
/// Of packed blocks: the tensor beside them that holds their scales.
std::string scales_name(std::string_view blocks_name);

/// The shape that a file of this format has, row-major. `stacked_experts`: one tensor for all.
std::vector<int64_t> stored_shape(const ModelSpec& spec, const WeightName& row, bool gguf,
                                  bool stacked_experts);

/// A tensor that hub files of a model have.
struct ExpectedTensor {
  std::string name;
  std::vector<int64_t> shape;
  const WeightName* row;
};

/// All of them, by the family's first naming.
std::vector<ExpectedTensor> expected_tensors(const Family& family, const ModelSpec& spec);

}  // namespace sinkscope::model
