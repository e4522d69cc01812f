// The parts of a tokenizer, one at a time.
#include <gtest/gtest.h>

#include "sinkscope/base/error.h"
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

TEST(PreTokenizer, NamedRulesOfFurtherFamilies) {
  const auto split = [](std::string_view name, std::string_view text) {
    const PreType type = named_pre_type(name, "test");
    return type.pre_tokenizer.split(text).list;
  };
  EXPECT_EQ(split("bloom", "a b,c (d"), (List{"a", " b", ",", "c", " (", "d"}));
  EXPECT_EQ(split("tekken", "aB12 it's"), (List{"a", "B", "1", "2", " it", "'s"}));
  EXPECT_EQ(split("qwen35", "\u0628\u0650\u0633 12"), (List{"\u0628\u0650\u0633", " ", "1", "2"}));
  EXPECT_EQ(split("qwen2", "\u0628\u0650\u0633"), (List{"\u0628", "\u0650\u0633"}));
  EXPECT_TRUE(named_pre_type("tekken", "test").ignore_merges);
  EXPECT_TRUE(named_pre_type("tekken", "test").adds_bos);
  EXPECT_FALSE(named_pre_type("roberta-bpe", "test").adds_bos);
}

TEST(Regex, AClassInsideAClassIsAUnion) {
  EXPECT_EQ(one_step(R"([a[b\]]c])", SplitBehaviour::kRemoved).split("xabc]x[").list,
            (List{"x", "x["}));
  EXPECT_EQ(one_step("[^a[bc]]", SplitBehaviour::kRemoved).split("xabcx").list, (List{"abc"}));
  EXPECT_EQ(one_step("[[:digit:]x]", SplitBehaviour::kRemoved).split("a1x[").list,
            (List{"a", "["}));
  EXPECT_EQ(one_step("[]a]", SplitBehaviour::kRemoved).split("b]a").list, (List{"b"}));
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

TEST(SpecialTokens, SingleWordsAreNotFoundInsideWords) {
  SpecialTokens special;
  special.add("foo", {.id = 1, .single_word = true});
  EXPECT_EQ(special.find("barfoo foo\u0301 foo-", 0)->begin, 13u);  // a mark continues a word
  EXPECT_EQ(special.find("\u4E2Dfoo", 0), std::nullopt);
  EXPECT_EQ(special
                .find("\xFF"
                      "foo",
                      0)
                ->begin,
            1u);
  EXPECT_EQ(special.find("xfoo", 1), std::nullopt);  // the search sees what was before it
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
