#include "sinkscope/model/weight_shapes.h"

#include <algorithm>

namespace sinkscope::model {

std::string expand_name(std::string_view pattern, int64_t layer, int64_t index) {
  std::string name(pattern);
  const auto fill = [&name](std::string_view hole, int64_t number) {
    const size_t place = name.find(hole);
    if (place != std::string::npos) name.replace(place, hole.size(), std::to_string(number));
  };
  fill("{}", layer);
  fill("{e}", index);
  fill("{h}", index);
  return name;
}

bool per_head(std::string_view name) { return name.find("{h}") != std::string_view::npos; }

bool per_expert(const WeightName& row) {
  return row.ours.find(".experts.") != std::string_view::npos;
}

bool is_packed(Layout layout) {
  return layout == Layout::kMxfp4 || layout == Layout::kMxfp4Interleaved;
}

std::string scales_name(std::string_view blocks_name) {
  return std::string(blocks_name.substr(0, blocks_name.rfind('_'))) + "_scales";
}

namespace {

int64_t gate_rows(Gate gate, const ModelSpec& spec, int64_t heads) {
  return gate == Gate::kHeadwise ? heads : heads * spec.head_width;
}

}  // namespace

int64_t length(const ModelSpec& spec, Dim dim) {
  const Vision& vision = spec.vision;
  const int64_t grid_height = vision.patch > 0 ? vision.image_height / vision.patch : 0,
                grid_width = vision.patch > 0 ? vision.image_width / vision.patch : 0;
  switch (dim) {
    case Dim::kNone:
    case Dim::kOne: return 1;
    case Dim::kVocabulary: return spec.vocabulary;
    case Dim::kWidth: return spec.width;
    case Dim::kEmbedWidth: return spec.embed_width > 0 ? spec.embed_width : spec.width;
    case Dim::kQueries: return spec.query_width();
    case Dim::kKeys: return spec.key_width();
    case Dim::kQkv: return spec.query_width() + 2 * spec.key_width();
    case Dim::kQueriesGate: return 2 * spec.query_width();
    case Dim::kHeads: return spec.heads;
    case Dim::kHeadWidth: return spec.head_width;
    case Dim::kMlp: return spec.mlp_width;
    case Dim::kGateUp: return 2 * spec.mlp_width;
    case Dim::kExperts: return spec.experts.count;
    case Dim::kExpertMlp: return spec.experts.width;
    case Dim::kExpertGateUp: return 2 * spec.experts.width;
    case Dim::kSharedMlp: return spec.experts.shared_width;
    case Dim::kPositions:
      return spec.is_vision() ? vision.prefix_positions + grid_height * grid_width
                              : spec.context + spec.position_offset;
    case Dim::kTokenTypes: return spec.token_types;
    case Dim::kRegisters: return vision.registers;
    case Dim::kPatchInputs: return vision.patch_inputs();
    case Dim::kClasses: return spec.classes;
    case Dim::kTwoWidth: return 2 * spec.width;
    case Dim::kThreeWidth: return 3 * spec.width;
    case Dim::kPathway: return spec.pathway;
    case Dim::kOutputGate: return gate_rows(spec.output_gate, spec, spec.heads);
    case Dim::kKeyGate: return gate_rows(spec.key_gate, spec, spec.kv_heads);
    case Dim::kValueGate: return gate_rows(spec.value_gate, spec, spec.kv_heads);
    case Dim::kRelative: return (2 * grid_height - 1) * (2 * grid_width - 1) + 3;
  }
  return 1;
}

std::vector<int64_t> stored_shape(const ModelSpec& spec, const WeightName& row, bool gguf,
                                  bool stacked_experts) {
  std::vector<int64_t> shape = {length(spec, row.rows)};
  if (row.columns != Dim::kNone) shape.push_back(length(spec, row.columns));
  const bool transposed = row.layout == Layout::kTransposed ||
                          row.layout == Layout::kInterleavedColumns ||
                          row.layout == Layout::kTransposedExperts;
  if (!gguf && transposed && shape.size() == 2) std::swap(shape[0], shape[1]);
  if (!gguf && is_packed(row.layout)) shape.back() /= 2;
  if (stacked_experts) shape.insert(shape.begin(), spec.experts.count);
  return shape;
}

std::vector<ExpectedTensor> expected_tensors(const Family& family, const ModelSpec& spec) {
  std::vector<ExpectedTensor> expected;
  for (int64_t layer = -1; layer < spec.layers; ++layer) {
    std::vector<std::string_view> seen;  // a second row of one name is an alternative
    for (const WeightName& row : family.weights) {
      if (row.ours.starts_with("blocks.") != (layer >= 0) || row.safetensors.empty() ||
          !row.when(spec, std::max<int64_t>(layer, 0)) ||
          std::find(seen.begin(), seen.end(), row.ours) != seen.end()) {
        continue;
      }
      seen.push_back(row.ours);
      const bool each = row.safetensors.find("{e}") != std::string_view::npos;
      std::vector<int64_t> shape = stored_shape(spec, row, false, per_expert(row) && !each);
      int64_t copies = each ? spec.experts.count : 1;
      if (per_head(row.safetensors)) {
        copies = shape.front() / spec.head_width;
        shape = {spec.head_width};
      }
      for (int64_t i = 0; i < copies; ++i) {
        expected.push_back({expand_name(row.safetensors, layer, i), shape, &row});
      }
    }
  }
  return expected;
}

}  // namespace sinkscope::model
