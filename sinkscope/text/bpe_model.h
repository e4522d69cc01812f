#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sinkscope/text/piece_model.h"

namespace sinkscope::text {

/// Byte pair encoding of one piece of text: the best pair of neighbours is joined until none is
/// left; of equally good pairs the leftmost. Time n log n in the bytes of the piece.
class BpeModel final : public PieceModel {
 public:
  enum class Units { kBytes, kCharacters };  ///< what a piece consists of at first

  struct Options {
    Units units = Units::kBytes;
    bool whole_pieces = false;  ///< a piece that is in the vocabulary is taken as it is
    bool fuse_unknown = false;  ///< neighbouring unknown characters give one id
    /// For what neither a token nor bytes can say; absent: dropped.
    std::optional<int32_t> unknown = std::nullopt;
    /// Joined to the spelling of the last character of a piece when it is looked up (CLIP: "</w>").
    std::string end_suffix = {};
    /// The same in front of each character but the first; a merge drops it from its right part.
    std::string inner_prefix = {};
  };

  /// Pairs are ranked by merges, see add_merge.
  BpeModel(Vocabulary vocabulary, Options options);
  /// SentencePiece: the neighbours whose union has the highest score are joined. One score an id.
  BpeModel(Vocabulary vocabulary, Options options, std::vector<double> scores);

  /// The next merge, best first. False when a part or the union is not in the vocabulary. A pair
  /// given twice keeps its first rank.
  bool add_merge(std::string_view left, std::string_view right);

  void encode(std::string_view piece, Ids& out) const override;

 private:
  static constexpr int32_t kNone = -1;

  /// A stretch of the piece; merged away when `length` is 0. `id` is kNone for what is no token.
  struct Symbol {
    int32_t previous = kNone;
    int32_t next = kNone;
    uint32_t begin = 0;
    uint32_t length = 0;
    int32_t id = kNone;
  };
  /// A possible merge, stale once the two lengths no longer add up to `length`.
  struct Candidate {
    double cost = 0;
    int32_t left = 0;
    int32_t right = 0;
    uint32_t length = 0;
    int32_t id = 0;
  };
  struct Merge {
    double cost = 0;
    int32_t id = 0;
  };

  std::vector<Symbol> symbols_of(std::string_view piece) const;
  std::optional<int32_t> find_character(std::string_view piece, size_t at, size_t length) const;
  std::optional<Merge> find_merge(std::string_view piece, const Symbol& left,
                                  const Symbol& right) const;
  void merge_all(std::string_view piece, std::vector<Symbol>& symbols) const;
  void put(std::string_view piece, const std::vector<Symbol>& symbols, Ids& out) const;

  Options options_;
  std::unordered_map<uint64_t, Merge> merges_;  ///< by the two ids
  std::vector<double> scores_;                  ///< empty: merges rank the pairs
};

}  // namespace sinkscope::text
