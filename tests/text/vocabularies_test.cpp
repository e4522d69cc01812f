// Published vocabularies against the ids of two other implementations.
#include <gtest/gtest.h>

#include <sstream>

#include "sinkscope/text/bpe_model.h"
#include "sinkscope/text/charsmap.h"
#include "sinkscope/text/json_tokenizer.h"
#include "sinkscope/text/pipeline.h"
#include "tests/support/paths.h"
#include "tests/text/helpers.h"

namespace sinkscope {
namespace {

using nlohmann::json;
using test::read_json;
using test::read_text;
using test::tokenizer_of_gguf;
using text::Ids;
namespace fs = std::filesystem;

std::vector<std::string> texts_of(const fs::path& file) {
  const std::string content = read_text(file);
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  size_t at = 0;
  for (size_t end; (end = content.find(separator, at)) != content.npos;
       at = end + separator.size()) {
    texts.push_back(content.substr(at, end - at));
  }
  return texts;
}

std::vector<Ids> ids_of(const fs::path& file) {
  std::vector<Ids> lines;
  std::istringstream in(read_text(file));
  for (std::string line; std::getline(in, line);) {
    std::istringstream numbers(line);
    lines.emplace_back(std::istream_iterator<int32_t>(numbers), std::istream_iterator<int32_t>());
  }
  return lines;
}

void expect_published_ids(const text::Tokenizer& tokenizer, const fs::path& inp,
                          const fs::path& out) {
  const std::vector<std::string> texts = texts_of(inp);
  const std::vector<Ids> expected = ids_of(out);
  ASSERT_EQ(texts.size(), 46u);
  ASSERT_EQ(expected.size(), 46u);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(tokenizer.encode(texts[i], false), expected[i]) << "text " << i << ": " << texts[i];
  }
}

TEST(Cases, TOK_5) {
  SINKSCOPE_DATA_OR_SKIP(first, "vocab/gpt-2.gguf");
  const fs::path folder = first.parent_path();
  for (const std::string name : {"gpt-2", "llama-spm", "phi-3", "falcon", "starcoder"}) {
    SCOPED_TRACE(name);
    const fs::path file = folder / (name + ".gguf");
    expect_published_ids(*tokenizer_of_gguf(file), file.string() + ".inp", file.string() + ".out");
  }
}

TEST(Cases, TOK_5_llama_bpe_and_qwen2) {
  SINKSCOPE_DATA_OR_SKIP(first, "gguf/vocab_extra/llama-bpe.gguf");
  SINKSCOPE_DATA_OR_SKIP(inp, "vocab/llama-bpe.inp");
  for (const std::string name : {"llama-bpe", "qwen2"}) {
    SCOPED_TRACE(name);
    const auto tokenizer = tokenizer_of_gguf(first.parent_path() / (name + ".gguf"));
    expect_published_ids(*tokenizer, inp.parent_path() / (name + ".inp"),
                         inp.parent_path() / (name + ".out"));
  }
}

/// The expected ids of vocab_extra for one vocabulary; what two engines disagree on is null there.
struct Strings {
  std::vector<std::string> texts;
  json ids;
  json special;
  Ids hello_with_special;

  Strings(const fs::path& folder, const std::string& name)
      : texts(read_json(folder / "strings.json").get<std::vector<std::string>>()) {
    const json expected = read_json(folder / "expected" / (name + ".json"));
    ids = expected["ids"];
    special = expected["ids_parse_special"];
    hello_with_special = expected["hello_world_with_special"].get<Ids>();
  }
};

void expect_strings(const text::Tokenizer& tokenizer, const Strings& strings) {
  ASSERT_EQ(strings.texts.size(), 66u);
  ASSERT_EQ(strings.ids.size(), 66u);
  for (size_t i = 0; i < strings.texts.size(); ++i) {
    if (strings.ids[i].is_null()) continue;
    const Ids ids = tokenizer.encode(strings.texts[i], false);
    EXPECT_EQ(ids, strings.ids[i].get<Ids>()) << "string " << i << ": " << strings.texts[i];
    // SentencePiece puts a space in front, WordPiece forgets spaces; Falcon has no token for most
    // control characters.
    if (tokenizer.kind() != "SPM" && tokenizer.kind() != "WordPiece" &&
        !(tokenizer.kind() == "BPE falcon" && i == 44)) {
      EXPECT_EQ(test::joined_bytes(tokenizer, ids), strings.texts[i]) << "string " << i;
    }
  }
  for (const auto& [index, ids] : strings.special.items()) {
    const std::string& text = strings.texts[std::stoul(index)];
    EXPECT_EQ(tokenizer.encode(text, true), ids.get<Ids>()) << "special in " << text;
  }
  const text::Prompt prompt = make_prompt(tokenizer, "Hello world", text::BosRule::kAuto);
  EXPECT_EQ(prompt.ids, strings.hello_with_special);
}

TEST(Strings, AllVocabularies) {
  SINKSCOPE_DATA_OR_SKIP(extra, "gguf/vocab_extra/qwen2.gguf");
  SINKSCOPE_DATA_OR_SKIP(plain, "vocab/gpt-2.gguf");
  const fs::path folder = extra.parent_path();
  for (const std::string name :
       {"gpt-2", "llama-spm", "phi-3", "falcon", "starcoder", "llama-bpe", "qwen2", "bert-bge"}) {
    SCOPED_TRACE(name);
    fs::path file = folder / (name + ".gguf");
    if (!fs::exists(file)) file = plain.parent_path() / (name + ".gguf");
    expect_strings(*tokenizer_of_gguf(file), Strings(folder, name));
  }
}

// Where the engines disagree a GGUF file means what llama.cpp reads in it, except that a plain
// token is not special because of its name.
TEST(Strings, DisagreementsFollowTheFile) {
  SINKSCOPE_DATA_OR_SKIP(extra, "gguf/vocab_extra/qwen2.gguf");
  SINKSCOPE_DATA_OR_SKIP(phi3, "vocab/phi-3.gguf");
  const json texts = read_json(extra.parent_path() / "strings.json");
  const json disagree = read_json(extra.parent_path() / "disagree.json");
  const fs::path bert = extra.parent_path() / "bert-bge.gguf";
  for (const auto& [name, file] :
       {std::pair("qwen2", extra), std::pair("phi-3", phi3), std::pair("bert-bge", bert)}) {
    const auto tokenizer = tokenizer_of_gguf(file);
    for (const json& entry : disagree.at(name)) {
      // llama.cpp cuts decomposed Hangul down to its first letter; nobody trains on that.
      if (entry["llama_cpp"].size() == 11 && entry["hf"].size() == 16) continue;
      const bool special = entry["mode"] == "parse_special";
      const char* judge = name == std::string("qwen2") && special ? "hf" : "llama_cpp";
      const auto text = texts[entry["string"].get<size_t>()].get<std::string>();
      EXPECT_EQ(tokenizer->encode(text, special), entry[judge].get<Ids>()) << name << ": " << text;
    }
  }
}

/// The tokenizer of a table of ranks ("base64 rank" a line), which is all that tiktoken publishes:
/// of two neighbours those are joined first whose union has the lowest rank.
std::unique_ptr<text::Tokenizer> tokenizer_of_ranks(const fs::path& file, const char* pre_type,
                                                    int32_t end_of_text) {
  std::vector<std::string> tokens(static_cast<size_t>(end_of_text) + 1);
  std::istringstream in(read_text(file));
  size_t rank = 0;
  for (std::string base64; in >> base64 >> rank;) {
    tokens.at(rank) = text::decode_base64(base64).value();
  }
  text::Vocabulary vocabulary(end_of_text + 1);
  std::vector<double> scores;
  for (size_t id = 0; id < tokens.size(); ++id) {
    vocabulary.set_bytes(static_cast<int32_t>(id), tokens[id]);
    vocabulary.set_piece(tokens[id], static_cast<int32_t>(id));
    scores.push_back(-static_cast<double>(id));
  }
  text::Pipeline::Parts parts;
  parts.kind = "ranks";
  parts.as_written.special.add("<|endoftext|>", {.id = end_of_text});
  parts.pre_tokenizer = text::named_pre_type(pre_type, "test").pre_tokenizer;
  parts.model = std::make_unique<text::BpeModel>(
      std::move(vocabulary), text::BpeModel::Options{.whole_pieces = true}, std::move(scores));
  return std::make_unique<text::Pipeline>(std::move(parts));
}

TEST(Strings, TiktokenRanks) {
  SINKSCOPE_DATA_OR_SKIP(cl100k, "gguf/vocab_extra/cl100k_base.tiktoken");
  const fs::path folder = cl100k.parent_path();
  expect_strings(*tokenizer_of_ranks(cl100k, "dbrx", 100257), Strings(folder, "cl100k_base"));
  const auto o200k = tokenizer_of_ranks(folder / "o200k_base.tiktoken", "gpt-4o", 199999);
  expect_strings(*o200k, Strings(folder, "o200k_base"));
  // llama.cpp's pattern lacks the marks; tiktoken is right.
  const json texts = read_json(folder / "strings.json");
  const json disagree = read_json(folder / "disagree.json");
  for (const json& entry : disagree.at("o200k_base")) {
    const auto text = texts[entry["string"].get<size_t>()].get<std::string>();
    EXPECT_EQ(o200k->encode(text, false), entry["tiktoken"].get<Ids>()) << text;
  }
}

TEST(Strings, BertTokenizerJson) {
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/vocab_extra/bert-minilm.tokenizer.json");
  const auto tokenizer = text::read_tokenizer(io::Config::load(file), std::nullopt);
  EXPECT_EQ(tokenizer->kind(), "WordPiece");
  EXPECT_EQ(tokenizer->bos_id(), 101);
  EXPECT_EQ(tokenizer->closing_ids(), (Ids{102}));
  expect_strings(*tokenizer, Strings(file.parent_path(), "bert-bge"));
  const json texts = read_json(file.parent_path() / "strings.json");
  const json disagree = read_json(file.parent_path() / "disagree.json");
  for (const json& entry : disagree.at("bert-bge")) {
    const auto text = texts[entry["string"].get<size_t>()].get<std::string>();
    EXPECT_EQ(tokenizer->encode(text, false), entry["hf"].get<Ids>()) << text;
  }
}

TEST(Strings, MiniLmSentences) {
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/vocab_extra/bert-bge.gguf");
  SINKSCOPE_DATA_OR_SKIP(reference_file, "minilm/reference.json");
  const auto tokenizer = tokenizer_of_gguf(file);
  const json reference = read_json(reference_file);
  const auto sentences = reference["sentences"].get<std::vector<std::string>>();
  ASSERT_EQ(sentences.size(), reference["ids"].size());
  for (size_t i = 0; i < sentences.size(); ++i) {
    EXPECT_EQ(make_prompt(*tokenizer, sentences[i], text::BosRule::kAuto).ids,
              reference["ids"][i].get<Ids>())
        << sentences[i];
  }
}

TEST(Strings, UserDefinedTokensAreFoundInPlainTextToo) {
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/vocab_extra/qwen2.gguf");
  const auto tokenizer = tokenizer_of_gguf(file);
  EXPECT_EQ(tokenizer->encode("[PAD151646]", false), (Ids{151646}));
  EXPECT_EQ(tokenizer->encode("<|im_start|>", false).size(), 6u);  // a control token is text
}

TEST(Strings, SmolLm2TokenizerJson) {
  SINKSCOPE_DATA_OR_SKIP(directory, "smollm2_tokenizer");
  SINKSCOPE_DATA_OR_SKIP(strings, "gguf/vocab_extra/strings.json");
  const auto tokenizer = text::open_tokenizer(directory);
  EXPECT_EQ(tokenizer->vocabulary_size(), 49152);
  EXPECT_FALSE(tokenizer->bos_id());
  EXPECT_FALSE(tokenizer->adds_bos());
  expect_strings(*tokenizer, Strings(strings.parent_path(), "smollm2"));
}

// The same vocabulary that smollm2/README.md measured: the whole WikiText-2 test file.
TEST(Strings, SmolLm2StreamOfWikitext) {
  SINKSCOPE_DATA_OR_SKIP(directory, "smollm2_tokenizer");
  SINKSCOPE_DATA_OR_SKIP(reference_file, "smollm2/reference.json");
  SINKSCOPE_DATA_OR_SKIP(text_file, "text/wikitext2-test.txt");
  std::string text = read_text(text_file);
  std::erase(text, '\r');
  const Ids stream = text::open_tokenizer(directory)->encode(text, false);
  const json reference = read_json(reference_file);
  ASSERT_EQ(stream.size(), reference["stream_tokens"].get<size_t>());
  for (const auto& [condition, step, shift] :
       {std::tuple("t64_nobos", 19061, 0), std::tuple("t512_nobos", 76244, 38122)}) {
    const auto chunks = reference["conditions"][condition]["ids"].get<std::vector<Ids>>();
    for (size_t i = 0; i < chunks.size(); ++i) {  // this file has the even-numbered chunks
      const auto begin = stream.begin() + static_cast<int64_t>(2 * i) * step + shift;
      EXPECT_EQ(Ids(begin, begin + static_cast<int64_t>(chunks[i].size())), chunks[i])
          << condition << " chunk " << 2 * i;
    }
  }
}

}  // namespace
}  // namespace sinkscope
