#include "sinkscope/store/run_facts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/base/error.h"
#include "sinkscope/store/utf8.h"

namespace sinkscope::store {
namespace {

TEST(RunFacts, IdentityComesBack) {
  RunIdentity identity;
  identity.model_sha256 = "ab";
  identity.device = "cuda";
  identity.seed = 18446744073709551615u;
  identity.diagnostics = {"sink", "mechanism"};
  identity.thresholds.epsilon = 0.1;
  identity.thresholds.min_queries = 11;
  const Facts facts = to_facts(identity);
  EXPECT_EQ(facts.at("model.sha256"), "\"ab\"");
  EXPECT_EQ(facts.at("thresholds.epsilon"), "0.1");
  EXPECT_EQ(to_facts(read_identity(facts)), facts);
  EXPECT_EQ(read_identity(facts).seed, 18446744073709551615u);
}

TEST(RunFacts, ComeBackAndMayBeAbsent) {
  RunFacts facts;
  facts.model_path = "caf\xE9";
  facts.bos_id = 1;
  facts.labels = {{"<s>", "a"}, {}};
  facts.warnings = {"one"};
  facts.load_s = 1.5;
  facts.patch_rows = 2, facts.patch_columns = 3, facts.prefix_tokens = 5;
  const RunFacts again = read_facts(to_facts(facts));
  EXPECT_EQ(again.model_path, "caf\\xE9");
  EXPECT_EQ(again.bos_id, 1);
  EXPECT_EQ(again.labels, facts.labels);
  EXPECT_EQ(again.load_s, 1.5);
  EXPECT_EQ(again.patch_rows, 2);
  EXPECT_EQ(again.patch_columns, 3);
  EXPECT_EQ(again.prefix_tokens, 5);
  EXPECT_EQ(to_facts(facts).at("inputs.patch_rows"), "2");
  EXPECT_EQ(read_facts({}).patch_rows, 0);
  EXPECT_TRUE(std::isnan(again.forward_s));
  EXPECT_EQ(read_facts({}).bos_id, std::nullopt);
}

TEST(RunFacts, WrongTypeNamesKeyAndValue) {
  for (const auto& [key, value] :
       {std::pair{"model.layers", "1.5"}, std::pair{"model.layers", "{broken"},
        std::pair{"inputs.labels", "[1]"}, std::pair{"model.causal", "1"},
        std::pair{"timing.load_s", "\"soon\""}}) {
    try {
      read_facts({{key, value}});
      FAIL() << key;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::kBadFile);
      EXPECT_NE(error.seen.find(std::string(key) + " is " + value), std::string::npos)
          << error.seen;
    }
  }
}

TEST(Utf8, KeepsWhatIsValidAndEscapesTheRest) {
  EXPECT_EQ(valid_utf8("a\xC3\xA9\xF0\x9F\xA4\x97"), "a\xC3\xA9\xF0\x9F\xA4\x97");
  EXPECT_EQ(valid_utf8("\xF0\x9F\xA4"), "\\xF0\\x9F\\xA4");           // cut short
  EXPECT_EQ(valid_utf8("\xC0\xAF"), "\\xC0\\xAF");                    // overlong
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "\\xED\\xA0\\x80");           // surrogate
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(valid_utf8("\x80z"), "\\x80z");
}

}  // namespace
}  // namespace sinkscope::store
