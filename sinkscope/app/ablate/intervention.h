#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "sinkscope/app/ablate/base_facts.h"
#include "sinkscope/app/options.h"
#include "sinkscope/forward/edit.h"

namespace sinkscope::app {

/// Of what an intervention has one result per sequence.
enum class Reach {
  kHead,    ///< one head
  kLayer,   ///< one block
  kModel,   ///< blocks, positions or channels of the whole model
  kTokens,  ///< the input itself
};

/// What an intervention may look at to make its edits in one sequence.
struct EditRequest {
  const model::ModelSpec& spec;
  const AblateOptions& options;
  std::span<const SequenceFacts> facts;  ///< of every sequence of the run
  size_t sequence = 0;                   ///< place in `facts`
  int64_t tokens = 0;                    ///< T of the sequence
  int64_t layer = -1, head = -1;         ///< layer for kHead and kLayer, head for kHead

  const SequenceFacts& own() const { return facts[sequence]; }
  /// The sequence after this one (method.md section 6, protocol); this one where it is alone.
  const SequenceFacts& donor() const { return facts[(sequence + 1) % facts.size()]; }
  const HeadFacts& head_of(const SequenceFacts& of) const {
    return of.heads[static_cast<size_t>(layer)][static_cast<size_t>(head)];
  }
};

/// A sequence of other tokens, and where the base's positions are found in it: -1 for none.
struct TokenVariant {
  std::vector<int32_t> ids;
  std::vector<int64_t> place_of;  ///< by position of the base
};

/// One row of the table: name, and how it is made. Empty edits or no variant: it touches nothing
/// there.
struct Intervention {
  std::string_view name;
  Reach reach = Reach::kHead;
  std::string_view definition;
  std::vector<forward::Edit> (*edits)(const EditRequest&) = nullptr;
  TokenVariant (*variant)(const EditRequest&, std::span<const int32_t> ids) = nullptr;
  bool uses_donor = false;  ///< donor_cosine is defined
  bool uses_z = false;      ///< needs SequenceFacts::z
};

/// The one table.
std::span<const Intervention> all_interventions();
/// Throws kUsage listing the known names; "all" stands for every row.
std::vector<const Intervention*> select_interventions(std::span<const std::string> names);

std::span<const Intervention> head_interventions();   // head_interventions.cpp
std::span<const Intervention> model_interventions();  // model_interventions.cpp
std::span<const Intervention> token_interventions();  // token_interventions.cpp

}  // namespace sinkscope::app
