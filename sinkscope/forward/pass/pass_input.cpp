// From ids and pixels to the residual that enters the first block.

#include <ATen/ATen.h>

#include <array>

#include "sinkscope/forward/kernels/linear.h"
#include "sinkscope/forward/pass/pass.h"

namespace sinkscope::forward {

using model::Positions;

void Pass::lay_out() {
  for (size_t s = 0; s < streams_.size(); ++s) {
    check_stream(spec_, streams_[s], s);
    const int64_t length = tokens_of(spec_, streams_[s]);
    whole_.push_back({static_cast<int64_t>(s), 0, rows_, length});
    documents_.emplace_back(streams_[s]);
    rows_ += length;
  }
  for (const Fork& fork : forks_) check_fork(spec_, fork, streams_);
}

void Pass::embed() {
  if (spec_.is_vision()) {
    resid_ = at::empty({rows_, spec_.width}, at::kFloat);
    for (const Segment& s : whole_) {
      resid_.narrow(0, s.first_row, s.rows)
          .copy_(embed_image(streams_[static_cast<size_t>(s.stream)]));
    }
  } else {
    resid_ = embed_rows();
  }
  if (spec_.positions == Positions::kFirstNorm) first_norm_positions_ = position_rows();
  resid_ = normed(resid_, model_.weights().load_norm("embed_norm"));
  offer(Tap::kEmbed, 0, resid_, 0);
}

at::Tensor Pass::position_rows() const {
  const model::Weights& weights = model_.weights();
  const auto offset = static_cast<int32_t>(spec_.position_offset);
  std::vector<int32_t> positions;
  for (const Stream& stream : streams_) {
    for (const int32_t p : positions_of(stream, tokens_of(spec_, stream)))
      positions.push_back(p + offset);
  }
  at::Tensor x = weights.has("positions") ? weights.rows("positions", positions)
                                          : at::zeros({rows_, spec_.width}, at::kFloat);
  if (!spec_.first_token) return x;
  const at::Tensor first = weights.load("first_token");
  for (int64_t row = 0; row < rows_; ++row) {
    if (positions[static_cast<size_t>(row)] == offset) x[row].add_(first);
  }
  return x;
}

at::Tensor Pass::embed_rows() const {
  const model::Weights& weights = model_.weights();
  std::vector<int32_t> ids, types;
  std::vector<at::Tensor> vectors;
  for (const Stream& stream : streams_) {
    ids.insert(ids.end(), stream.ids.begin(), stream.ids.end());
    types.insert(types.end(), stream.token_types.begin(), stream.token_types.end());
    types.resize(ids.size(), 0);
    if (spec_.vectors) vectors.push_back(stream.vectors);
  }
  at::Tensor x = spec_.vectors ? at::cat(vectors) : weights.rows("embed", ids);
  if (spec_.embed_scale != 1) x.mul_(spec_.embed_scale);
  if (weights.has("embed_project")) {
    const model::Linear project = weights.load_matrix("embed_project", at::kFloat);
    x = kernels::linear(x, project.weight, project.bias);
  }
  const bool before_norm = spec_.positions == Positions::kLearned ||
                           (spec_.first_token && spec_.positions != Positions::kFirstNorm);
  if (before_norm) x.add_(position_rows());
  if (spec_.token_types > 0) x.add_(weights.rows("token_types", types));
  return x;
}

at::Tensor Pass::grid_positions(PatchGrid grid) const {
  const model::Vision& vision = spec_.vision;
  const int64_t prefix = vision.prefix_positions, native_rows = vision.image_height / vision.patch,
                native_columns = vision.image_width / vision.patch;
  const at::Tensor table = model_.weights().load("positions");
  if (grid.rows == native_rows && grid.columns == native_columns) return table;
  const at::Tensor map = table.slice(0, prefix)
                             .view({1, native_rows, native_columns, spec_.width})
                             .permute({0, 3, 1, 2});
  const std::array<int64_t, 2> size = {grid.rows, grid.columns};
  // To the size, not by a factor: the reference rounds neither up nor down.
  const at::Tensor resized = vision.antialias ? at::_upsample_bicubic2d_aa(map, size, false)
                                              : at::upsample_bicubic2d(map, size, false);
  return at::cat({table.slice(0, 0, prefix),
                  resized.permute({0, 2, 3, 1}).reshape({grid.rows * grid.columns, spec_.width})});
}

at::Tensor Pass::embed_image(const Stream& stream) const {
  const model::Vision& vision = spec_.vision;
  const model::Weights& weights = model_.weights();
  const int64_t p = vision.patch;
  const PatchGrid grid = grid_of(spec_, stream);
  const at::Tensor pixels = stream.pixels.slice(1, 0, grid.rows * p)
                                .slice(2, 0, grid.columns * p)
                                .reshape({vision.channels, grid.rows, p, grid.columns, p})
                                .permute({1, 3, 0, 2, 4})
                                .reshape({grid.rows * grid.columns, vision.patch_inputs()});
  const model::Linear project = weights.load_matrix("patch", at::kFloat);
  at::Tensor patches = kernels::linear(pixels, project.weight, project.bias);
  std::vector<at::Tensor> prefix;
  for (const char* name : {"class_token", "distillation_token", "registers"}) {
    if (weights.has(name)) prefix.push_back(weights.load(name).view({-1, spec_.width}));
  }
  if (spec_.positions == Positions::kPatchGrid) {
    const at::Tensor positions = grid_positions(grid);
    patches.add_(positions.slice(0, vision.prefix_positions));
    for (int64_t i = 0; i < vision.prefix_positions; ++i)
      prefix[static_cast<size_t>(i)] = prefix[static_cast<size_t>(i)] + positions[i];
  }
  prefix.push_back(patches);
  return at::cat(prefix);
}

}  // namespace sinkscope::forward
