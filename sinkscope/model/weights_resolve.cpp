// Which tensor of a file is which weight: the half of Weights that runs when a model is opened.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sinkscope/base/error.h"
#include "sinkscope/io/mxfp4.h"
#include "sinkscope/model/weight_shapes.h"
#include "sinkscope/model/weights.h"

namespace sinkscope::model {
namespace {

/// A shape as the file's format writes it: GGUF counts dimensions from the innermost.
std::string shape_text(std::vector<int64_t> shape, bool gguf) {
  if (gguf) std::reverse(shape.begin(), shape.end());
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// `shape` without leading dimensions of 1 and with the trailing ones joined, down to `dimensions`:
/// a position table [1, N, D] is a matrix, a patch projection [D, C, P, P] too.
std::vector<int64_t> reduced(std::vector<int64_t> shape, size_t dimensions) {
  while (shape.size() > dimensions && shape.front() == 1) shape.erase(shape.begin());
  while (shape.size() > std::max<size_t>(dimensions, 1)) {
    const int64_t last = shape.back();
    shape.pop_back();
    shape.back() *= last;
  }
  return shape;
}

[[noreturn]] void refuse_missing(const io::TensorSource& source, const std::string& name,
                                 std::string_view why = {}) {
  throw Error(ErrorKind::kBadFile, "find the model's weights",
              fmt::format("{}: tensor {} is missing{}", source.files().front().string(), name, why),
              "the file may be incomplete or of another model");
}

[[noreturn]] void refuse_shape(const io::TensorSource& source, const std::string& name,
                               const std::vector<int64_t>& found,
                               const std::vector<int64_t>& expected, bool gguf) {
  throw Error(ErrorKind::kBadFile, "find the model's weights",
              fmt::format("{}: tensor {}: shape {}, expected {}", source.files().front().string(),
                          name, shape_text(found, gguf), shape_text(expected, gguf)),
              "the sizes in the model's configuration do not fit its weights");
}

}  // namespace

std::string Weights::key(std::string_view ours, int64_t layer, int64_t expert) {
  std::string key = expand_name(ours, layer);
  if (expert >= 0) key += fmt::format("#{}", expert);
  return key;
}

Weights::Weights(std::shared_ptr<const io::TensorSource> source, const Family& family,
                 const ModelSpec& spec, Options options)
    : source_(std::move(source)),
      family_(family),
      spec_(spec),
      options_(options),
      gguf_(source_->format() == "gguf") {
  // A family may have two ways to name its weights; the first row of each is always there.
  const bool other = !gguf_ && !family.other_weights.empty() &&
                     source_->find(family.other_weights.front().safetensors);
  table_ = other ? family.other_weights : family.weights;
  resolve_all(-1);
  for (int64_t layer = 0; layer < spec.layers; ++layer) resolve_all(layer);
}

/// The rows outside the blocks for layer -1. Rows of one name are alternatives.
void Weights::resolve_all(int64_t layer) {
  std::vector<std::vector<const WeightName*>> groups;
  for (const WeightName& row : table_) {
    if (row.ours.starts_with("blocks.") != (layer >= 0) || name_of(row).empty()) continue;
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& g) { return g.front()->ours == row.ours; });
    if (same == groups.end()) {
      groups.push_back({&row});
    } else {
      same->push_back(&row);
    }
  }
  for (const auto& group : groups) resolve(group, std::max<int64_t>(layer, 0));
}

const io::TensorInfo* Weights::find_in_file(const WeightName& row, int64_t layer, int64_t index,
                                            std::string& name) const {
  name = expand_name(name_of(row), layer, index);
  const io::TensorInfo* tensor = source_->find(name);
  const std::string_view prefix = family_.optional_prefix;
  if (tensor || gguf_ || prefix.empty() || !name.starts_with(prefix)) return tensor;
  const std::string inner = name.substr(prefix.size());
  if ((tensor = source_->find(inner))) return name = inner, tensor;
  for (const std::string_view other : family_.other_prefixes) {
    const std::string candidate = std::string(other) + inner;
    if ((tensor = source_->find(candidate))) return name = candidate, tensor;
  }
  return nullptr;
}

void Weights::resolve(std::span<const WeightName* const> alternatives, int64_t layer) {
  const WeightName* missing = nullptr;
  for (const WeightName* row : alternatives) {
    std::string name;
    const int64_t first_expert = per_expert(*row) ? 0 : -1;
    const io::TensorInfo* tensor = find_in_file(*row, layer, 0, name);
    if (!row->when(spec_, layer)) {
      if (tensor && row->when == when::untied) {
        notes_.push_back(name + " is in the file but the head is tied to the embedding: not used");
      }
      continue;
    }
    if (tensor) {
      if (per_head(name_of(*row))) return add_pieces(*row, layer);
      add(*row, layer, first_expert, *tensor, name);
      for (int64_t e = 1; per_expert(*row) && e < spec_.experts.count; ++e) {
        tensor = find_in_file(*row, layer, e, name);
        if (!tensor) refuse_missing(*source_, name);
        add(*row, layer, e, *tensor, name);
      }
      return;
    }
    if (!row->optional && !missing) missing = row;
  }
  if (!missing) return;
  const bool untied = missing->when == when::untied;
  refuse_missing(*source_, expand_name(name_of(*missing), layer, 0),
                 untied && !gguf_ ? " (config.json says untied)" : "");
}

/// A vector that the file holds as one tensor [K] per head.
void Weights::add_pieces(const WeightName& row, int64_t layer) {
  Entry entry{nullptr, &row, 0, length(spec_, row.rows), 1};
  for (int64_t h = 0; h < length(spec_, row.rows) / spec_.head_width; ++h) {
    std::string name;
    const io::TensorInfo* tensor = find_in_file(row, layer, h, name);
    if (!tensor) refuse_missing(*source_, name);
    if (tensor->elements() != spec_.head_width) {
      refuse_shape(*source_, name, tensor->shape, {spec_.head_width}, gguf_);
    }
    entry.pieces.push_back(tensor);
    parameters_ += tensor->elements();
  }
  entry.tensor = entry.pieces.front();
  entries_[key(row.ours, layer, -1)] = entry;
}

/// Both tensors of a packed weight are bytes, and there is a scale for every block of 32.
void Weights::check_packed(const io::TensorInfo& blocks,
                           const std::vector<int64_t>& expected) const {
  const std::string name = scales_name(blocks.name);
  const io::TensorInfo* scales = source_->find(name);
  if (!scales) refuse_missing(*source_, name);
  std::vector<int64_t> of_scales = expected;
  of_scales.back() /= io::kMxfp4Block / 2;
  if (scales->shape != of_scales || expected.back() % (io::kMxfp4Block / 2) != 0) {
    refuse_shape(*source_, name, scales->shape, of_scales, gguf_);
  }
  for (const io::TensorInfo* tensor : {&blocks, scales}) {
    if (tensor->dtype == io::DType::kU8) continue;
    throw Error(ErrorKind::kBadFile, "find the model's weights",
                fmt::format("{}: tensor {} is {}, expected U8", source_->files().front().string(),
                            tensor->name, io::dtype_name(tensor->dtype)),
                "the file is no MXFP4 model");
  }
}

void Weights::add(const WeightName& row, int64_t layer, int64_t expert,
                  const io::TensorInfo& tensor, const std::string& name) {
  const bool stacked = expert >= 0 && name_of(row).find("{e}") == std::string_view::npos;
  const std::vector<int64_t> expected = stored_shape(spec_, row, gguf_, stacked);
  // GGUF drops outer dimensions of 1.
  const std::vector<int64_t> wanted = reduced(expected, tensor.shape.size());
  if (reduced(tensor.shape, expected.size()) != expected && tensor.shape != wanted) {
    refuse_shape(*source_, name, tensor.shape, expected, gguf_);
  }
  if (!gguf_ && is_packed(row.layout)) check_packed(tensor, expected);
  const int64_t columns = row.columns == Dim::kNone ? 1 : expected.back();
  const int64_t elements = tensor.elements() / (stacked ? spec_.experts.count : 1);
  parameters_ += elements * (!gguf_ && is_packed(row.layout) ? 2 : 1);
  entries_[key(row.ours, layer, expert)] = {&tensor, &row, stacked ? expert * elements : 0,
                                            elements / std::max<int64_t>(columns, 1), columns};
}

}  // namespace sinkscope::model
