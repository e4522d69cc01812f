// Every part against the `tokenizers` library; tests/data/vocab_small/make_vocab_small.py made the
// expected values.
#include <gtest/gtest.h>

#include <algorithm>

#include "sinkscope/text/byte_letters.h"
#include "sinkscope/text/json_steps.h"
#include "sinkscope/text/json_tokenizer.h"
#include "sinkscope/text/pipeline.h"
#include "sinkscope/text/unicode_sets.h"
#include "tests/support/paths.h"
#include "tests/text/helpers.h"

namespace sinkscope {
namespace {

using nlohmann::json;
using text::Ids;

struct Golden {
  std::vector<std::string> strings;
  json cases;
};

Golden read_golden(const std::filesystem::path& file) {
  return {test::read_json(file.parent_path() / "strings.json").get<std::vector<std::string>>(),
          test::read_json(file)};
}

io::Config config_of(const json& document) {
  return io::Config::parse(document.dump(), "tokenizer.json");
}

TEST(Library, SetsOfCharacters) {
  SINKSCOPE_DATA_OR_SKIP(file, "vocab_small/sets.json");
  const json expected = test::read_json(file);
  const auto check = [&](const char* name, const icu::UnicodeSet& set) {
    icu::UnicodeSet wanted;
    for (const json& range : expected[name]) wanted.add(range[0].get<int>(), range[1].get<int>());
    icu::UnicodeSet missing(wanted);
    missing.removeAll(set);
    icu::UnicodeSet extra;
    extra.addAll(set).removeAll(wanted).remove(0);
    EXPECT_TRUE(missing.isEmpty()) << name << " lacks " << text::regex_class(missing);
    EXPECT_TRUE(extra.isEmpty()) << name << " has " << text::regex_class(extra);
  };
  check("bert_control", text::bert_control());
  check("bert_marks", text::bert_marks());
  check("bert_punctuation", text::bert_punctuation());
  check("bert_chinese", text::bert_chinese());
  check("combining_marks", text::combining_marks());
  check("white_space", text::white_space());
}

TEST(Library, Normalizers) {
  SINKSCOPE_DATA_OR_SKIP(file, "vocab_small/normalizers.json");
  const Golden golden = read_golden(file);
  for (const json& entry : golden.cases) {
    const auto steps = text::read_normalizer(config_of(entry));
    for (size_t i = 0; i < golden.strings.size(); ++i) {
      EXPECT_EQ(text::rewritten(steps, golden.strings[i], true), entry["texts"][i])
          << entry["normalizer"].dump().substr(0, 200) << " of " << golden.strings[i];
    }
  }
}

TEST(Library, PreTokenizers) {
  SINKSCOPE_DATA_OR_SKIP(file, "vocab_small/pre_tokenizers.json");
  const Golden golden = read_golden(file);
  for (const json& entry : golden.cases) {
    const auto steps = text::read_pre_tokenizer(config_of(entry));
    for (size_t i = 0; i < golden.strings.size(); ++i) {
      std::vector<std::string> spelt;
      for (const std::string_view piece : steps.pre_tokenizer.split(golden.strings[i]).list) {
        std::string& out = spelt.emplace_back(steps.byte_level ? "" : piece);
        if (!steps.byte_level) continue;
        for (const char byte : piece) out += text::letter_of_byte(static_cast<uint8_t>(byte));
      }
      EXPECT_EQ(spelt, entry["pieces"][i].get<std::vector<std::string>>())
          << entry["pre_tokenizer"].dump() << " of " << golden.strings[i];
    }
  }
}

TEST(Library, Tokenizers) {
  SINKSCOPE_DATA_OR_SKIP(file, "vocab_small/tokenizers.json");
  const Golden golden = read_golden(file);
  for (const json& entry : golden.cases) {
    SCOPED_TRACE(entry["name"].get<std::string>());
    const auto tokenizer = text::read_tokenizer(config_of(entry["tokenizer"]), std::nullopt);
    for (size_t i = 0; i < golden.strings.size(); ++i) {
      const std::string& text = golden.strings[i];
      const Ids plain = tokenizer->encode(text, false);
      if (entry["plain"][i].is_null()) {  // the generator says why
        EXPECT_EQ(std::count(plain.begin(), plain.end(), 1), 0) << text;
      } else {
        EXPECT_EQ(plain, entry["plain"][i].get<Ids>()) << text;
      }
      EXPECT_EQ(tokenizer->encode(text, true), entry["special"][i].get<Ids>())
          << "with special tokens: " << text;
    }
    EXPECT_EQ(make_prompt(*tokenizer, "Hello world", text::BosRule::kAuto).ids,
              entry["hello_world_with_special"].get<Ids>());
  }
}

TEST(Library, UnigramOfAGgufFile) {
  SINKSCOPE_DATA_OR_SKIP(file, "vocab_small/unigram.gguf");
  const Golden golden = read_golden(file.parent_path() / "unigram_gguf.json");
  const auto tokenizer = test::tokenizer_of_gguf(file);
  for (size_t i = 0; i < golden.strings.size(); ++i) {
    if (golden.cases[i].is_null()) continue;
    EXPECT_EQ(tokenizer->encode(golden.strings[i], false), golden.cases[i].get<Ids>())
        << golden.strings[i];
  }
  EXPECT_FALSE(tokenizer->adds_bos());
  EXPECT_EQ(tokenizer->closing_ids(), (Ids{1}));
}

}  // namespace
}  // namespace sinkscope
