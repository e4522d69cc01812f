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
std::vector<Segment> segments(const PreTokenizer::Split& step, std::string_view text) {
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

void apply(const PreTokenizer::Split& step, std::string_view text,
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

// `first` holds for the first piece and is cleared when that piece goes.
void apply(const PreTokenizer::Split& step, std::vector<std::string_view>& pieces, bool* first) {
  std::vector<std::string_view> next;
  for (const std::string_view piece : pieces) apply(step, piece, next);
  if (!next.empty() && next.front().data() != pieces.front().data()) *first = false;
  pieces.swap(next);
}

// One buffer takes all pieces, which are what `text` bytes became: a text of many words makes many
// short ones.
void apply(const Rewrite& step, std::vector<std::string_view>& pieces, bool first, size_t text,
           std::deque<std::string>& rewritten) {
  std::string& buffer = rewritten.emplace_back();
  std::vector<size_t> ends;
  for (const std::string_view piece : pieces) {
    buffer += step(piece, first && ends.empty());
    check_growth(buffer.size(), text);
    ends.push_back(buffer.size());
  }
  pieces.clear();
  size_t begin = 0;
  for (const size_t end : ends) {
    if (begin < end) pieces.push_back(std::string_view(buffer).substr(begin, end - begin));
    begin = end;
  }
}

}  // namespace

Pieces PreTokenizer::split(std::string_view text, bool first) const {
  Pieces out;
  for (size_t at = 0; at < text.size();) {
    const Run run = utf8_run(text, at);
    bool run_first = first && at == 0;
    at += run.bytes.size();
    std::vector<std::string_view> pieces = {run.bytes};
    if (run.well_formed) {
      for (const Step& step : steps_) {
        if (const auto* const split = std::get_if<Split>(&step)) {
          apply(*split, pieces, &run_first);
        } else {
          apply(std::get<Rewrite>(step), pieces, run_first, run.bytes.size(), out.rewritten);
        }
      }
    }
    out.list.insert(out.list.end(), pieces.begin(), pieces.end());
  }
  return out;
}

}  // namespace sinkscope::text
