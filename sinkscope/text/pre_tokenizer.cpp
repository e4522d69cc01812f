#include "sinkscope/text/pre_tokenizer.h"

#include <algorithm>
#include <utility>

#include "sinkscope/text/utf8.h"

namespace sinkscope::text {
namespace {

struct Segment {
  std::string_view text;
  bool match = false;
};

// The matches and the text between them, in order; empty ones only cut.
std::vector<Segment> segments(const PreTokenizer::Step& step, std::string_view text) {
  std::vector<Regex::Match> matches;
  step.pattern.find_all(text, matches);
  std::vector<Segment> out;
  const auto put = [&](size_t begin, size_t end, bool match) {
    if (begin < end) out.push_back({text.substr(begin, end - begin), match != step.invert});
  };
  size_t at = 0;
  for (const Regex::Match& match : matches) {
    put(at, match.begin, false);
    put(match.begin, match.end, true);
    at = match.end;
  }
  put(at, text.size(), false);
  return out;
}

std::string_view joined(std::string_view left, std::string_view right) {
  return {left.data(), left.size() + right.size()};
}

// Whether `current` belongs to the piece of `previous`, its left neighbour.
bool merges(SplitBehaviour behaviour, const Segment& previous, const Segment& current) {
  switch (behaviour) {
    case SplitBehaviour::kIsolated:
    case SplitBehaviour::kRemoved: return false;
    case SplitBehaviour::kMergedWithPrevious: return current.match && !previous.match;
    case SplitBehaviour::kMergedWithNext: return previous.match && !current.match;
    case SplitBehaviour::kContiguous: return previous.match == current.match;
  }
  return false;
}

void apply(const PreTokenizer::Step& step, std::string_view text,
           std::vector<std::string_view>& out) {
  const std::vector<Segment> parts = segments(step, text);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (step.behaviour == SplitBehaviour::kRemoved && parts[i].match) continue;
    if (i > 0 && merges(step.behaviour, parts[i - 1], parts[i])) {
      out.back() = joined(out.back(), parts[i].text);
    } else {
      out.push_back(parts[i].text);
    }
  }
}

}  // namespace

std::vector<std::string_view> PreTokenizer::split(std::string_view text) const {
  std::vector<std::string_view> out;
  std::vector<std::string_view> pieces;
  std::vector<std::string_view> next;
  for (size_t at = 0; at < text.size();) {
    const Run run = utf8_run(text, at);
    at += run.bytes.size();
    pieces.assign(1, run.bytes);
    if (run.well_formed) {
      for (const Step& step : steps_) {
        next.clear();
        for (const std::string_view piece : pieces) apply(step, piece, next);
        pieces.swap(next);
      }
    }
    out.insert(out.end(), pieces.begin(), pieces.end());
  }
  return out;
}

}  // namespace sinkscope::text
