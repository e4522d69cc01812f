#include "sinkscope/app/ablate/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sinkscope/app/inputs.h"
#include "sinkscope/base/error.h"

namespace sinkscope::app {
namespace {

using Key = std::tuple<std::string, int64_t, int64_t, int64_t>;
using Heads = std::vector<std::pair<int64_t, int64_t>>;

// A killed run loses no more than a pass of this many rows.
constexpr int64_t kMostRows = 32768;

Heads heads_with_sink(const model::ModelSpec& spec, std::span<const SequenceFacts> facts) {
  Heads heads;
  for (int64_t l = 0; l < spec.layers; ++l) {
    for (int64_t h = 0; h < spec.heads; ++h) {
      const bool sink = std::any_of(facts.begin(), facts.end(), [&](const SequenceFacts& f) {
        const HeadFacts& head = f.heads[static_cast<size_t>(l)][static_cast<size_t>(h)];
        return head.event || head.conditional;
      });
      if (sink) heads.emplace_back(l, h);
    }
  }
  return heads;
}

/// The targets of an intervention: its heads, the blocks of --blocks, or the model as a whole.
Heads targets_of(const Intervention& intervention, const Heads& heads, const AblateOptions& options,
                 const model::ModelSpec& spec) {
  if (intervention.reach == Reach::kHead) return heads;
  if (intervention.reach != Reach::kLayer) return {{-1, -1}};
  Heads layers;
  for (int64_t l = 0; l < spec.layers; ++l) {
    const auto& named = options.blocks;
    if (named.empty() || std::find(named.begin(), named.end(), l) != named.end()) {
      layers.emplace_back(l, -1);
    }
  }
  return layers;
}

bool make_item(const Intervention& intervention, const EditRequest& request,
               const store::SequenceInfo& sequence, WorkItem& item) {
  item.intervention = &intervention;
  item.layer = request.layer, item.head = request.head;
  item.sequence = request.sequence;
  if (intervention.reach == Reach::kTokens) {
    // Of an image there are no tokens to move.
    if (!sequence.ids.empty()) item.variant = intervention.variant(request, sequence.ids);
    return !item.variant.ids.empty();
  }
  item.edits = intervention.edits(request);
  return !item.edits.empty();
}

/// Whether all that an item does is to put in the value that is there.
bool is_identical(const WorkItem& item, const EditRequest& request) {
  if (item.edits.size() != 1) return false;
  const auto* edit = std::get_if<forward::ValueEdit>(&item.edits.front());
  return edit && edit->value.defined() && edit->value.equal(request.head_of(request.own()).value);
}

/// What became of the sequences and targets of one intervention.
struct Tally {
  int64_t edited = 0, untouched = 0, identical = 0;
};

std::string reason_without_effect(const Intervention& intervention, bool has_ids) {
  return intervention.reach == Reach::kTokens && !has_ids
             ? "there are no token ids in these inputs"
             : "nothing to change in this model with these inputs";
}

/// Notes, and a refusal of what was asked for by name and cannot be done.
void judge(std::span<const Intervention* const> interventions, std::span<const Tally> tallies,
           const AblateOptions& options, bool has_ids, Work& work) {
  std::map<std::string, std::string> left_out;  // names by reason
  int64_t untouched = 0, edited = 0;
  for (size_t i = 0; i < tallies.size(); ++i) {
    const Intervention& intervention = *interventions[i];
    const Tally& tally = tallies[i];
    edited += tally.edited;
    if (tally.edited > 0) untouched += tally.untouched;
    if (tally.identical > 0) {
      work.notes.push_back(fmt::format(
          "{}: in {} of {} edits the value put in is the one that was there: identical by "
          "construction",
          intervention.name, tally.identical, tally.edited));
    }
    if (tally.edited > 0) continue;
    const std::string reason = reason_without_effect(intervention, has_ids);
    const auto& named = options.interventions;
    if (std::find(named.begin(), named.end(), intervention.name) != named.end()) {
      throw Error(ErrorKind::kNoEffect, "edit the model",
                  fmt::format("{} touches nothing ({}): {}", intervention.name,
                              intervention.definition, reason),
                  "other heads, positions or inputs, or leave it out of --edit");
    }
    std::string& names = left_out[reason];
    names += (names.empty() ? "" : ", ") + std::string(intervention.name);
  }
  for (const auto& [reason, names] : left_out) {
    work.notes.push_back(fmt::format("left out of all: {}: {}", names, reason));
  }
  if (edited == 0) {
    throw Error(ErrorKind::kNoEffect, "edit the model", "no intervention touches these inputs");
  }
  if (untouched > 0) {
    work.notes.push_back(
        fmt::format("{} edits of a head in a sequence would have changed nothing and were left out",
                    untouched));
  }
}

}  // namespace

Heads chosen_heads(const AblateOptions& options, const model::ModelSpec& spec,
                   std::span<const SequenceFacts> facts) {
  if (options.heads == "auto") {
    Heads heads = heads_with_sink(spec, facts);
    if (!heads.empty()) return heads;
    throw Error(ErrorKind::kNoEffect, "choose heads",
                "no head has a sink event or a conditional sink in these inputs",
                "--heads all, or name some: --heads L5H3");
  }
  Heads heads;
  const auto named = parse_heads(options.heads == "all" ? "" : options.heads,
                                 static_cast<int>(spec.layers), static_cast<int>(spec.heads));
  for (int64_t l = 0; l < spec.layers; ++l) {
    for (int64_t h = 0; h < spec.heads; ++h) {
      if (!named || named->contains({static_cast<int>(l), static_cast<int>(h)})) {
        heads.emplace_back(l, h);
      }
    }
  }
  return heads;
}

Work make_work(std::span<const Intervention* const> interventions, const AblateOptions& options,
               const model::ModelSpec& spec, std::span<const SequenceFacts> facts,
               std::span<const store::SequenceInfo* const> sequences,
               std::span<const store::Effect> done) {
  std::set<Key> finished;
  for (const store::Effect& e : done) {
    finished.emplace(e.intervention, e.layer, e.head, e.sequence);
  }
  const bool any_head = std::any_of(interventions.begin(), interventions.end(),
                                    [](const auto* i) { return i->reach == Reach::kHead; });
  const Heads heads = any_head ? chosen_heads(options, spec, facts) : Heads{};
  Work work;
  std::vector<Tally> tallies(interventions.size());
  for (size_t s = 0; s < sequences.size(); ++s) {
    for (size_t i = 0; i < interventions.size(); ++i) {
      const Intervention& intervention = *interventions[i];
      for (const auto& [layer, head] : targets_of(intervention, heads, options, spec)) {
        const EditRequest request{spec, options, facts, s, sequences[s]->tokens(), layer, head};
        WorkItem item;
        if (!make_item(intervention, request, *sequences[s], item)) {
          ++tallies[i].untouched;
          continue;
        }
        ++tallies[i].edited;
        tallies[i].identical += is_identical(item, request);
        const Key key{std::string(intervention.name), layer, head, sequences[s]->id};
        if (!finished.contains(key)) work.items.push_back(std::move(item));
      }
    }
  }
  const bool has_ids = std::any_of(sequences.begin(), sequences.end(),
                                   [](const auto* s) { return !s->ids.empty(); });
  judge(interventions, tallies, options, has_ids, work);
  // Token variants last: a pass holds either forks or variants.
  std::stable_partition(work.items.begin(), work.items.end(), [](const WorkItem& item) {
    return item.intervention->reach != Reach::kTokens;
  });
  return work;
}

size_t items_of_pass(const Work& work, size_t first, const forward::Runner& runner,
                     const model::ModelSpec& spec,
                     std::span<const store::SequenceInfo* const> sequences, int64_t limit) {
  const bool variants = work.items[first].intervention->reach == Reach::kTokens;
  std::vector<int64_t> lengths;
  size_t last_sequence = sequences.size(), count = 0;
  int64_t rows = 0;
  for (size_t i = first; i < work.items.size(); ++i) {
    const WorkItem& item = work.items[i];
    const int64_t tokens = sequences[item.sequence]->tokens();
    if ((item.intervention->reach == Reach::kTokens) != variants) break;
    const bool new_sequence = item.sequence != last_sequence;
    if (new_sequence && variants && count > 0) break;
    if (new_sequence) lengths.push_back(tokens);
    lengths.push_back(variants ? std::ssize(item.variant.ids) : tokens);
    rows += lengths.back() + (new_sequence ? tokens : 0);
    last_sequence = item.sequence;
    // Beside the pass: a second residual while forks join, and the distributions that are kept.
    const int64_t kept = variants ? tokens : runner.rows_at_once();
    const int64_t bytes = runner.planned_bytes(lengths) +
                          rows * spec.width * static_cast<int64_t>(sizeof(float)) +
                          kept * spec.vocabulary * static_cast<int64_t>(sizeof(float));
    if (count > 0 && (bytes > limit || rows > kMostRows)) break;
    ++count;
  }
  return count;
}

}  // namespace sinkscope::app
