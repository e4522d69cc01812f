// Edits of one block, and of blocks, positions and channels of the whole model (method.md sections
// 5, 6, 12, 17).

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "sinkscope/app/ablate/intervention.h"

namespace sinkscope::app {
namespace {

using forward::Edit;
using Edits = std::vector<Edit>;

/// --blocks, or `usual` where it was not given; blocks beyond the model are left out.
std::vector<int64_t> blocks_of(const EditRequest& r, std::vector<int64_t> usual) {
  std::vector<int64_t> blocks = r.options.blocks.empty() ? std::move(usual) : r.options.blocks;
  std::erase_if(blocks, [&](int64_t b) { return b < 0 || b >= r.spec.layers; });
  return blocks;
}

std::vector<int64_t> every_block(const EditRequest& r) {
  std::vector<int64_t> blocks;
  for (int64_t b = 0; b < r.spec.layers; ++b) blocks.push_back(b);
  return blocks_of(r, blocks);
}

Edits mask_p0(const EditRequest& r) {
  Edits edits;
  for (const int64_t b : every_block(r)) {
    if (r.tokens > 1) edits.push_back(forward::ColumnEdit{b, forward::kAllHeads, 0});
  }
  return edits;
}

Edits self_only(const EditRequest& r) {
  Edits edits;
  for (const int64_t b : blocks_of(r, {0})) {
    if (r.options.position < r.tokens && r.tokens > 1) {
      edits.push_back(forward::RowEdit{b, r.options.position, forward::RowView::kSelf});
    }
  }
  return edits;
}

Edits open_p0(const EditRequest& r) {
  Edits edits;
  for (const int64_t b : blocks_of(r, {0})) {
    if (r.tokens > 1) edits.push_back(forward::RowEdit{b, 0, forward::RowView::kAll});
  }
  return edits;
}

Edits window(const EditRequest& r) {
  Edits edits;
  if (!r.spec.causal || r.options.window >= r.tokens) return edits;
  for (const int64_t b : every_block(r)) edits.push_back(forward::WindowEdit{b, r.options.window});
  return edits;
}

/// To the typical length: the median over the other positions.
Edits scale_p0(const EditRequest& r) {
  Edits edits;
  for (const int64_t b : blocks_of(r, {0})) {
    const auto layer = static_cast<size_t>(b);
    const double own = r.own().attention_first[layer], typical = r.own().attention_median[layer];
    if (!(own > 0) || !(typical >= 0)) continue;
    edits.push_back(
        forward::BranchEdit{b, 0, forward::Branch::kAttention, static_cast<float>(typical / own)});
  }
  return edits;
}

Edits zero_mlp_p0(const EditRequest& r) {
  Edits edits;
  if (!r.spec.mlp) return edits;
  for (const int64_t b : blocks_of(r, {0, 1})) {
    edits.push_back(forward::BranchEdit{b, 0, forward::Branch::kMlp, 0});
  }
  return edits;
}

/// Mean of a place's value over the sequences that have it.
double mean_value(const EditRequest& r, const MassivePlace& place) {
  double sum = 0;
  int count = 0;
  for (const SequenceFacts& facts : r.facts) {
    for (const MassivePlace& other : facts.massive) {
      if (other.channel != place.channel || other.position != place.position) continue;
      sum += other.value;
      ++count;
    }
  }
  return sum / count;
}

/// Each massive activation where it first appears; with --channels these channels everywhere.
Edits set_massive(const EditRequest& r, bool to_mean) {
  Edits edits;
  const std::vector<int64_t>& named = r.options.channels;
  if (!named.empty() && !to_mean) {
    const std::vector<float> zeros(named.size(), 0.0f);
    for (const int64_t b : every_block(r)) {
      edits.push_back(forward::ChannelEdit{b, -1, named, zeros});
    }
    return edits;
  }
  for (const MassivePlace& place : r.own().massive) {
    const bool chosen =
        named.empty() || std::find(named.begin(), named.end(), place.channel) != named.end();
    if (!chosen) continue;
    const double value = to_mean ? mean_value(r, place) : 0;
    edits.push_back(forward::ChannelEdit{
        place.layer, place.position, {place.channel}, {static_cast<float>(value)}});
  }
  return edits;
}

Edits zero_massive(const EditRequest& r) { return set_massive(r, false); }
Edits mean_massive(const EditRequest& r) { return set_massive(r, true); }

Edits force_sink(const EditRequest& r) {
  Edits edits;
  // Where the norm follows the branch there is nothing before it to split.
  if (r.spec.form == model::BlockForm::kPostNorm || r.options.split >= r.spec.width) return edits;
  for (const int64_t b : every_block(r)) edits.push_back(forward::SplitEdit{b, r.options.split});
  return edits;
}

Edits zero_attention(const EditRequest& r) {
  Edits edits;
  for (int64_t h = 0; h < r.spec.heads; ++h) edits.push_back(forward::HeadEdit{r.layer, h, {}});
  return edits;
}

Edits zero_pathway(const EditRequest& r) {
  return r.spec.pathway > 0 ? Edits{forward::PathwayEdit{r.layer, {}}} : Edits{};
}

Edits donor_pathway(const EditRequest& r) {
  const at::Tensor& message = r.donor().message[static_cast<size_t>(r.layer)];
  if (&r.donor() == &r.own() || !message.defined()) return {};
  return {forward::PathwayEdit{r.layer, message}};
}

// clang-format off
constexpr Intervention kRows[] = {
    {"zero-attention", Reach::kLayer, "no head of the block writes anything; for each of --blocks (all)", zero_attention},
    {"zero-pathway", Reach::kLayer, "the global pathway of the block adds nothing; for each of --blocks (all)", zero_pathway},
    {"donor-pathway", Reach::kLayer, "the global pathway of the block carries the next sequence's message; for each of --blocks (all)", donor_pathway, nullptr, true},
    {"mask-p0", Reach::kModel, "no head of --blocks (all) attends to position 0", mask_p0},
    {"self-only", Reach::kModel, "position --pos sees only itself in --blocks (0)", self_only},
    {"open-p0", Reach::kModel, "position 0 sees every key in --blocks (0)", open_p0},
    {"window", Reach::kModel, "queries see the last --window keys in --blocks (all)", window},
    {"scale-p0", Reach::kModel, "what attention adds at position 0 has the median length of the others in --blocks (0)", scale_p0},
    {"zero-mlp-p0", Reach::kModel, "the MLP adds nothing at position 0 in --blocks (0, 1)", zero_mlp_p0},
    {"zero-massive", Reach::kModel, "massive activations are 0 where they first appear; with --channels these channels are 0 before --blocks (all)", zero_massive},
    {"mean-massive", Reach::kModel, "massive activations are their mean over the sequences where they first appear", mean_massive},
    {"force-sink", Reach::kModel, "before the norms of --blocks (all) position 0 keeps the first --split channels, the others the rest", force_sink},
};
// clang-format on

}  // namespace

std::span<const Intervention> model_interventions() { return kRows; }

}  // namespace sinkscope::app
