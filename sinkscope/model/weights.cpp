#include "sinkscope/model/weights.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "sinkscope/base/error.h"

namespace sinkscope::model {
namespace {

std::string expand(std::string_view pattern, int64_t layer) {
  std::string name(pattern);
  if (const size_t place = name.find("{}"); place != std::string::npos) {
    name.replace(place, 2, std::to_string(layer));
  }
  return name;
}

/// A shape as the file's format writes it: GGUF counts dimensions from the innermost.
std::string shape_text(std::vector<int64_t> shape, bool gguf) {
  if (gguf) std::reverse(shape.begin(), shape.end());
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

bool needed(When when, const ModelSpec& spec) {
  switch (when) {
    case When::kAlways: return true;
    case When::kAttentionBias: return spec.attention_bias;
    case When::kOutputBias: return spec.output_bias;
    case When::kMlpBias: return spec.mlp_bias;
    case When::kUntied: return !spec.tied_head;
  }
  return true;
}

/// Destination row of row `row` of a GGUF q or k of arch llama: file row 2i+j of a head is our
/// row j*K/2 + i (the converter interleaves the two halves of each head).
int64_t uninterleaved(int64_t row, int64_t head_width) {
  const int64_t head = row / head_width, within = row % head_width;
  return head * head_width + (within % 2) * (head_width / 2) + within / 2;
}

}  // namespace

void check_finite(const io::TensorSource& source, const io::TensorInfo& tensor, int64_t first,
                  std::span<const float> values) {
  // One compare per element without a branch, so that the scan runs at memory speed.
  uint32_t bad = 0;
  for (const float value : values)
    bad |= (std::bit_cast<uint32_t>(value) & 0x7F800000u) == 0x7F800000u;
  if (!bad) return;
  const auto at =
      std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
  const int64_t element = first + (at - values.begin());
  const int64_t columns = tensor.shape.empty() ? 1 : tensor.shape.back();
  throw Error(
      ErrorKind::kBadNumbers, "read weights",
      fmt::format("{}: tensor {}, element {} (row {}, column {}) is {}",
                  source.files()[static_cast<size_t>(tensor.file)].string(), tensor.name, element,
                  element / columns, element % columns, std::isnan(*at) ? "NaN" : "infinite"),
      "`sinkscope inspect` counts them; the file is damaged or was badly converted");
}

Weights::Weights(std::shared_ptr<const io::TensorSource> source, const Family& family,
                 const ModelSpec& spec)
    : source_(std::move(source)), family_(family), spec_(spec), gguf_(source_->format() == "gguf") {
  for (const WeightName& row : family.weights) {
    if (!row.ours.starts_with("blocks.")) resolve(row, 0);
  }
  for (int64_t layer = 0; layer < spec.layers; ++layer) {
    for (const WeightName& row : family.weights) {
      if (row.ours.starts_with("blocks.")) resolve(row, layer);
    }
  }
}

int64_t Weights::length(Dim dim) const {
  switch (dim) {
    case Dim::kNone: return 1;
    case Dim::kVocabulary: return spec_.vocabulary;
    case Dim::kWidth: return spec_.width;
    case Dim::kQueries: return spec_.query_width();
    case Dim::kKeys: return spec_.key_width();
    case Dim::kQkv: return spec_.query_width() + 2 * spec_.key_width();
    case Dim::kMlp: return spec_.mlp_width;
    case Dim::kContext: return spec_.context;
  }
  return 1;
}

void Weights::resolve(const WeightName& row, int64_t layer) {
  std::string name = expand(gguf_ ? row.gguf : row.safetensors, layer);
  const io::TensorInfo* tensor = source_->find(name);
  if (!tensor && !gguf_ && !family_.optional_prefix.empty()) {
    const std::string prefixed = std::string(family_.optional_prefix) + name;
    if ((tensor = source_->find(prefixed))) name = prefixed;
  }
  const std::string where = source_->files().front().string();
  if (!needed(row.when, spec_)) {
    if (tensor && row.when == When::kUntied) {
      notes_.push_back(name + " is in the file but the head is tied to the embedding: not used");
    }
    return;
  }
  if (!tensor) {
    throw Error(ErrorKind::kBadFile, "find the model's weights",
                fmt::format("{}: tensor {} is missing{}", where, name,
                            row.when == When::kUntied ? " (config.json says untied)" : ""),
                "the file may be incomplete or of another model");
  }
  std::vector<int64_t> expected = {length(row.rows)};
  if (row.columns != Dim::kNone) expected.push_back(length(row.columns));
  if (!gguf_ && row.layout == Layout::kTransposed && expected.size() == 2)
    std::swap(expected[0], expected[1]);
  if (tensor->shape != expected) {
    throw Error(ErrorKind::kBadFile, "find the model's weights",
                fmt::format("{}: tensor {}: shape {}, expected {}", where, name,
                            shape_text(tensor->shape, gguf_), shape_text(expected, gguf_)),
                "the sizes in the model's configuration do not fit its weights");
  }
  parameters_ += tensor->elements();
  entries_[expand(row.ours, layer)] = {tensor, &row};
}

const Weights::Entry* Weights::entry(std::string_view ours, int64_t layer) const {
  const auto found = entries_.find(expand(ours, layer));
  return found == entries_.end() ? nullptr : &found->second;
}

const io::TensorInfo* Weights::find(std::string_view ours, int64_t layer) const {
  const Entry* found = entry(ours, layer);
  return found ? found->tensor : nullptr;
}

void Weights::read_into(const Entry& entry, at::Tensor destination) const {
  const io::TensorInfo& tensor = *entry.tensor;
  if (!gguf_ && entry.row->layout == Layout::kTransposed && tensor.shape.size() == 2) {
    at::Tensor stored = at::empty(tensor.shape, at::kFloat);
    WeightName plain = *entry.row;
    plain.layout = Layout::kPlain;
    read_into({entry.tensor, &plain}, stored);
    destination.copy_(stored.t());
    return;
  }
  const bool vector = tensor.shape.size() < 2;
  // A vector is one row, unless its elements must be put in another order one by one.
  const bool interleaved = gguf_ && entry.row->layout == Layout::kRotaryRows;
  const int64_t columns = vector ? (interleaved ? 1 : tensor.elements()) : tensor.shape.back();
  const int64_t rows = tensor.elements() / std::max<int64_t>(columns, 1);
  const bool direct = destination.scalar_type() == at::kFloat && destination.is_contiguous();
  if (interleaved && vector) {
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    io::read_floats(*source_, tensor, 0, values);
    check_finite(*source_, tensor, 0, values);
    float* out = destination.data_ptr<float>();
    for (int64_t i = 0; i < rows; ++i)
      out[uninterleaved(i, spec_.head_width)] = values[static_cast<size_t>(i)];
    return;
  }
  at::parallel_for(0, rows, 16, [&](int64_t begin, int64_t end) {
    std::vector<float> buffer(direct ? 0 : static_cast<size_t>(columns));
    for (int64_t row = begin; row < end; ++row) {
      const int64_t to = interleaved ? uninterleaved(row, spec_.head_width) : row;
      float* out = direct ? destination.data_ptr<float>() + to * columns : buffer.data();
      const std::span<float> values(out, static_cast<size_t>(columns));
      io::read_floats(*source_, tensor, row * columns, values);
      check_finite(*source_, tensor, row * columns, values);
      if (direct) continue;
      auto* half = destination.data_ptr<at::BFloat16>() + to * columns;
      for (int64_t c = 0; c < columns; ++c) half[c] = static_cast<at::BFloat16>(out[c]);
    }
  });
}

at::Tensor Weights::load_vector(std::string_view ours, int64_t layer) const {
  const Entry* found = entry(ours, layer);
  if (!found) return {};
  at::Tensor out = at::empty({found->tensor->elements()}, at::kFloat);
  read_into(*found, out);
  return out;
}

void Weights::load_linear(std::span<const std::string_view> parts, int64_t layer,
                          at::ScalarType type, Linear& into) const {
  int64_t out_width = 0, in_width = 0;
  for (const std::string_view part : parts) {
    const Entry& found = *entry(part, layer);
    out_width += length(found.row->rows);
    in_width = length(found.row->columns);
  }
  if (!into.weight.defined() || into.weight.scalar_type() != type ||
      into.weight.size(0) != out_width || into.weight.size(1) != in_width) {
    into.weight = at::empty({out_width, in_width}, type);
  }
  into.bias = at::Tensor();
  int64_t row = 0;
  for (const std::string_view part : parts) {
    const Entry& found = *entry(part, layer);
    const int64_t rows = length(found.row->rows);
    read_into(found, into.weight.narrow(0, row, rows));
    source_->release(*found.tensor);
    if (at::Tensor bias = load_vector(std::string(part) + ".bias", layer); bias.defined()) {
      if (!into.bias.defined()) into.bias = at::zeros({out_width}, at::kFloat);
      into.bias.narrow(0, row, rows).copy_(bias);
    }
    row += rows;
  }
}

void Weights::load_block(int64_t layer, at::ScalarType type, BlockWeights& into) const {
  using Parts = std::initializer_list<std::string_view>;
  const auto linear = [&](Parts parts, Linear& to) {
    load_linear({parts.begin(), parts.size()}, layer, type, to);
  };
  into.norm1 = {load_vector("blocks.{}.norm1", layer), load_vector("blocks.{}.norm1.bias", layer)};
  into.norm2 = {load_vector("blocks.{}.norm2", layer), load_vector("blocks.{}.norm2.bias", layer)};
  if (entry("blocks.{}.qkv", layer)) {
    linear({"blocks.{}.qkv"}, into.qkv);
  } else {
    linear({"blocks.{}.q", "blocks.{}.k", "blocks.{}.v"}, into.qkv);
  }
  linear({"blocks.{}.o"}, into.o);
  if (spec_.gated_mlp) {
    linear({"blocks.{}.gate", "blocks.{}.up"}, into.up);
  } else {
    linear({"blocks.{}.up"}, into.up);
  }
  linear({"blocks.{}.down"}, into.down);
}

at::Tensor Weights::rows(std::string_view name, std::span<const int32_t> indices) const {
  const Entry& found = *entry(name, 0);
  const io::TensorInfo& tensor = *found.tensor;
  const int64_t columns = tensor.shape.back();
  at::Tensor out = at::empty({static_cast<int64_t>(indices.size()), columns}, at::kFloat);
  float* data = out.data_ptr<float>();
  for (size_t i = 0; i < indices.size(); ++i) {
    const std::span<float> row(data + static_cast<int64_t>(i) * columns,
                               static_cast<size_t>(columns));
    io::read_floats(*source_, tensor, indices[i] * columns, row);
    check_finite(*source_, tensor, indices[i] * columns, row);
  }
  return out;
}

NormWeights Weights::load_final_norm() const {
  return {load_vector("final_norm", 0), load_vector("final_norm.bias", 0)};
}

Linear Weights::load_head(at::ScalarType type) const {
  Linear head;
  const std::string_view name = spec_.tied_head ? "embed" : "head";
  load_linear({&name, 1}, 0, type, head);
  return head;
}

int64_t Weights::largest_block_bytes() const {
  int64_t elements = 0;
  for (const auto& [name, entry] : entries_) {
    if (name.starts_with("blocks.0.")) elements += entry.tensor->elements();
  }
  return elements * static_cast<int64_t>(sizeof(float));
}

}  // namespace sinkscope::model
