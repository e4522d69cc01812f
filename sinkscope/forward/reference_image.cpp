#include "sinkscope/forward/reference_image.h"

#include <ATen/ATen.h>

namespace sinkscope::forward::reference {

using model::Positions;

at::Tensor embed_image(const model::Model& model, const Stream& stream, at::ScalarType type) {
  const model::ModelSpec& spec = model.spec();
  const auto cast = [type](const at::Tensor& t) { return t.to(type); };
  const model::Vision& vision = spec.vision;
  const model::Weights& weights = model.weights();
  const model::Linear project = weights.load_matrix("patch", at::kFloat);
  at::Tensor patches =
      at::conv2d(cast(stream.pixels).unsqueeze(0),
                 cast(project.weight).view({-1, vision.channels, vision.patch, vision.patch}),
                 project.bias.defined() ? cast(project.bias) : at::Tensor(), vision.patch);
  const int64_t rows = patches.size(2), columns = patches.size(3);
  patches = patches[0].flatten(1).t();
  std::vector<at::Tensor> parts;
  for (const char* name : {"class_token", "distillation_token", "registers"}) {
    if (weights.has(name)) parts.push_back(cast(weights.load(name)).view({-1, spec.width}));
  }
  if (spec.positions == Positions::kPatchGrid) {
    const at::Tensor table = cast(weights.load("positions"));
    const int64_t prefix = vision.prefix_positions;
    at::Tensor map = table.slice(0, prefix)
                         .view({1, vision.image_height / vision.patch, -1, spec.width})
                         .permute({0, 3, 1, 2});
    if (map.size(2) != rows || map.size(3) != columns) {
      map = vision.antialias ? at::_upsample_bicubic2d_aa(map, {rows, columns}, false)
                             : at::upsample_bicubic2d(map, {rows, columns}, false);
    }
    patches = patches + map[0].flatten(1).t();
    for (int64_t i = 0; i < prefix; ++i)
      parts[static_cast<size_t>(i)] = parts[static_cast<size_t>(i)] + table[i];
  }
  parts.push_back(patches);
  return at::cat(parts);
}

at::Tensor relative_bias(const model::Model& model, const Stream& stream, int64_t layer,
                         at::ScalarType type) {
  const model::ModelSpec& spec = model.spec();
  const auto cast = [type](const at::Tensor& t) { return t.to(type); };
  const int64_t tokens = tokens_of(spec, stream);
  at::Tensor table = at::zeros({1}, type);
  if (spec.shared_relative_bias) table = table + cast(model.weights().load("relative_bias"));
  if (spec.relative_bias) {
    table = table + cast(model.weights().load("blocks.{}.relative_bias", layer));
  }
  const PatchGrid grid = grid_of(spec, stream);
  const int64_t rows = spec.vision.image_height / spec.vision.patch;
  if (grid.rows != rows || grid.columns != spec.vision.image_width / spec.vision.patch) {
    const at::Tensor map = table.slice(0, 0, -3).t().view({1, spec.heads, 2 * rows - 1, -1});
    const at::Tensor resized =
        at::upsample_bilinear2d(map, {2 * grid.rows - 1, 2 * grid.columns - 1}, false);
    table = at::cat({resized.view({spec.heads, -1}).t(), table.slice(0, -3)});
  }
  const at::Tensor patch = at::arange(grid.rows * grid.columns);
  const at::Tensor row = at::div(patch, grid.columns, "floor"), column = patch % grid.columns;
  const auto offsets = [](const at::Tensor& of, int64_t count) {
    return of.unsqueeze(1) - of.unsqueeze(0) + (count - 1);
  };
  const at::Tensor inner =
      offsets(row, grid.rows) * (2 * grid.columns - 1) + offsets(column, grid.columns);
  const int64_t entries = table.size(0);
  at::Tensor index = at::full({tokens, tokens}, entries - 1, at::kLong);
  index.slice(0, 1).slice(1, 1).copy_(inner);
  index[0].slice(0, 1).fill_(entries - 3);
  index.select(1, 0).slice(0, 1).fill_(entries - 2);
  return table.index_select(0, index.flatten()).view({tokens, tokens, -1}).permute({2, 0, 1});
}

}  // namespace sinkscope::forward::reference
