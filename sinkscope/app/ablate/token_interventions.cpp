// Edits of the input: what stands at its beginning.

#include <algorithm>
#include <numeric>
#include <random>

#include "sinkscope/app/ablate/intervention.h"

namespace sinkscope::app {
namespace {

using Ids = std::span<const int32_t>;

TokenVariant same_tokens(Ids ids) {
  TokenVariant variant{{ids.begin(), ids.end()}, std::vector<int64_t>(ids.size())};
  std::iota(variant.place_of.begin(), variant.place_of.end(), 0);
  return variant;
}

TokenVariant bos_drop(const EditRequest&, Ids ids) {
  if (ids.size() < 2) return {};
  TokenVariant variant = same_tokens(ids);
  variant.ids.erase(variant.ids.begin());
  for (int64_t& place : variant.place_of) --place;
  return variant;
}

/// --swap-id, or a seeded choice that differs from the token itself.
TokenVariant bos_swap(const EditRequest& r, Ids ids) {
  TokenVariant variant = same_tokens(ids);
  int64_t id = r.options.swap_id;
  if (id < 0) {
    std::seed_seq seeds{r.options.inputs.seed, static_cast<uint64_t>(r.sequence)};
    std::mt19937_64 random(seeds);
    id = static_cast<int64_t>(random() % static_cast<uint64_t>(r.spec.vocabulary));
    if (id == ids[0]) id = (id + 1) % r.spec.vocabulary;
  }
  if (id == ids[0] || id >= r.spec.vocabulary) return {};
  variant.ids[0] = static_cast<int32_t>(id);
  return variant;
}

TokenVariant bos_repeat(const EditRequest& r, Ids ids) {
  if (r.options.repeats < 2) return {};
  const int64_t more = r.options.repeats - 1;
  const bool table = r.spec.positions == model::Positions::kLearned ||
                     r.spec.positions == model::Positions::kFirstNorm;
  if (table && r.spec.context > 0 && std::ssize(ids) + more > r.spec.context) return {};
  TokenVariant variant = same_tokens(ids);
  variant.ids.insert(variant.ids.begin(), static_cast<size_t>(more), ids[0]);
  for (int64_t& place : variant.place_of) place += more;
  return variant;
}

/// The first token moves to --pos; those it passes move one place forward.
TokenVariant bos_move(const EditRequest& r, Ids ids) {
  const int64_t to = r.options.position;
  if (to < 1 || to >= std::ssize(ids)) return {};
  TokenVariant variant = same_tokens(ids);
  std::rotate(variant.ids.begin(), variant.ids.begin() + 1, variant.ids.begin() + to + 1);
  for (int64_t p = 1; p <= to; ++p) --variant.place_of[static_cast<size_t>(p)];
  variant.place_of[0] = to;
  return variant;
}

// clang-format off
constexpr Intervention kRows[] = {
    {"bos-drop", Reach::kTokens, "the first token is left out", nullptr, bos_drop},
    {"bos-swap", Reach::kTokens, "the first token is --swap-id, or a random one", nullptr, bos_swap},
    {"bos-repeat", Reach::kTokens, "the first token stands there --repeats times, where learned positions leave room for it", nullptr, bos_repeat},
    {"bos-move", Reach::kTokens, "the first token stands at --pos", nullptr, bos_move},
};
// clang-format on

}  // namespace

std::span<const Intervention> token_interventions() { return kRows; }

}  // namespace sinkscope::app
