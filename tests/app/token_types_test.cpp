#include "sinkscope/app/token_types.h"

#include <gtest/gtest.h>

namespace sinkscope::app {
namespace {

using diagnostics::TokenType;
using enum diagnostics::TokenType;

/// Ids are the places of these strings.
class Words : public text::Tokenizer {
 public:
  text::Ids encode(std::string_view, bool) const override { return {}; }
  std::string bytes(int32_t id) const override { return kWords[static_cast<size_t>(id)]; }
  int64_t vocabulary_size() const override { return std::ssize(kWords); }
  std::optional<int32_t> bos_id() const override { return 0; }
  std::optional<int32_t> eos_id() const override { return 1; }
  bool adds_bos() const override { return true; }
  text::Ids closing_ids() const override { return {1}; }
  std::string kind() const override { return "words"; }

 private:
  const std::vector<std::string> kWords = {"<s>",  "</s>", "the", " .", ",",
                                           "\n\n", " ",    "?!",  "a."};
};

std::vector<TokenType> types_of(const std::vector<int32_t>& ids, bool causal = true,
                                bool with_tokenizer = true) {
  static const Words words;
  model::ModelSpec spec;
  spec.causal = causal;
  const TypesOf types = token_types(spec, with_tokenizer ? &words : nullptr);
  return types({0, "test", 0, ids});
}

TEST(TokenTypes, OfAText) {
  EXPECT_EQ(types_of({0, 2, 3, 5, 4, 6, 7, 8, 2, 0, 1}),
            (std::vector<TokenType>{kBos, kOther, kFirstDelimiter, kNewline, kDelimiter, kOther,
                                    kDelimiter, kOther, kOther, kBos, kSep}));
}

TEST(TokenTypes, FirstTokenWithoutABos) {
  EXPECT_EQ(types_of({2, 3, 2, 4}),
            (std::vector<TokenType>{kFirst, kFirstDelimiter, kRepeatedFirst, kDelimiter}));
  // A delimiter in front is the first token; only later ones count as delimiters.
  EXPECT_EQ(types_of({3, 4, 3}), (std::vector<TokenType>{kFirst, kFirstDelimiter, kRepeatedFirst}));
}

TEST(TokenTypes, OfAnEncoder) {
  EXPECT_EQ(types_of({0, 2, 1}, false), (std::vector<TokenType>{kCls, kOther, kSep}));
}

TEST(TokenTypes, WithoutATokenizerAndBeyondItsTable) {
  EXPECT_EQ(types_of({3, 4, 3}, true, false),
            (std::vector<TokenType>{kFirst, kOther, kRepeatedFirst}));
  EXPECT_EQ(types_of({0, 500}), (std::vector<TokenType>{kBos, kOther}));  // padded embedding
}

TEST(TokenTypes, OfAnImage) {
  model::ModelSpec spec;
  spec.causal = false;
  spec.vision.patch = 16;
  spec.vision.class_token = true;
  spec.vision.registers = 2;
  const store::SequenceInfo image{0, "image", 0, {}, 5};
  EXPECT_EQ(token_types(spec, nullptr)(image),
            (std::vector<TokenType>{kCls, kRegister, kRegister, kPatch, kPatch}));
  spec.vision.class_token = false;
  spec.vision.registers = 0;
  EXPECT_EQ(token_types(spec, nullptr)(image), std::vector<TokenType>(5, kPatch));
}

}  // namespace
}  // namespace sinkscope::app
