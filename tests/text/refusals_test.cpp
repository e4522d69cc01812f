// What a tokenizer file may get wrong, and what we say then.
#include <gtest/gtest.h>

#include "sinkscope/base/error.h"
#include "tests/support/paths.h"
#include "tests/text/helpers.h"

namespace sinkscope {
namespace {

using nlohmann::json;
using text::Ids;
namespace fs = std::filesystem;

template <typename Open>
void expect_refused(ErrorKind kind, std::initializer_list<const char*> words, Open open) {
  try {
    open();
    ADD_FAILURE() << "not refused, expected: " << *words.begin();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, kind) << error.what();
    for (const char* word : words) {
      EXPECT_NE(error.seen.find(word), std::string::npos) << word << " is not in: " << error.seen;
    }
    EXPECT_FALSE(error.hint.empty()) << error.what();
  }
}

TEST(GgufTokenizer, MalformedFilesAreNamed) {
  SINKSCOPE_DATA_OR_SKIP(folder, "gguf/malformed/gguf");
  const auto refused = [&](const char* name, std::initializer_list<const char*> words) {
    SCOPED_TRACE(name);
    try {
      test::tokenizer_of_gguf(folder / name);
      ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::kBadFile);
      EXPECT_NE(error.seen.find(name), std::string::npos) << error.seen;
      for (const char* word : words) {
        EXPECT_NE(error.seen.find(word), std::string::npos) << error.seen;
      }
    }
  };
  refused("scores-short.gguf", {"tokenizer.ggml.scores", "39 entries for 40 tokens"});
  refused("token-types-short.gguf", {"tokenizer.ggml.token_type", "38 entries for 40 tokens"});
  refused("tokens-ints.gguf", {"tokenizer.ggml.tokens"});
  refused("bos-out-of-range.gguf", {"tokenizer.ggml.bos_token_id", "40 is outside 0..39"});
}

TEST(GgufTokenizer, ATokenThatIsNoUtf8IsShownEscaped) {
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/malformed/gguf/note-token-bytes.gguf");
  const auto tokenizer = test::tokenizer_of_gguf(file);
  bool seen = false;
  for (int32_t id = 0; id < tokenizer->vocabulary_size(); ++id) {
    seen |= token_label(*tokenizer, id).find("\\xFF") != std::string::npos;
  }
  EXPECT_TRUE(seen);
}

TEST(GgufTokenizer, WhatAUnigramFileNeeds) {
  SINKSCOPE_DATA_OR_SKIP(file, "vocab_small/unigram.gguf");
  const auto refused_without = [&](const std::string& key, ErrorKind kind, const char* says) {
    std::string bytes = test::read_text(file);
    const size_t at = bytes.find(key);
    ASSERT_NE(at, bytes.npos);
    bytes[at + key.size() - 1] = '_';  // a key of that name is absent now
    const fs::path changed = test::scratch_directory("unigram") / "changed.gguf";
    test::write_text(changed, bytes);
    expect_refused(kind, {says}, [&] { test::tokenizer_of_gguf(changed); });
  };
  refused_without("tokenizer.ggml.scores", ErrorKind::kBadFile, "is absent, the model needs it");
  refused_without("tokenizer.ggml.eos_token_id", ErrorKind::kBadFile,
                  "eos_token_id: is absent, but the file wants it behind each text");
}

TEST(GgufTokenizer, BytesOfAnIdOutsideAreRefused) {
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/malformed/gguf/ok-base.gguf");
  const auto tokenizer = test::tokenizer_of_gguf(file);
  for (const int32_t id : {-1, 40}) {
    expect_refused(ErrorKind::kUsage, {"outside 0..39"}, [&] { tokenizer->bytes(id); });
  }
}

/// A byte-level tokenizer.json of five tokens.
json small() {
  return json::parse(R"({
    "added_tokens": [{"id": 4, "content": "<s>", "special": true}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3},
              "merges": [["a", "b"]]}})");
}

std::unique_ptr<text::Tokenizer> open_json(const json& tokenizer, const json& config = nullptr) {
  const fs::path directory = test::scratch_directory("tokenizer-json");
  test::write_text(directory / "tokenizer.json", tokenizer.dump());
  if (!config.is_null()) test::write_text(directory / "tokenizer_config.json", config.dump());
  return text::open_tokenizer(directory);
}

TEST(JsonTokenizer, SmallOneWorks) {
  const auto tokenizer = open_json(small());
  EXPECT_EQ(tokenizer->encode("ab ba<s>", true), (Ids{2, 3, 1, 0, 4}));
  EXPECT_EQ(tokenizer->bytes(3), " ");
  EXPECT_EQ(tokenizer->vocabulary_size(), 5);
}

TEST(JsonTokenizer, Gpt2sOwnFileHasNoModelType) {
  json tokenizer = small();
  tokenizer["model"].erase("type");
  tokenizer["model"]["merges"] = {"a b"};
  EXPECT_EQ(open_json(tokenizer)->encode("ab", true), (Ids{2}));
}

TEST(JsonTokenizer, AddedTokensThatAreNotSpecialAreFoundInPlainTextToo) {
  json tokenizer = small();
  tokenizer["added_tokens"].push_back({{"id", 5}, {"content", "   "}, {"special", false}});
  const auto opened = open_json(tokenizer);
  EXPECT_EQ(opened->encode("a    b", false), (Ids{0, 5, 3, 1}));
  EXPECT_EQ(opened->encode("a<s>   b", true), (Ids{0, 4, 5, 1}));
  EXPECT_EQ(opened->encode("<s>a", false), (Ids{0}));  // the vocabulary has no other letters
}

TEST(JsonTokenizer, BosRules) {
  EXPECT_FALSE(open_json(small())->bos_id());
  const json config = {{"bos_token", "<s>"}};
  EXPECT_EQ(open_json(small(), config)->bos_id(), 4);
  EXPECT_FALSE(open_json(small(), config)->adds_bos());
  EXPECT_TRUE(open_json(small(), {{"bos_token", "<s>"}, {"add_bos_token", true}})->adds_bos());
  EXPECT_EQ(open_json(small(), {{"bos_token", {{"content", "<s>"}}}})->bos_id(), 4);

  // Llama 3: no add_bos_token, the post-processor says it, inside a Sequence.
  json tokenizer = small();
  tokenizer["post_processor"] = json::parse(R"({"type": "Sequence", "processors": [
      {"type": "ByteLevel"},
      {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                                {"Sequence": {"id": "A", "type_id": 0}}]}]})");
  EXPECT_TRUE(open_json(tokenizer, config)->adds_bos());
  EXPECT_EQ(open_json(tokenizer)->bos_id(), 4);
  EXPECT_FALSE(open_json(tokenizer, {{"bos_token", "<s>"}, {"add_bos_token", false}})->adds_bos());
}

TEST(JsonTokenizer, WhatStandsBehindAText) {
  json tokenizer = small();
  tokenizer["added_tokens"].push_back({{"id", 5}, {"content", "</s>"}, {"special", true}});
  const json config = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  const auto with = [](json base, const char* key, bool value) {
    base[key] = value;
    return base;
  };
  EXPECT_TRUE(open_json(tokenizer, config)->closing_ids().empty());
  EXPECT_EQ(open_json(tokenizer, with(config, "add_eos_token", true))->closing_ids(), (Ids{5}));

  // A decoder whose post-processor closes the text; the front stays as the file has it.
  tokenizer["post_processor"] = json::parse(R"({"type": "TemplateProcessing",
      "single": [{"Sequence": {"id": "A", "type_id": 0}},
                 {"SpecialToken": {"id": "</s>", "type_id": 0}}],
      "special_tokens": {"</s>": {"id": "</s>", "ids": [5], "tokens": ["</s>"]}}})");
  const auto closed = open_json(tokenizer, config);
  EXPECT_EQ(closed->closing_ids(), (Ids{5}));
  EXPECT_EQ(closed->bos_id(), 4);
  EXPECT_FALSE(closed->adds_bos());
  EXPECT_EQ(make_prompt(*closed, "ab", text::BosRule::kAuto).ids, (Ids{2, 5}));
  EXPECT_EQ(make_prompt(*closed, "ab", text::BosRule::kAlways).ids, (Ids{4, 2, 5}));
  EXPECT_TRUE(open_json(tokenizer, with(config, "add_eos_token", false))->closing_ids().empty());

  // The token in front need not be the configured BOS.
  tokenizer["post_processor"] =
      json::parse(R"({"type": "RobertaProcessing", "cls": ["</s>", 5], "sep": ["<s>", 4]})");
  EXPECT_EQ(open_json(tokenizer, config)->bos_id(), 5);
  EXPECT_EQ(open_json(tokenizer, with(config, "add_bos_token", true))->bos_id(), 4);
}

TEST(JsonTokenizer, MetaspaceSplitsAtItsMark) {
  json tokenizer = small();
  tokenizer["pre_tokenizer"] = {{"type", "Metaspace"}, {"prepend_scheme", "first"}};
  tokenizer["model"]["vocab"] = {{"\u2581", 0}, {"a", 1}, {"a\u2581", 2}, {"\u2581a", 3}};
  tokenizer["model"]["merges"] = {"a \u2581", "\u2581 a"};
  const auto split = open_json(tokenizer);
  EXPECT_EQ(split->encode("a a<s>a", true), (Ids{3, 3, 4, 1}));
  EXPECT_EQ(split->bytes(3), " a");
  tokenizer["pre_tokenizer"]["split"] = false;
  EXPECT_EQ(open_json(tokenizer)->encode("a a", true), (Ids{0, 2, 1}));
}

TEST(JsonTokenizer, UnsupportedConstructsAreNamed) {
  const auto refused = [](const char* pointer, const json& value, const char* name) {
    json tokenizer = small();
    tokenizer[json::json_pointer(pointer)] = value;
    expect_refused(ErrorKind::kUnsupported, {"tokenizer.json", name},
                   [&] { open_json(tokenizer); });
  };
  refused("/model/type", "WordLevel", "WordLevel");
  refused("/model/type", "WordPiece", "WordPiece behind ByteLevel");
  refused("/model/type", "Unigram", "Unigram behind ByteLevel");
  refused("/model/dropout", 0.1, "dropout");
  refused("/normalizer", {{"type", "ByteLevel"}}, "ByteLevel");
  refused("/pre_tokenizer", {{"type", "UnicodeScripts"}}, "UnicodeScripts");
  refused("/post_processor", {{"type", "Odd"}}, "post_processor Odd");
  refused("/post_processor", json::parse(R"({"type": "TemplateProcessing", "single": [
              {"SpecialToken": {"id": "<s>"}}, {"SpecialToken": {"id": "<s>"}},
              {"Sequence": {"id": "A"}}]})"),
          "2 tokens in front");
  refused("/post_processor", json::parse(R"({"type": "TemplateProcessing", "single": []})"),
          "template with 0 texts");
  refused("/pre_tokenizer",
          json::parse(R"({"type": "Split", "pattern": {"Regex": "x"}, "behavior": "Odd"})"), "Odd");
  refused("/pre_tokenizer", json::parse(R"({"type": "Split", "pattern": {"Regex": "(x"}})"), "(x");
  refused("/pre_tokenizer", json::parse(R"({"type": "Sequence", "pretokenizers":
                          [{"type": "ByteLevel"}, {"type": "Metaspace"}]})"),
          "Metaspace behind ByteLevel");
  for (const char* pattern : {"[a&&b]", "[a[^b]]"}) {
    refused("/pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}}, pattern);
  }
}

TEST(JsonTokenizer, DamageIsNamed) {
  const auto refused = [](const char* pointer, const json& value, const char* word) {
    SCOPED_TRACE(pointer);
    json tokenizer = small();
    tokenizer[json::json_pointer(pointer)] = value;
    expect_refused(ErrorKind::kBadFile, {"tokenizer.json", word}, [&] { open_json(tokenizer); });
  };
  refused("/model/vocab", json::object(), "vocab");
  refused("/model/vocab/a", "0", "\"a\"");
  refused("/model/vocab/a", -1, "id -1");
  refused("/model/vocab/a", 2000000000, "id 2000000000");
  refused("/added_tokens/0/id", int64_t{1} << 40, "id 1099511627776");
  refused("/added_tokens", 7, "added_tokens");
  refused("/model/merges", 7, "merges");
  refused("/model/merges/0", json::array({"a"}), "entry 0");
  refused("/model/merges/0", "ab", "entry 0");
  refused("/model/merges/0", "b a", "\"b a\"");
  refused("/model/unk_token", "<unk>", "<unk>");
  refused("/model/vocab", json::parse(R"([["a", 0]])"), "no object");
  refused("/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "AAAA!"}}, "base64");
  refused("/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "/////wA="}},
          "a trie of 4294967295 bytes");
  refused("/post_processor", json::parse(R"({"type": "BertProcessing", "cls": ["<s>", 9],
                                             "sep": ["<s>", 4]})"),
          "id 9");
  refused("/post_processor", json::parse(R"({"type": "RobertaProcessing", "cls": ["<s>", 4]})"),
          "sep");
  expect_refused(ErrorKind::kBadFile, {"tokenizer_config.json", "<bos>"}, [] {
    open_json(small(), {{"bos_token", "<bos>"}});
  });
}

TEST(JsonTokenizer, ADirectoryWithoutOneIsRefused) {
  const fs::path directory = test::scratch_directory("no-tokenizer");
  expect_refused(ErrorKind::kUnsupported, {"no-tokenizer", "no tokenizer.json"},
                 [&] { text::open_tokenizer(directory); });
  test::write_text(directory / "tokenizer.model", "");
  expect_refused(ErrorKind::kUnsupported, {"tokenizer.model is not read"},
                 [&] { text::open_tokenizer(directory); });
}

TEST(JsonTokenizer, RulesThatBlowTextUpAreStopped) {
  json doubling = json::parse(R"({"type": "Sequence", "normalizers": []})");
  const json twice = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  for (int i = 0; i < 40; ++i) doubling["normalizers"].push_back(twice);
  const json regex = {
      {"type", "Replace"}, {"pattern", {{"Regex", "."}}}, {"content", std::string(1000, 'a')}};
  const json prefix = {{"type", "Sequence"},
                       {"pretokenizers",
                        {{{"type", "Split"}, {"pattern", {{"Regex", "."}}}},
                         {{"type", "Metaspace"}, {"replacement", std::string(1000, 'b')}}}}};
  const auto refused = [](const char* key, const json& value) {
    json tokenizer = small();
    tokenizer["added_tokens"] = json::array();
    tokenizer["pre_tokenizer"] = nullptr;
    tokenizer[key] = value;
    const auto opened = open_json(tokenizer);
    expect_refused(ErrorKind::kTooLarge, {"100 bytes have become"},
                   [&] { opened->encode(std::string(100, 'a'), false); });
  };
  refused("normalizer", doubling);
  refused("normalizer", regex);
  refused("pre_tokenizer", prefix);
}

// Any bytes are tokenised, and where the vocabulary has all bytes none is lost.
TEST(JsonTokenizer, BytesThatAreNoUtf8) {
  SINKSCOPE_DATA_OR_SKIP(gpt2, "gguf/models/gpt2/tokenizer.json");
  SINKSCOPE_DATA_OR_SKIP(llama, "gguf/models/llama/tokenizer.json");
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every.push_back(static_cast<char>(255 - byte));
  for (const std::string& bytes : {every, std::string("\xF0\x9F\xA4"), std::string("a\0b", 3)}) {
    const auto byte_level = text::open_tokenizer(gpt2.parent_path());
    EXPECT_EQ(test::joined_bytes(*byte_level, byte_level->encode(bytes, true)), bytes);
    const auto fallback = text::open_tokenizer(llama.parent_path());
    EXPECT_EQ(test::joined_bytes(*fallback, fallback->encode(bytes, true)), " " + bytes);
  }
}

}  // namespace
}  // namespace sinkscope
