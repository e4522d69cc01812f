#include "sinkscope/text/unigram_model.h"

#include <algorithm>
#include <utility>

#include "sinkscope/text/utf8.h"

namespace sinkscope::text {
namespace {

constexpr double kUnknownPenalty = 10;  // SentencePiece's kUnkPenalty

}  // namespace

UnigramModel::UnigramModel(Vocabulary vocabulary, Options options)
    : PieceModel(std::move(vocabulary)),
      options_(options),
      scores_(static_cast<size_t>(vocabulary_.size())) {}

void UnigramModel::add(std::string_view spelling, int32_t id, double score) {
  trie_.add(spelling, id);
  scores_[id] = score;
}

std::vector<UnigramModel::Path> UnigramModel::best_paths(std::string_view piece) const {
  std::vector<Path> paths(piece.size() + 1);
  const auto offer = [&](size_t begin, size_t end, int32_t id, double score) {
    const double sum = paths[begin].score + score;
    if (paths[end].id == kUnreached || sum > paths[end].score) paths[end] = {sum, begin, id};
  };
  for (size_t begin = 0; begin < piece.size();) {
    const size_t character = std::max<size_t>(1, utf8_length(piece, begin));
    bool is_token = false;
    trie_.visit_prefixes(piece.substr(begin), [&](size_t length, int32_t id) {
      is_token |= length == character;
      offer(begin, begin + length, id, scores_[id]);
    });
    if (!is_token) {
      offer(begin, begin + character, kUnknown, options_.lowest_score - kUnknownPenalty);
    }
    begin += character;
  }
  return paths;
}

void UnigramModel::encode(std::string_view piece, Ids& out) const {
  const std::vector<Path> paths = best_paths(piece);
  std::vector<size_t> ends;
  for (size_t end = piece.size(); end > 0; end = paths[end].begin) ends.push_back(end);
  for (size_t i = ends.size(); i-- > 0;) {
    const Path& path = paths[ends[i]];
    if (path.id != kUnknown) {
      out.push_back(path.id);
      continue;
    }
    while (i > 0 && paths[ends[i - 1]].id == kUnknown) --i;
    put_unknown(piece.substr(path.begin, ends[i] - path.begin), out);
  }
}

void UnigramModel::put_unknown(std::string_view text, Ids& out) const {
  if (vocabulary_.has_bytes(text)) {
    for (const char byte : text) out.push_back(*vocabulary_.byte_id(static_cast<uint8_t>(byte)));
  } else if (options_.unknown) {
    out.push_back(*options_.unknown);
  }
}

}  // namespace sinkscope::text
