#pragma once

#include <optional>
#include <vector>

#include "sinkscope/text/piece_model.h"
#include "sinkscope/text/trie.h"

namespace sinkscope::text {

/// SentencePiece's unigram model: the tokens that spell a piece with the highest sum of scores; of
/// equal sums the one whose last token begins first. Characters that are no token cost the lowest
/// score less 10, neighbouring ones give one unknown token, or their bytes where the vocabulary has
/// them. Time: bytes of the piece times the length of the longest token.
class UnigramModel final : public PieceModel {
 public:
  struct Options {
    std::optional<int32_t> unknown = std::nullopt;  ///< absent: what is no token is dropped
    double lowest_score = 0;                        ///< of the vocabulary
  };
  UnigramModel(Vocabulary vocabulary, Options options);

  void add(std::string_view spelling, int32_t id, double score);

  void encode(std::string_view piece, Ids& out) const override;

 private:
  /// The best way to spell the text up to one byte: its last token and where that begins.
  struct Path {
    double score = 0;
    size_t begin = 0;
    int32_t id = kUnreached;
  };
  static constexpr int32_t kUnreached = -2;
  static constexpr int32_t kUnknown = -1;

  std::vector<Path> best_paths(std::string_view piece) const;
  void put_unknown(std::string_view text, Ids& out) const;

  Options options_;
  Trie trie_;
  std::vector<double> scores_;  ///< by id
};

}  // namespace sinkscope::text
