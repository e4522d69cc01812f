#include "sinkscope/train/parameters.h"

#include <ATen/ATen.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cmath>

#include "sinkscope/base/mix.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/weight_shapes.h"
#include "sinkscope/train/random.h"

namespace sinkscope::train {
namespace {

constexpr double kDeviation = 0.02;

/// FNV-1a: only has to tell names apart.
uint64_t hash_of(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

bool contains(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

at::Tensor initial(const Parameters::Entry& entry, uint64_t key, const TrainerOptions& options,
                   int64_t inputs) {
  const std::string_view name = entry.ours;
  const bool bias = name.ends_with(".bias");
  if (contains(name, "norm")) return bias ? at::zeros(entry.shape) : at::ones(entry.shape);
  if (name.ends_with("sinks")) return at::zeros(entry.shape);
  if (contains(name, "path_")) {
    if (bias) return at::zeros(entry.shape);
    // Cut at two deviations by taking the uniform number through the normal distribution's inverse.
    const double edge = std::erf(2 / std::sqrt(2.0));
    const at::Tensor u = uniform(key, entry.shape).to(at::kDouble).mul(2).sub(1).mul(edge);
    return u.erfinv().mul(std::sqrt(2.0) * kDeviation).to(at::kFloat);
  }
  if (contains(name, "_gate")) {
    return bias ? at::full(entry.shape, options.gate_bias, at::kFloat)
                : normal(key, entry.shape) * 1e-3;
  }
  if (name == "embed") return normal(key, entry.shape) * options.embedding_deviation;
  if (name == "positions" || name == "first_token" || contains(name, "extra_")) {
    return normal(key, entry.shape) * kDeviation;
  }
  return (uniform(key, entry.shape) * 2 - 1) / std::sqrt(static_cast<double>(inputs));
}

}  // namespace

Parameters::Parameters(const model::ModelSpec& spec, const TrainerOptions& options) {
  int64_t total = 0;
  std::map<std::string, int64_t> inputs;  // of a matrix, for itself and its bias
  const model::Family& family = model::kLab;
  for (int64_t layer = -1; layer < spec.layers; ++layer) {
    for (const model::WeightName& row : family.weights) {
      if (row.ours.starts_with("blocks.") != (layer >= 0) ||
          !row.when(spec, std::max<int64_t>(layer, 0))) {
        continue;
      }
      Entry entry;
      entry.file_name = model::expand_name(row.safetensors, layer);
      entry.ours = model::expand_name(row.ours, layer);
      entry.shape = model::stored_shape(spec, row, false, false);
      entry.elements = c10::multiply_integers(entry.shape);
      entry.first = total;
      total += entry.elements;
      if (entry.shape.size() == 2) inputs[entry.ours] = entry.shape[1];
      entries_.push_back(std::move(entry));
    }
  }
  values_ = at::empty({total}, at::kFloat);
  gradients_ = at::zeros({total}, at::kFloat);
  for (const Entry& entry : entries_) {
    const std::string matrix =
        entry.ours.ends_with(".bias") ? entry.ours.substr(0, entry.ours.size() - 5) : entry.ours;
    const uint64_t key =
        mix(options.seed, {static_cast<uint64_t>(Purpose::kParameters), hash_of(entry.ours)});
    values_.narrow(0, entry.first, entry.elements)
        .view(entry.shape)
        .copy_(initial(entry, key, options, inputs[matrix]));
    views_[entry.ours] = view_of(entry);
  }
}

at::Tensor Parameters::view_of(const Entry& entry) const {
  const at::Tensor view = values_.narrow(0, entry.first, entry.elements)
                              .view(entry.shape)
                              .detach()
                              .requires_grad_(true);
  view.mutable_grad() = gradients_.narrow(0, entry.first, entry.elements).view(entry.shape);
  return view;
}

Parameters Parameters::with_own_gradients() const {
  Parameters copy = *this;
  copy.gradients_ = at::zeros_like(gradients_);
  for (const Entry& entry : entries_) {
    copy.views_[entry.ours] =
        copy.view_of(entry).requires_grad_(views_.at(entry.ours).requires_grad());
  }
  return copy;
}

const at::Tensor& Parameters::at(std::string_view ours) const {
  static const at::Tensor none;
  const auto found = views_.find(ours);
  return found == views_.end() ? none : found->second;
}

void Parameters::freeze(std::string_view ours) {
  const auto found = views_.find(ours);
  if (found != views_.end()) found->second.requires_grad_(false);
}

const Parameters::Entry& Parameters::entry_of(int64_t index) const {
  return *std::find_if(entries_.begin(), entries_.end(), [index](const Entry& entry) {
    return index < entry.first + entry.elements;
  });
}

}  // namespace sinkscope::train
