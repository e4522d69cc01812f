#include <gtest/gtest.h>

#include <map>

#include "sinkscope/base/error.h"
#include "tests/support/paths.h"
#include "tests/text/helpers.h"

namespace sinkscope {
namespace {

using text::BosRule;
using text::Ids;
using text::make_prompt;
using text::Prompt;
using text::token_label;

/// Every byte is a token of its own id; two more tokens are given by the test.
class ByteTokenizer : public text::Tokenizer {
 public:
  Ids encode(std::string_view utf8, bool) const override {
    Ids ids;
    for (const char byte : utf8) ids.push_back(static_cast<uint8_t>(byte));
    return ids;
  }
  std::string bytes(int32_t id) const override {
    const auto found = named.find(id);
    return found != named.end() ? found->second : std::string(1, static_cast<char>(id));
  }
  int64_t vocabulary_size() const override { return 300; }
  std::optional<int32_t> bos_id() const override { return bos; }
  std::optional<int32_t> eos_id() const override { return std::nullopt; }
  bool adds_bos() const override { return adds; }
  Ids closing_ids() const override { return closing; }
  std::string kind() const override { return "bytes"; }

  std::map<int32_t, std::string> named;
  std::optional<int32_t> bos = std::nullopt;
  bool adds = false;
  Ids closing;
};

TEST(Cases, TOK_1) {
  SINKSCOPE_DATA_OR_SKIP(file, "vocab/llama-spm.gguf");
  const auto tokenizer = test::tokenizer_of_gguf(file);
  const std::string own = "<s>Hello world";

  const Prompt automatic = make_prompt(*tokenizer, own, BosRule::kAuto);
  EXPECT_EQ(automatic.ids, (Ids{1, 15043, 3186}));
  EXPECT_FALSE(automatic.bos_added);
  ASSERT_EQ(automatic.warnings.size(), 1u);
  EXPECT_NE(automatic.warnings[0].find("the text brings its own BOS (<s>, id 1)"),
            std::string::npos);

  const Prompt always = make_prompt(*tokenizer, own, BosRule::kAlways);
  EXPECT_EQ(always.ids, (Ids{1, 1, 15043, 3186}));
  EXPECT_TRUE(always.bos_added);
  ASSERT_EQ(always.warnings.size(), 1u);
  EXPECT_NE(always.warnings[0].find("the text brings its own BOS"), std::string::npos);

  const Prompt never = make_prompt(*tokenizer, own, BosRule::kNever);
  EXPECT_EQ(never.ids, (Ids{1, 15043, 3186}));
  EXPECT_TRUE(never.warnings.empty());

  const Prompt plain = make_prompt(*tokenizer, "Hello world", BosRule::kAuto);
  EXPECT_EQ(plain.ids, (Ids{1, 15043, 3186}));
  EXPECT_TRUE(plain.bos_added);
  EXPECT_TRUE(plain.warnings.empty());
}

TEST(Prompt, BosZeroIsAnIdLikeAnyOther) {
  ByteTokenizer tokenizer;
  tokenizer.bos = 0;
  tokenizer.adds = true;
  EXPECT_EQ(make_prompt(tokenizer, "a", BosRule::kAuto).ids, (Ids{0, 'a'}));
  EXPECT_EQ(make_prompt(tokenizer, "", BosRule::kAuto).ids, (Ids{0}));
  EXPECT_EQ(make_prompt(tokenizer, "", BosRule::kNever).ids, (Ids{}));
}

TEST(Prompt, WithoutABosOnlyAlwaysIsRefused) {
  ByteTokenizer tokenizer;
  tokenizer.adds = true;
  EXPECT_EQ(make_prompt(tokenizer, "a", BosRule::kAuto).ids, (Ids{'a'}));
  try {
    make_prompt(tokenizer, "a", BosRule::kAlways);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kUsage);
    EXPECT_NE(error.hint.find("--bos"), std::string::npos);
  }
}

TEST(Prompt, ADoubleBosInTheTextIsAlwaysWarnedAbout) {
  ByteTokenizer tokenizer;
  tokenizer.bos = 'x';
  for (const BosRule rule : {BosRule::kAuto, BosRule::kNever}) {
    EXPECT_EQ(make_prompt(tokenizer, "xxa", rule).warnings.size(), 1u);
    EXPECT_TRUE(make_prompt(tokenizer, "xax", rule).warnings.empty());
  }
}

TEST(Prompt, WhatTheFilesWantBehindATextIsAddedOnce) {
  ByteTokenizer tokenizer;
  tokenizer.bos = '[';
  tokenizer.adds = true;
  tokenizer.closing = {']'};
  const Prompt plain = make_prompt(tokenizer, "ab", BosRule::kAuto);
  EXPECT_EQ(plain.ids, (Ids{'[', 'a', 'b', ']'}));
  EXPECT_TRUE(plain.closing_added);
  EXPECT_EQ(make_prompt(tokenizer, "", BosRule::kAlways).ids, (Ids{'[', ']'}));
  EXPECT_EQ(make_prompt(tokenizer, "ab", BosRule::kNever).ids, (Ids{'a', 'b'}));

  const Prompt own = make_prompt(tokenizer, "[ab]", BosRule::kAuto);
  EXPECT_EQ(own.ids, (Ids{'[', 'a', 'b', ']'}));
  EXPECT_FALSE(own.closing_added);
  ASSERT_EQ(own.warnings.size(), 2u);
  EXPECT_NE(own.warnings[1].find("the text brings its own closing token (], id 93)"),
            std::string::npos);

  // A BOS that is the closing token, too, closes nothing.
  tokenizer.bos = ']';
  EXPECT_EQ(make_prompt(tokenizer, "", BosRule::kAuto).ids, (Ids{']', ']'}));
}

TEST(Cases, OUT_1) {
  SINKSCOPE_DATA_OR_SKIP(file, "vocab/gpt-2.gguf");
  const auto tokenizer = test::tokenizer_of_gguf(file);
  const std::string emoji = "\U0001F917";
  const Ids ids = tokenizer->encode(emoji, false);
  ASSERT_EQ(ids, (Ids{8582, 97, 245}));
  EXPECT_EQ(test::joined_bytes(*tokenizer, ids), emoji);
  EXPECT_EQ(token_label(*tokenizer, ids[0]), "\\xF0\\x9F");
  EXPECT_EQ(token_label(*tokenizer, ids[1]), "\\xA4");
  EXPECT_EQ(token_label(*tokenizer, ids[2]), "\\x97");
}

TEST(TokenLabel, IsUtf8AndKeepsTokensApart) {
  ByteTokenizer tokenizer;
  tokenizer.named = {{256, "\n"},           {257, "\\n"},      {258, "na\u00EFve"},
                     {259, "\x1B[31m"},     {260, "\u202Ex"},  {261, "ab\xE2\x96"},
                     {262, "\xC0\x80"},     {263, "\t\r\x7F"}, {264, std::string("\0", 1)},
                     {265, "\u0085\uFFFF"}, {266, "<b>&\""},   {267, ""}};
  const std::map<int32_t, std::string> labels = {{256, "\\n"},        {257, "\\\\n"},
                                                 {258, "na\u00EFve"}, {259, "\\x1B[31m"},
                                                 {260, "\\u{202E}x"}, {261, "ab\\xE2\\x96"},
                                                 {262, "\\xC0\\x80"}, {263, "\\t\\r\\x7F"},
                                                 {264, "\\x00"},      {265, "\\u{0085}\\u{FFFF}"},
                                                 {266, "<b>&\""},     {267, ""}};
  for (const auto& [id, label] : labels) EXPECT_EQ(token_label(tokenizer, id), label);
}

}  // namespace
}  // namespace sinkscope
