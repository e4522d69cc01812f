// The parts of a tokenizer, one at a time.
#include <gtest/gtest.h>

#include "sinkscope/base/error.h"
#include "sinkscope/text/bpe_model.h"
#include "sinkscope/text/byte_letters.h"
#include "sinkscope/text/pipeline.h"
#include "sinkscope/text/pre_tokenizer.h"
#include "sinkscope/text/rewrite.h"
#include "sinkscope/text/special_tokens.h"
#include "sinkscope/text/utf8.h"

namespace sinkscope::text {
namespace {

using List = std::vector<std::string_view>;

PreTokenizer one_step(std::string_view pattern, SplitBehaviour behaviour, bool invert = false) {
  PreTokenizer out;
  out.add({Regex(pattern, "test"), behaviour, invert});
  return out;
}

TEST(Utf8, RefusesWhatUnicodeRefuses) {
  const auto length = [](std::string_view text) { return utf8_length(text, 0); };
  EXPECT_EQ(length("a"), 1u);
  EXPECT_EQ(length("\u00E4"), 2u);
  EXPECT_EQ(length("\uFFFF"), 3u);
  EXPECT_EQ(length("\U0010FFFF"), 4u);
  for (const char* bad : {"\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x96", "\xE2\x28\xA1"}) {
    EXPECT_EQ(length(bad), 0u) << bad;
  }
}

TEST(Utf8, RoundTrip) {
  for (const char32_t c : {U'\x7F', U'\x80', U'\x7FF', U'\x800', U'\xFFFD', U'\U00010000'}) {
    std::string text;
    utf8_append(c, text);
    EXPECT_EQ(utf8_length(text, 0), text.size());
    EXPECT_EQ(utf8_decode(text), c);
  }
}

TEST(ByteLetters, AreGpt2sTable) {
  EXPECT_EQ(letter_of_byte(' '), "\u0120");
  EXPECT_EQ(letter_of_byte('\n'), "\u010A");
  EXPECT_EQ(letter_of_byte(0xAD), "\u0143");  // the last stand-in
  EXPECT_EQ(letter_of_byte('!'), "!");
  EXPECT_EQ(letter_of_byte(0xFF), "\u00FF");
  for (int byte = 0; byte < 256; ++byte) {
    const auto back = bytes_of_letters(letter_of_byte(static_cast<uint8_t>(byte)));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, std::string(1, static_cast<char>(byte)));
  }
  EXPECT_FALSE(bytes_of_letters("a b"));
  EXPECT_FALSE(bytes_of_letters("\u0144"));
}

TEST(PreTokenizer, Behaviours) {
  using enum SplitBehaviour;
  const std::string_view text = "a--b-c";
  EXPECT_EQ(one_step("-", kIsolated).split(text).list, (List{"a", "-", "-", "b", "-", "c"}));
  EXPECT_EQ(one_step("-", kRemoved).split(text).list, (List{"a", "b", "c"}));
  EXPECT_EQ(one_step("-", kRemoved, true).split(text).list, (List{"-", "-", "-"}));
  EXPECT_EQ(one_step("-", kMergedWithPrevious).split(text).list, (List{"a-", "-", "b-", "c"}));
  EXPECT_EQ(one_step("-", kMergedWithNext).split(text).list, (List{"a", "-", "-b", "-c"}));
  EXPECT_EQ(one_step("-", kContiguous).split(text).list, (List{"a", "--", "b", "-", "c"}));
}

TEST(PreTokenizer, ALaterStepSeesOnePieceAtATime) {
  PreTokenizer out;
  out.add(PreTokenizer::Split{Regex(R"(\p{N})", "test")});
  out.add(PreTokenizer::Split{Regex(kGpt2Pattern, "test")});
  // Behind the cut the space ends its piece, so it stays alone instead of joining " 1".
  EXPECT_EQ(out.split("a  12").list, (List{"a", "  ", "1", "2"}));
}

TEST(PreTokenizer, BytesThatAreNoUtf8ArePiecesOfTheirOwn) {
  const auto gpt2 = named_pre_type("gpt-2", "test").pre_tokenizer;
  EXPECT_EQ(gpt2.split("ab\xFF\xFE cd\xE2\x96").list, (List{"ab", "\xFF\xFE", " cd", "\xE2\x96"}));
}

TEST(PreTokenizer, EmptyMatchesOnlyCut) {
  EXPECT_EQ(one_step("(?=b)", SplitBehaviour::kIsolated).split("abab").list,
            (List{"a", "ba", "b"}));
}

TEST(PreTokenizer, WhiteSpaceIsUnicodes) {
  // U+180E was white space once; PCRE2's own \s still says so.
  EXPECT_EQ(one_step(R"(\s+)", SplitBehaviour::kIsolated).split("a\u3000 b\u180Ec").list,
            (List{"a", "\u3000 ", "b\u180Ec"}));
}

TEST(PreTokenizer, NamedRulesDiffer) {
  const auto split = [](std::string_view name, std::string_view text) {
    const PreType type = named_pre_type(name, "test");  // the pieces point into `text`
    return type.pre_tokenizer.split(text).list;
  };
  EXPECT_EQ(split("gpt-2", "x 1234'S"), (List{"x", " 1234", "'", "S"}));
  EXPECT_EQ(split("smollm", "x 12"), (List{"x", " ", "1", "2"}));
  EXPECT_EQ(split("falcon", "x 1234!?"), (List{"x", " ", "123", "4", "!?"}));
  EXPECT_EQ(split("llama-bpe", "x 1234'S\n"), (List{"x", " ", "123", "4", "'S", "\n"}));
  EXPECT_EQ(split("qwen2", "x 12"), (List{"x", " ", "1", "2"}));
  EXPECT_EQ(split("gpt-4o", "camelCase it's/\n"), (List{"camel", "Case", " it's", "/\n"}));
  EXPECT_EQ(split("gpt-4o", "\u0628\u0650\u0633"), (List{"\u0628\u0650\u0633"}));  // with a mark
}

TEST(Regex, AnUnreadablePatternIsNamed) {
  try {
    Regex("a(b", "tokenizer.json: pre_tokenizer");
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kUnsupported);
    EXPECT_NE(error.seen.find("tokenizer.json: pre_tokenizer"), std::string::npos);
    EXPECT_NE(error.seen.find("a(b"), std::string::npos);
  }
}

TEST(Regex, AnExplodingPatternIsStopped) {
  const Regex regex("(a|aa)+$", "test");
  std::vector<Regex::Match> matches;
  EXPECT_THROW(regex.find_all(std::string(200, 'a') + "b", matches), Error);
}

TEST(SpecialTokens, LeftmostThenLongest) {
  SpecialTokens special;
  special.add("<a>", {.id = 1});
  special.add("<a><b>", {.id = 2});
  special.add("b><a>", {.id = 3});
  const auto match = special.find("x<a><b><a>", 0);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->id, 2);
  EXPECT_EQ(match->begin, 1u);
  EXPECT_EQ(match->end, 7u);
  EXPECT_FALSE(special.find("<a", 0));
  EXPECT_FALSE(special.find("", 0));
}

TEST(SpecialTokens, StripsWhiteSpaceWhereFlagged) {
  SpecialTokens special;
  special.add("<l>", {.id = 1, .strips_left = true});
  special.add("<r>", {.id = 2, .strips_right = true});
  const auto left = special.find("a \u3000\n<l> b", 0);
  EXPECT_EQ(left->begin, 1u);
  EXPECT_EQ(left->end, 9u);
  const auto right = special.find("a <r> \t\u00A0b", 0);
  EXPECT_EQ(right->begin, 2u);
  EXPECT_EQ(right->end, 9u);
  // Not past where the last match ended.
  EXPECT_EQ(special.find("<r>  <l>", 4)->begin, 4u);
}

TEST(Rewrite, PrefixesAndReplaces) {
  const std::vector<Rewrite> always = {prepend("_"), replace(" ", "_")};
  EXPECT_EQ(rewritten(always, " a b", true), "__a_b");
  EXPECT_EQ(rewritten(always, "", true), "");
  const Rewrite first = prepend_if_missing("_", true);
  EXPECT_EQ(first("a", true), "_a");
  EXPECT_EQ(first("_a", true), "_a");
  EXPECT_EQ(first("a", false), "a");
}

TEST(Rewrite, NfcLeavesBytesThatAreNoUtf8) {
  EXPECT_EQ(normal_form(NormalForm::kC)("cafe\u0301\xFF\xE2\x96"
                                        "e\u0301",
                                        true),
            "caf\u00E9\xFF\xE2\x96\u00E9");
}

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

// The pattern must not start over from each space either.
TEST(PreTokenizer, AMillionSpaces) {
  const std::string text(size_t{1} << 20, ' ');
  for (const char* name : {"gpt-2", "llama-bpe", "gpt-4o", "falcon"}) {
    EXPECT_EQ(named_pre_type(name, "test").pre_tokenizer.split(text).list.size(), 1u) << name;
    EXPECT_EQ(named_pre_type(name, "test").pre_tokenizer.split(text + "x").list.size(), 2u) << name;
  }
}

}  // namespace
}  // namespace sinkscope::text
