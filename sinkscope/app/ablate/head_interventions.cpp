// Edits of one head (method.md section 6; names of the published code where it has them).

#include <ATen/ATen.h>

#include "sinkscope/app/ablate/intervention.h"

namespace sinkscope::app {
namespace {

using forward::Edit;
using Edits = std::vector<Edit>;

/// The value at the head's key <- `value`; nothing where it is the same already.
Edits value_edit(const EditRequest& r, const at::Tensor& value) {
  const HeadFacts& own = r.head_of(r.own());
  if (own.key < 0 || own.value.equal(value)) return {};
  return {forward::ValueEdit{r.layer, r.head, own.key, value}};
}

Edits zero_sink_value(const EditRequest& r) {
  const HeadFacts& own = r.head_of(r.own());
  return own.key < 0 ? Edits{} : value_edit(r, at::zeros_like(own.value));
}

Edits zero_sink_payload(const EditRequest& r) {
  const HeadFacts& own = r.head_of(r.own());
  if (own.key < 0 || r.tokens < 2 || !own.value.any().item<bool>()) return {};
  return {forward::ValueEdit{r.layer, r.head, own.key, {}, true}};
}

/// The mean of the other sequences' sink values, over those where the head has an event: held out
/// by leaving the edited sequence out.
Edits mean_sink_value(const EditRequest& r) {
  at::Tensor sum;
  double count = 0;
  for (size_t s = 0; s < r.facts.size(); ++s) {
    const HeadFacts& head = r.head_of(r.facts[s]);
    if (s == r.sequence || !head.event) continue;
    const at::Tensor value = head.value.to(at::kDouble);
    sum = sum.defined() ? sum + value : value;
    ++count;
  }
  return sum.defined() ? value_edit(r, (sum / count).to(at::kFloat)) : Edits{};
}

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

Edits offset_column(const EditRequest& r, float offset) {
  const HeadFacts& own = r.head_of(r.own());
  if (own.key < 0 || r.tokens < 2 || offset == 0) return {};
  return {forward::ColumnEdit{r.layer, r.head, own.key, offset}};
}

Edits remove_column(const EditRequest& r) { return offset_column(r, forward::kRemoved); }

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

/// The payload is the mean of the sequences' sink values where the head has an event; without one
/// the head keeps its own token alone.
Edits local_only(const EditRequest& r) {
  const HeadFacts& own = r.head_of(r.own());
  at::Tensor sum;
  double count = 0;
  for (const SequenceFacts& facts : r.facts) {
    const HeadFacts& head = r.head_of(facts);
    if (!head.event) continue;
    const at::Tensor value = head.value.to(at::kDouble);
    sum = sum.defined() ? sum + value : value;
    ++count;
  }
  const at::Tensor payload = sum.defined() ? (sum / count).to(at::kFloat) : at::Tensor();
  return {forward::LocalEdit{r.layer, r.head, std::max<int64_t>(own.key, 0), payload}};
}

// clang-format off
constexpr Intervention kRows[] = {
    {"zero-sink-value", Reach::kHead, "the value at the key is 0; the weights stay", zero_sink_value},
    {"zero-sink-payload", Reach::kHead, "the same for the other queries; the key's own keeps it", zero_sink_payload},
    {"mean-sink-value", Reach::kHead, "the value at the key is the head's mean one over the other sequences where it has an event", mean_sink_value},
    {"donor-sink-value", Reach::kHead, "the value at the key is the next sequence's at its own key", donor_sink_value, nullptr, true},
    {"donor-nonsink-value", Reach::kHead, "the value at the key is the next sequence's at a random other token", donor_nonsink_value, nullptr, true},
    {"zero-nonsink-value", Reach::kHead, "control: the value of a random other token is 0", zero_nonsink_value},
    {"remove-column", Reach::kHead, "the key gets no attention, rows are normalised anew", remove_column},
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
