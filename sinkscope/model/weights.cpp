#include "sinkscope/model/weights.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "sinkscope/base/error.h"
#include "sinkscope/io/mxfp4.h"
#include "sinkscope/model/weight_shapes.h"

namespace sinkscope::model {
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

Layout Weights::layout_of(const Entry& entry) const {
  const Layout layout = entry.row->layout;
  if (layout == Layout::kQueryGate) return layout;
  const bool of_gguf = layout == Layout::kRotaryRows;
  return of_gguf == gguf_ ? layout : Layout::kPlain;
}

const Weights::Entry* Weights::entry(std::string_view ours, int64_t layer, int64_t expert) const {
  const auto found = entries_.find(key(ours, layer, expert));
  return found == entries_.end() ? nullptr : &found->second;
}

const io::TensorInfo* Weights::find(std::string_view ours, int64_t layer) const {
  const Entry* found = entry(ours, layer);
  return found ? found->tensor : nullptr;
}

void Weights::check(const io::TensorInfo& tensor, int64_t first,
                    std::span<const float> values) const {
  if (!options_.allow_nonfinite) check_finite(*source_, tensor, first, values);
}

/// Where row `row` of the file belongs: in the weight itself, or, for layouts that mix q, k, v and
/// gate, in the stacked projection.
int64_t Weights::destination_row(Layout layout, int64_t row) const {
  const int64_t width = spec_.head_width;
  if (layout == Layout::kRotaryRows) {
    const int64_t within = row % width;
    return row - within + (within % 2) * (width / 2) + within / 2;
  }
  if (layout == Layout::kQueryGate) {
    const int64_t head = row / (2 * width), within = row % (2 * width);
    const int64_t gate = spec_.query_width() + 2 * spec_.key_width();
    return within < width ? head * width + within : gate + head * width + within - width;
  }
  if (layout == Layout::kGroups) {
    const int64_t queries = spec_.heads / spec_.kv_heads * width;
    const int64_t group = row / (queries + 2 * width), within = row % (queries + 2 * width);
    if (within < queries) return group * queries + within;
    const int64_t key = within - queries;
    return spec_.query_width() + (key < width ? 0 : spec_.key_width() - width) + group * width +
           key;
  }
  return row;
}

/// The weight as the file holds it, float32 [rows, columns].
at::Tensor Weights::read_plain(const Entry& entry) const {
  at::Tensor out = at::empty({entry.rows, entry.columns}, at::kFloat);
  float* data = out.data_ptr<float>();
  if (!entry.pieces.empty()) {
    for (const io::TensorInfo* piece : entry.pieces) {
      const std::span<float> values(data, static_cast<size_t>(piece->elements()));
      io::read_floats(*source_, *piece, 0, values);
      check(*piece, 0, values);
      data += piece->elements();
    }
    return out;
  }
  at::parallel_for(0, entry.rows, 16, [&](int64_t begin, int64_t end) {
    const std::span<float> values(data + begin * entry.columns,
                                  static_cast<size_t>((end - begin) * entry.columns));
    io::read_floats(*source_, *entry.tensor, entry.first + begin * entry.columns, values);
    check(*entry.tensor, entry.first + begin * entry.columns, values);
  });
  return out;
}

/// Row by row without a copy of the whole, each to its place.
void Weights::read_rows(const Entry& entry, int64_t base, at::Tensor destination) const {
  const int64_t columns = entry.columns;
  const Layout layout = layout_of(entry);
  const bool direct = destination.scalar_type() == at::kFloat;
  at::parallel_for(0, entry.rows, 16, [&](int64_t begin, int64_t end) {
    std::vector<float> buffer(direct ? 0 : static_cast<size_t>(columns));
    for (int64_t row = begin; row < end; ++row) {
      const int64_t to = (base + destination_row(layout, row)) * columns;
      float* out = direct ? destination.data_ptr<float>() + to : buffer.data();
      const std::span<float> values(out, static_cast<size_t>(columns));
      io::read_floats(*source_, *entry.tensor, entry.first + row * columns, values);
      check(*entry.tensor, entry.first + row * columns, values);
      if (direct) continue;
      auto* half = destination.data_ptr<at::BFloat16>() + to;
      for (int64_t c = 0; c < columns; ++c) half[c] = static_cast<at::BFloat16>(out[c]);
    }
  });
}

/// One expert of packed blocks, float32 [rows, 2 x columns].
at::Tensor Weights::read_packed(const Entry& entry) const {
  at::Tensor out = at::empty({entry.rows, 2 * entry.columns}, at::kFloat);
  const io::TensorInfo& scales = *source_->find(scales_name(entry.tensor->name));
  const int64_t bytes = entry.rows * entry.columns, block = io::kMxfp4Block / 2;
  const std::span<float> values(out.data_ptr<float>(), static_cast<size_t>(2 * bytes));
  io::dequantise_mxfp4_pairs(
      source_->bytes(*entry.tensor)
          .subspan(static_cast<size_t>(entry.first), static_cast<size_t>(bytes)),
      source_->bytes(scales).subspan(static_cast<size_t>(entry.first / block),
                                     static_cast<size_t>(bytes / block)),
      values);
  check(*entry.tensor, entry.first, values);
  return out;
}

void Weights::read_matrix(const Entry& entry, int64_t base, at::Tensor destination) const {
  const Layout layout = layout_of(entry);
  if (layout == Layout::kTransposed || layout == Layout::kTransposedExperts) {
    destination.narrow(0, base, entry.columns).copy_(read_plain(entry).t());
  } else if (layout == Layout::kMxfp4) {
    destination.narrow(0, base, entry.rows).copy_(read_packed(entry));
  } else if (layout == Layout::kInterleavedColumns || layout == Layout::kMxfp4Interleaved) {
    const at::Tensor stored =
        layout == Layout::kMxfp4Interleaved ? read_packed(entry) : read_plain(entry).t();
    const int64_t rows = stored.size(0), half = rows / 2;
    destination.narrow(0, base, half).copy_(stored.slice(0, 0, rows, 2));
    destination.narrow(0, base + half, half).copy_(stored.slice(0, 1, rows, 2));
  } else {
    read_rows(entry, base, destination);
  }
}

void Weights::read_vector(const Entry& entry, int64_t base, at::Tensor destination) const {
  const Layout layout = layout_of(entry);
  const at::Tensor stored = read_plain(entry).flatten();
  if (layout == Layout::kMinusOne) {
    destination.copy_(stored + 1);
  } else if (layout == Layout::kInterleavedVector) {
    destination.copy_(stored.view({-1, 2}).t().flatten());
  } else {
    const float* from = stored.data_ptr<float>();
    float* to = destination.data_ptr<float>() + base;
    for (int64_t i = 0; i < stored.numel(); ++i) to[destination_row(layout, i)] = from[i];
  }
}

at::Tensor Weights::load(std::string_view ours, int64_t layer) const {
  const Entry* found = entry(ours, layer);
  if (!found) return {};
  if (found->row->columns == Dim::kNone) {
    at::Tensor out = at::empty({found->rows}, at::kFloat);
    read_vector(*found, 0, out);
    return out;
  }
  return read_plain(*found);
}

NormWeights Weights::load_norm(std::string_view ours, int64_t layer) const {
  const bool plain = ours.ends_with(".norm1") || ours.ends_with(".norm2") || ours == "final_norm";
  if (spec_.plain_norms && plain) return {at::ones({spec_.width}, at::kFloat), {}};
  return {load(ours, layer), load(std::string(ours) + ".bias", layer)};
}

Linear Weights::load_matrix(std::string_view ours, at::ScalarType type, int64_t layer) const {
  Linear out;
  const Entry* found = entry(ours, layer);
  if (!found) return out;
  const Part part{ours, 0};
  load_linear({&part, 1}, length(spec_, found->row->rows), layer, type, out);
  return out;
}

void Weights::load_linear(std::span<const Part> parts, int64_t rows, int64_t layer,
                          at::ScalarType type, Linear& into, int64_t expert) const {
  const int64_t columns = length(spec_, entry(parts.front().ours, layer, expert)->row->columns);
  if (!into.weight.defined() || into.weight.scalar_type() != type || into.weight.size(0) != rows ||
      into.weight.size(1) != columns) {
    into.weight = at::empty({rows, columns}, type);
  }
  into.bias = at::Tensor();
  for (const Part& part : parts) {
    const Entry& found = *entry(part.ours, layer, expert);
    read_matrix(found, part.base, into.weight);
    source_->release(*found.tensor);
    const Entry* bias = entry(std::string(part.ours) + ".bias", layer, expert);
    if (!bias) continue;
    if (!into.bias.defined()) into.bias = at::zeros({rows}, at::kFloat);
    const bool whole = layout_of(*bias) == Layout::kInterleavedVector;
    read_vector(*bias, part.base, whole ? into.bias.narrow(0, part.base, bias->rows) : into.bias);
  }
}

void Weights::load_block(int64_t layer, at::ScalarType type, BlockWeights& into) const {
  const auto stack = [&](std::initializer_list<Part> parts, int64_t rows, Linear& to) {
    load_linear({parts.begin(), parts.size()}, rows, layer, type, to);
  };
  const auto norm = [&](std::string_view ours) { return load_norm(ours, layer); };
  into.norm1 = norm("blocks.{}.norm1"), into.norm2 = norm("blocks.{}.norm2");
  into.q_norm = norm("blocks.{}.q_norm"), into.k_norm = norm("blocks.{}.k_norm");
  into.attn_norm = norm("blocks.{}.attn_norm"), into.mlp_norm = norm("blocks.{}.mlp_norm");
  into.attn_scale = load("blocks.{}.attn_scale", layer);
  into.mlp_scale = load("blocks.{}.mlp_scale", layer);
  into.sinks = load("blocks.{}.sinks", layer);
  into.extra_key = load("blocks.{}.extra_key", layer);
  into.extra_value = load("blocks.{}.extra_value", layer);
  const std::pair<std::string_view, Linear BlockWeights::*> kSmall[] = {
      {"blocks.{}.output_gate", &BlockWeights::output_gate},
      {"blocks.{}.key_gate", &BlockWeights::key_gate},
      {"blocks.{}.value_gate", &BlockWeights::value_gate},
      {"blocks.{}.path_select", &BlockWeights::path_select},
      {"blocks.{}.path_value", &BlockWeights::path_value},
      {"blocks.{}.path_gate", &BlockWeights::path_gate},
      {"blocks.{}.path_out", &BlockWeights::path_out},
  };
  for (const auto& [ours, matrix] : kSmall) into.*matrix = load_matrix(ours, at::kFloat, layer);
  if (entry("blocks.{}.qkv", layer)) {
    stack({{"blocks.{}.qkv", 0}}, spec_.qkv_width(), into.qkv);
  } else {
    const int64_t queries = spec_.query_width();
    stack({{"blocks.{}.q", 0},
           {"blocks.{}.k", queries},
           {"blocks.{}.v", queries + spec_.key_width()}},
          spec_.qkv_width(), into.qkv);
  }
  stack({{"blocks.{}.o", 0}}, spec_.width, into.o);
  if (spec_.blocks[static_cast<size_t>(layer)].experts) {
    into.up = into.down = {};
    stack({{"blocks.{}.router", 0}}, spec_.experts.count, into.router);
  } else if (spec_.mlp) {
    if (entry("blocks.{}.gate_up", layer)) {
      stack({{"blocks.{}.gate_up", 0}}, 2 * spec_.mlp_width, into.up);
    } else if (spec_.gated_mlp) {
      stack({{"blocks.{}.gate", 0}, {"blocks.{}.up", spec_.mlp_width}}, 2 * spec_.mlp_width,
            into.up);
    } else {
      stack({{"blocks.{}.up", 0}}, spec_.mlp_width, into.up);
    }
    stack({{"blocks.{}.down", 0}}, spec_.width, into.down);
  }
  if (entry("blocks.{}.shared.up", layer)) {
    stack({{"blocks.{}.shared.gate", 0}, {"blocks.{}.shared.up", spec_.experts.shared_width}},
          2 * spec_.experts.shared_width, into.shared_up);
    stack({{"blocks.{}.shared.down", 0}}, spec_.width, into.shared_down);
    into.shared_router = load_matrix("blocks.{}.shared.router", at::kFloat, layer);
  }
}

void Weights::load_expert(int64_t layer, int64_t expert, at::ScalarType type, Linear& up,
                          Linear& down) const {
  const int64_t width = spec_.experts.width;
  const auto stack = [&](std::initializer_list<Part> parts, int64_t rows, Linear& to) {
    load_linear({parts.begin(), parts.size()}, rows, layer, type, to, expert);
  };
  if (entry("blocks.{}.experts.gate_up", layer, expert)) {
    stack({{"blocks.{}.experts.gate_up", 0}}, 2 * width, up);
  } else {
    stack({{"blocks.{}.experts.gate", 0}, {"blocks.{}.experts.up", width}}, 2 * width, up);
  }
  stack({{"blocks.{}.experts.down", 0}}, spec_.width, down);
}

at::Tensor Weights::rows(std::string_view name, std::span<const int32_t> indices) const {
  const Entry& found = *entry(name, 0);
  at::Tensor out = at::empty({static_cast<int64_t>(indices.size()), found.columns}, at::kFloat);
  float* data = out.data_ptr<float>();
  for (size_t i = 0; i < indices.size(); ++i) {
    const std::span<float> row(data + static_cast<int64_t>(i) * found.columns,
                               static_cast<size_t>(found.columns));
    io::read_floats(*source_, *found.tensor, indices[i] * found.columns, row);
    check(*found.tensor, indices[i] * found.columns, row);
  }
  return out;
}

Linear Weights::load_head(at::ScalarType type) const {
  if (!spec_.tied_head) return load_matrix("head", type);
  Linear head = load_matrix("embed", type);
  head.bias = load("head.bias");
  return head;
}

int64_t Weights::largest_block_bytes() const {
  std::map<std::string_view, int64_t> elements;  // by "blocks.N"
  for (const auto& [name, entry] : entries_) {
    if (!name.starts_with("blocks.")) continue;
    if (name.find('#') != std::string::npos && !name.ends_with("#0")) continue;
    elements[std::string_view(name).substr(0, name.find('.', 7))] += entry.rows * entry.columns;
  }
  int64_t largest = 0;
  for (const auto& [block, size] : elements) largest = std::max(largest, size);
  return largest * static_cast<int64_t>(sizeof(float));
}

}  // namespace sinkscope::model
