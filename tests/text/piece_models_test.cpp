// The models that turn a piece into ids, and the character map of SentencePiece.
#include <gtest/gtest.h>

#include "sinkscope/base/error.h"
#include "sinkscope/text/bpe_model.h"
#include "sinkscope/text/charsmap.h"
#include "sinkscope/text/unigram_model.h"
#include "sinkscope/text/wordpiece_model.h"

namespace sinkscope::text {
namespace {

/// Tokens 0, 1, ... with the given pieces.
Vocabulary vocabulary_of(const std::vector<std::string>& pieces) {
  Vocabulary out(static_cast<int64_t>(pieces.size()));
  for (size_t i = 0; i < pieces.size(); ++i) {
    out.set_piece(pieces[i], static_cast<int32_t>(i));
  }
  return out;
}

TEST(BpeModel, BestRankFirstThenLeftmost) {
  BpeModel model(vocabulary_of({"a", "b", "c", "ab", "bc", "aa", "abc"}), {});
  ASSERT_TRUE(model.add_merge("b", "c"));
  ASSERT_TRUE(model.add_merge("a", "a"));
  ASSERT_TRUE(model.add_merge("a", "b"));
  ASSERT_TRUE(model.add_merge("a", "bc"));
  EXPECT_FALSE(model.add_merge("c", "c"));
  Ids ids;
  model.encode("abcaaab", ids);
  EXPECT_EQ(ids, (Ids{6, 5, 3}));
}

TEST(BpeModel, ScoresDecideWithoutMerges) {
  BpeModel model(vocabulary_of({"a", "b", "c", "ab", "bc"}),
                 {.units = BpeModel::Units::kCharacters}, {0, 0, 0, -2, -1});
  Ids ids;
  model.encode("abc", ids);
  EXPECT_EQ(ids, (Ids{0, 4}));
}

TEST(BpeModel, UnknownCharacters) {
  const auto encode = [](bool fuse, std::optional<int32_t> unknown, bool bytes) {
    Vocabulary vocabulary = vocabulary_of({"a", "", "", ""});
    if (bytes) vocabulary.set_byte_id(0xC3, 2);
    if (bytes) vocabulary.set_byte_id(0xA4, 3);
    const BpeModel model(
        std::move(vocabulary),
        {.units = BpeModel::Units::kCharacters, .fuse_unknown = fuse, .unknown = unknown});
    Ids ids;
    model.encode("a\u00E4\u00E4", ids);
    return ids;
  };
  EXPECT_EQ(encode(false, 1, false), (Ids{0, 1, 1}));
  EXPECT_EQ(encode(true, 1, false), (Ids{0, 1}));
  EXPECT_EQ(encode(false, std::nullopt, false), (Ids{0}));
  EXPECT_EQ(encode(false, 1, true), (Ids{0, 2, 3, 2, 3}));
}

TEST(BpeModel, EndsAndInnerMarks) {
  BpeModel clip(vocabulary_of({"a", "b", "a</w>", "b</w>", "ab</w>", "ab"}),
                {.end_suffix = "</w>"});
  ASSERT_TRUE(clip.add_merge("a", "b"));
  ASSERT_TRUE(clip.add_merge("a", "b</w>"));
  Ids ids;
  clip.encode("abab", ids);
  clip.encode("a", ids);
  EXPECT_EQ(ids, (Ids{5, 4, 2}));
  BpeModel marked(vocabulary_of({"a", "@b", "@c", "ab", "@bc", "abc"}), {.inner_prefix = "@"});
  ASSERT_TRUE(marked.add_merge("@b", "@c"));
  ASSERT_TRUE(marked.add_merge("a", "@bc"));
  ids.clear();
  marked.encode("abc", ids);
  EXPECT_EQ(ids, (Ids{5}));
}

WordPieceModel word_pieces(size_t longest) {
  return {Vocabulary(9), {.unknown = 0, .max_characters = longest}};
}

TEST(WordPieceModel, LongestFirstAndAllOrNothing) {
  WordPieceModel model = word_pieces(6);
  model.add_start("un", 1);
  model.add_start("una", 2);
  model.add_continuation("able", 3);
  model.add_continuation("ble", 4);
  Ids ids;
  for (const char* word : {"unable", "una", "unx", "able", "unableb"}) model.encode(word, ids);
  // The longest start leaves "ble"; nothing goes back for a word that cannot be finished.
  EXPECT_EQ(ids, (Ids{2, 4, 2, 0, 0, 0}));
}

TEST(WordPieceModel, CountsCharactersNotBytes) {
  WordPieceModel model = word_pieces(2);
  model.add_start("\u00E4", 1);
  model.add_continuation("\u00E4", 2);
  Ids ids;
  for (const char* word : {"\u00E4\u00E4", "\u00E4\u00E4\u00E4"}) model.encode(word, ids);
  EXPECT_EQ(ids, (Ids{1, 2, 0}));
}

TEST(UnigramModel, TheBestSumWinsNotTheLongestToken) {
  UnigramModel model(Vocabulary(9), {.unknown = 0, .lowest_score = -9});
  model.add("a", 1, -3);
  model.add("ab", 2, -3);
  model.add("bc", 3, -3);
  model.add("abc", 4, -7);
  Ids ids;
  model.encode("abc", ids);
  EXPECT_EQ(ids, (Ids{1, 3}));
  ids.clear();
  model.encode(
      "a\u00E4\u00F6\xFF"
      "bc",
      ids);  // neighbouring unknowns are one
  EXPECT_EQ(ids, (Ids{1, 0, 3}));
}

TEST(UnigramModel, UnknownCharactersAsBytesWhereAllHaveOne) {
  Vocabulary vocabulary(9);
  vocabulary.set_byte_id(0xC3, 5);
  vocabulary.set_byte_id(0xA4, 6);
  const UnigramModel model(std::move(vocabulary), {.unknown = 0});
  Ids ids;
  model.encode("\u00E4", ids);
  model.encode("\u00E4\u00F6", ids);  // 0xB6 has none
  EXPECT_EQ(ids, (Ids{5, 6, 0}));
}

// Quadratic in the length of a word would need 10^12 steps.
TEST(UnigramModel, AMillionEqualLetters) {
  UnigramModel unigram(Vocabulary(9), {.unknown = 0, .lowest_score = -9});
  WordPieceModel pieces = word_pieces(size_t{1} << 20);
  for (int32_t length = 1; length <= 8; ++length) {
    const std::string token(static_cast<size_t>(length), 'a');
    unigram.add(token, length, -1);
    pieces.add_start(token, length);
    pieces.add_continuation(token, length);
  }
  const std::string text(size_t{1} << 20, 'a');
  Ids ids;
  unigram.encode(text, ids);
  EXPECT_EQ(ids, Ids(text.size() / 8, 8));
  ids.clear();
  pieces.encode(text, ids);
  EXPECT_EQ(ids, Ids(text.size() / 8, 8));
}

std::string words(std::initializer_list<uint32_t> numbers) {
  std::string out;
  for (const uint32_t number : numbers) {
    for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(number >> shift));
  }
  return out;
}

TEST(Charsmap, ATrieThatLeadsOutOfTheMapIsRefused) {
  const auto refused = [](const std::string& bytes, std::string_view says) {
    try {
      Charsmap(bytes, "map").shortest("a");
      FAIL() << "not refused: " << says;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::kBadFile);
      EXPECT_NE(error.seen.find(says), std::string::npos) << error.seen;
    }
  };
  refused("abc", "3 bytes");
  refused(words({0}), "a trie of 0 bytes");
  refused(words({6, 0, 0}), "a trie of 6 bytes");
  refused(words({8, 0}), "a trie of 8 bytes in a map of 8");
  refused(words({4, 1 << 10}), "unit 96 of a trie of 1");
  // Root, then at 1 ^ 'a' = 96 a unit with that label and a value at 96 ^ 1.
  std::string trie = words({98 * 4, 1 << 10});
  for (int unit = 1; unit < 96; ++unit) trie += words({0});
  trie += words({'a' | 1 << 8 | 1 << 10, 0x80000002});
  refused(trie + std::string("xy", 2), "no replacement ends behind byte 2 of 2");
  refused(trie + std::string("xyz", 3), "no replacement ends behind byte 2 of 3");
  const Charsmap whole(trie + std::string("x\0zz\0", 5), "map");
  ASSERT_TRUE(whole.shortest("ab"));
  EXPECT_EQ(whole.shortest("ab")->replacement, "zz");
  EXPECT_EQ(whole.shortest("ab")->length, 1u);
  EXPECT_FALSE(whole.shortest("`"));  // a value is no child
}

// Every pair merges in every round: a quadratic merger needs about 10^12 steps here.
TEST(BpeModel, AMillionEqualLetters) {
  std::vector<std::string> pieces;
  for (size_t length = 1; length <= 1024; length *= 2) pieces.emplace_back(length, 'a');
  BpeModel ranked(vocabulary_of(pieces), {});
  for (size_t i = 0; i + 1 < pieces.size(); ++i)
    ASSERT_TRUE(ranked.add_merge(pieces[i], pieces[i]));
  const BpeModel scored(vocabulary_of(pieces), {.units = BpeModel::Units::kCharacters},
                        std::vector<double>(pieces.size(), -1));
  const std::string text(size_t{1} << 20, 'a');
  Ids ids;
  ranked.encode(text, ids);
  EXPECT_EQ(ids, Ids(1024, 10));
  Ids scored_ids;
  scored.encode(text, scored_ids);
  size_t length = 0;
  for (const int32_t id : scored_ids) length += pieces[id].size();
  EXPECT_EQ(length, text.size());
}

}  // namespace
}  // namespace sinkscope::text
