// Edits of one head (method.md section 6; names of the published code where it has them).

#include <ATen/ATen.h>

#include "sinkscope/app/ablate/intervention.h"

namespace sinkscope::app {
namespace {

using forward::Edit;
using Edits = std::vector<Edit>;

/// The value at the head's key <- `value`, also where that is the same already: an input that is
/// the same in every sequence makes it so (method.md section 6, identical by construction).
Edits value_edit(const EditRequest& r, const at::Tensor& value) {
  const HeadFacts& own = r.head_of(r.own());
  if (own.key < 0 || !value.defined()) return {};
  return {forward::ValueEdit{r.layer, r.head, own.key, value}};
}

Edits zero_sink_value(const EditRequest& r) {
  const HeadFacts& own = r.head_of(r.own());
  if (own.key < 0 || !own.value.any().item<bool>()) return {};
  return {forward::ValueEdit{r.layer, r.head, own.key, {}}};
}

Edits zero_sink_payload(const EditRequest& r) {
  const HeadFacts& own = r.head_of(r.own());
  if (own.key < 0 || r.tokens < 2 || !own.value.any().item<bool>()) return {};
  return {forward::ValueEdit{r.layer, r.head, own.key, {}, true}};
}

/// Mean of the sink values of the sequences where the head has a sink event or, where it has none
/// anywhere, a conditional sink; undefined without either. `held_out`: the edited one is left out.
at::Tensor mean_sink(const EditRequest& r, bool held_out) {
  for (const auto sink : {&HeadFacts::event, &HeadFacts::conditional}) {
    at::Tensor sum;
    double count = 0;
    for (size_t s = 0; s < r.facts.size(); ++s) {
      const HeadFacts& head = r.head_of(r.facts[s]);
      if ((held_out && s == r.sequence) || !(head.*sink)) continue;
      const at::Tensor value = head.value.to(at::kDouble);
      sum = sum.defined() ? sum + value : value;
      ++count;
    }
    if (sum.defined()) return (sum / count).to(at::kFloat);
  }
  return {};
}

Edits mean_sink_value(const EditRequest& r) { return value_edit(r, mean_sink(r, true)); }

Edits donor_sink_value(const EditRequest& r) {
  const HeadFacts& donor = r.head_of(r.donor());
  return &r.donor() == &r.own() || donor.key < 0 ? Edits{} : value_edit(r, donor.value);
}

Edits donor_nonsink_value(const EditRequest& r) {
  const HeadFacts& donor = r.head_of(r.donor());
  return &r.donor() == &r.own() || donor.other < 0 ? Edits{} : value_edit(r, donor.other_value);
}

Edits zero_nonsink_value(const EditRequest& r) {
  const HeadFacts& own = r.head_of(r.own());
  if (own.other < 0 || !own.other_value.any().item<bool>()) return {};
  return {forward::ValueEdit{r.layer, r.head, own.other, {}}};
}

Edits offset_column(const EditRequest& r, float offset, double floor = 0) {
  const HeadFacts& own = r.head_of(r.own());
  if (own.key < 0 || r.tokens < 2 || offset == 0) return {};
  return {forward::ColumnEdit{r.layer, r.head, own.key, offset, floor}};
}

Edits remove_column(const EditRequest& r) { return offset_column(r, forward::kRemoved); }

/// The removal of the released code of arXiv 2606.08105.
Edits remove_column_floored(const EditRequest& r) {
  if (r.spec.scores.kind != model::ScoreKind::kSoftmax) return {};
  return offset_column(r, forward::kRemoved, 1e-12);
}

Edits logit_offset(const EditRequest& r) {
  return offset_column(r, static_cast<float>(r.options.offset));
}

Edits zero_head(const EditRequest& r) { return {forward::HeadEdit{r.layer, r.head, {}}}; }

/// Mean over tokens and over every sequence of the run.
Edits mean_head(const EditRequest& r) {
  at::Tensor sum;
  for (const SequenceFacts& facts : r.facts) {
    const at::Tensor z = facts.mean_z[static_cast<size_t>(r.layer)][r.head].to(at::kDouble);
    sum = sum.defined() ? sum + z : z;
  }
  const at::Tensor mean = (sum / static_cast<double>(r.facts.size())).to(at::kFloat);
  return {forward::HeadEdit{r.layer, r.head, mean}};
}

/// The donor's output at the same positions; where it is shorter, its last row serves the rest.
Edits resample_head(const EditRequest& r) {
  if (&r.donor() == &r.own()) return {};
  const at::Tensor z = r.donor().z[static_cast<size_t>(r.layer)].select(1, r.head);
  const at::Tensor place = at::arange(r.tokens, at::kLong).clamp_max(z.size(0) - 1);
  return {forward::HeadEdit{r.layer, r.head, z.index_select(0, place).contiguous()}};
}

/// Without a mean sink value the head keeps its own token alone.
Edits local_only(const EditRequest& r) {
  const HeadFacts& own = r.head_of(r.own());
  return {forward::LocalEdit{r.layer, r.head, std::max<int64_t>(own.key, 0), mean_sink(r, false)}};
}

// clang-format off
constexpr Intervention kRows[] = {
    {"zero-sink-value", Reach::kHead, "the value at the key is 0; the weights stay", zero_sink_value},
    {"zero-sink-payload", Reach::kHead, "the same for the other queries; the key's own keeps it", zero_sink_payload},
    {"mean-sink-value", Reach::kHead, "the value at the key is the head's mean one over the other sequences where it has a sink", mean_sink_value},
    {"donor-sink-value", Reach::kHead, "the value at the key is the next sequence's at its own key", donor_sink_value, nullptr, true},
    {"donor-nonsink-value", Reach::kHead, "the value at the key is the next sequence's at a random other token", donor_nonsink_value, nullptr, true},
    {"zero-nonsink-value", Reach::kHead, "control: the value of a random other token is 0", zero_nonsink_value},
    {"remove-column", Reach::kHead, "the key gets no attention, rows are normalised anew", remove_column},
    {"remove-column-floored", Reach::kHead, "the same, but rows are divided by at least 1e-12 (released code of 2606.08105)", remove_column_floored},
    {"logit-offset", Reach::kHead, "--offset is added to the key's logits", logit_offset},
    {"zero-head", Reach::kHead, "the head writes nothing", zero_head},
    {"mean-head", Reach::kHead, "the head's output is its mean over tokens and sequences", mean_head},
    {"resample-head", Reach::kHead, "the head's output is the next sequence's", resample_head, nullptr, true, true},
    {"local-only", Reach::kHead, "the head keeps A_ii v_i + A_is (mean sink value)", local_only},
};
// clang-format on

}  // namespace

std::span<const Intervention> head_interventions() { return kRows; }

}  // namespace sinkscope::app
