#include "sinkscope/app/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/io/files.h"
#include "tests/support/paths.h"

namespace sinkscope::app {
namespace {

using io::test::expect_error;
using io::test::write_file;
using text::Ids;

/// Every byte is the token of its own number; 256 is the BOS.
class ByteTokenizer : public text::Tokenizer {
 public:
  explicit ByteTokenizer(bool adds_bos, bool has_bos = true)
      : adds_bos_(adds_bos), has_bos_(has_bos) {}
  Ids encode(std::string_view utf8, bool) const override {
    Ids ids;
    for (const char byte : utf8) ids.push_back(static_cast<uint8_t>(byte));
    return ids;
  }
  std::string bytes(int32_t id) const override {
    return id == 256 ? "<s>" : std::string(1, static_cast<char>(id));
  }
  int64_t vocabulary_size() const override { return 257; }
  std::optional<int32_t> bos_id() const override {
    return has_bos_ ? std::optional<int32_t>(256) : std::nullopt;
  }
  std::optional<int32_t> eos_id() const override { return std::nullopt; }
  bool adds_bos() const override { return adds_bos_; }
  std::string kind() const override { return "bytes"; }

 private:
  bool adds_bos_, has_bos_;
};

std::filesystem::path folder() {
  static const std::filesystem::path made = sinkscope::test::scratch_directory("inputs");
  return made;
}

std::string file_of(const std::string& name, const std::string& text) {
  write_file(folder() / name, text);
  return (folder() / name).string();
}

InputOptions file_options(const std::string& file, int64_t seq_len) {
  InputOptions options;
  options.files = {file};
  options.seq_len = seq_len;
  return options;
}

InputOptions token_options(const std::vector<std::string>& tokens) {
  InputOptions options;
  options.tokens = tokens;
  return options;
}

Inputs read(const InputOptions& options, bool adds_bos = false) {
  const ByteTokenizer tokenizer(adds_bos);
  return read_inputs(options, &tokenizer, 257);
}

std::vector<Ids> ids_of(const Inputs& inputs) {
  std::vector<Ids> ids;
  for (const store::SequenceInfo& sequence : inputs.sequences) ids.push_back(sequence.ids);
  return ids;
}

std::vector<int64_t> starts_of(const Inputs& inputs) {
  std::vector<int64_t> starts;
  for (const store::SequenceInfo& sequence : inputs.sequences) starts.push_back(sequence.start);
  return starts;
}

void expect_usage(const std::vector<std::string>& says, const InputOptions& options,
                  bool adds_bos = false) {
  expect_error(ErrorKind::kUsage, says, [&] { read(options, adds_bos); });
}

TEST(Inputs, FilesAreCutIntoWholeSequences) {
  const std::string file = file_of("ten.txt", "abcdefghij");
  const Inputs inputs = read(file_options(file, 4));
  EXPECT_EQ(ids_of(inputs), (std::vector<Ids>{{'a', 'b', 'c', 'd'}, {'e', 'f', 'g', 'h'}}));
  EXPECT_EQ(starts_of(inputs), (std::vector<int64_t>{0, 4}));
  EXPECT_EQ(inputs.sequences[1].id, 1);
  EXPECT_EQ(inputs.sequences[1].source, file);
  EXPECT_EQ(inputs.kind, "text");
}

TEST(Inputs, EverySequenceOfAFileHasItsOwnBos) {
  InputOptions options = file_options(file_of("ten.txt", "abcdefghij"), 4);
  const std::vector<Ids> with_bos = {
      {256, 'a', 'b', 'c'}, {256, 'd', 'e', 'f'}, {256, 'g', 'h', 'i'}};
  EXPECT_EQ(ids_of(read(options, true)), with_bos);
  EXPECT_EQ(starts_of(read(options, true)), (std::vector<int64_t>{0, 3, 6}));
  options.bos = "never";
  EXPECT_EQ(ids_of(read(options, true))[0], (Ids{'a', 'b', 'c', 'd'}));
  options.bos = "always";
  EXPECT_EQ(ids_of(read(options, false)), with_bos);
}

TEST(Inputs, BosThatCannotBeIsRefused) {
  InputOptions options = file_options(file_of("ten.txt", "abcdefghij"), 4);
  options.bos = "always";
  const ByteTokenizer without_bos(false, false);
  expect_error(ErrorKind::kUsage, {"--bos always", "no BOS"},
               [&] { read_inputs(options, &without_bos, 257); });
  options.seq_len = 1;
  expect_usage({"--seq-len 1", "nothing but special tokens"}, options);
  options.bos = "sometimes";
  expect_usage({"--bos sometimes", "auto, always or never"}, options);
}

// Case TOK-4.
TEST(Inputs, ShortFilesAreSkippedAndCounted) {
  InputOptions options = file_options(file_of("forty.txt", std::string(40, 'x')), 64);
  options.files.push_back(file_of("long.txt", std::string(70, 'y')));
  const Inputs inputs = read(options);
  EXPECT_EQ(inputs.sequences.size(), 1u);
  EXPECT_EQ(inputs.skipped, 1);
  ASSERT_EQ(inputs.warnings.size(), 1u);
  EXPECT_NE(inputs.warnings[0].find("1 input(s) shorter than 64 tokens"), std::string::npos)
      << inputs.warnings[0];
}

TEST(Inputs, NothingLeftSaysHowLongTheLongestWas) {
  InputOptions options = file_options(file_of("forty.txt", std::string(40, 'x')), 64);
  options.files.push_back(file_of("twelve.txt", std::string(12, 'y')));
  expect_usage({"--seq-len 64", "2 skipped", "the longest has 40 tokens", "--seq-len 40"}, options);
  expect_usage({"the longest has 41 tokens"}, options, true);  // its BOS counts
  options.seq_len = 41;                                        // what the hint says must work
  EXPECT_EQ(read(options, true).sequences.size(), 1u);
  options.files = {file_of("empty.txt", "")};
  expect_usage({"1 skipped", "the longest has 0 tokens"}, options);
}

TEST(Inputs, PromptsAreRunAsLongAsTheyAre) {
  InputOptions options;
  options.prompts = {"hi", "a longer one"};
  const Inputs inputs = read(options, true);
  ASSERT_EQ(inputs.sequences.size(), 2u);
  EXPECT_EQ(inputs.sequences[0].ids, (Ids{256, 'h', 'i'}));
  EXPECT_EQ(inputs.sequences[0].source, "prompt 0");
  EXPECT_EQ(inputs.sequences[1].ids.size(), 13u);
  EXPECT_EQ(inputs.skipped, 0);
}

TEST(Inputs, EmptyPromptNeedsABos) {
  InputOptions options;
  options.prompts = {"good", ""};
  options.bos = "never";
  expect_usage({"--prompt 1", "no token at all", "--bos always"}, options);
  options.bos = "always";
  EXPECT_EQ(ids_of(read(options))[1], (Ids{256}));
}

TEST(Inputs, PromptsComeAfterTheFiles) {
  InputOptions options = file_options(file_of("ten.txt", "abcdefghij"), 5);
  options.prompts = {"p"};
  const Inputs inputs = read(options);
  ASSERT_EQ(inputs.sequences.size(), 3u);
  EXPECT_EQ(inputs.sequences[2].ids, (Ids{'p'}));
  EXPECT_EQ(inputs.sequences[2].id, 2);
}

TEST(Inputs, ChoiceIsStableDistinctAndSeeded) {
  InputOptions options = file_options(file_of("many.txt", std::string(1000, 'z')), 10);
  options.max_seqs = 12;
  const std::vector<int64_t> chosen = starts_of(read(options));
  ASSERT_EQ(chosen.size(), 12u);
  EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
  EXPECT_EQ(std::adjacent_find(chosen.begin(), chosen.end()), chosen.end());
  for (const int64_t start : chosen) EXPECT_TRUE(start % 10 == 0 && start < 1000) << start;
  EXPECT_EQ(starts_of(read(options)), chosen);
  EXPECT_NE(chosen.back(), 110) << "the first twelve are no choice";
  options.seed = 1;
  EXPECT_NE(starts_of(read(options)), chosen);
  options.max_seqs = 100;  // all of them fit
  EXPECT_EQ(starts_of(read(options)).size(), 100u);
  EXPECT_EQ(starts_of(read(options)).back(), 990);
}

TEST(Inputs, TokensInline) {
  const Inputs inputs = read(token_options({"1,0,256", "7"}));
  EXPECT_EQ(ids_of(inputs), (std::vector<Ids>{{1, 0, 256}, {7}}));
  EXPECT_EQ(inputs.kind, "tokens");
  EXPECT_EQ(inputs.sequences[1].source, "tokens 1");
  EXPECT_NO_THROW(read_inputs(token_options({"1"}), nullptr, 257));  // no tokenizer is needed
}

TEST(Inputs, TokensInAJsonFile) {
  EXPECT_EQ(ids_of(read(token_options({file_of("one.json", "[1, 2, 3]")}))),
            (std::vector<Ids>{{1, 2, 3}}));
  EXPECT_EQ(ids_of(read(token_options({file_of("two.json", "[[1, 2], [3]]"), "4"}))),
            (std::vector<Ids>{{1, 2}, {3}, {4}}));
}

TEST(Inputs, TokensThatAreNoneAreRefused) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "--tokens \"\": no ids"},
      {"257", "id 257 is outside the vocabulary 0..256"},
      {"1,-1", "id -1 is outside the vocabulary 0..256"},
      {"1,two", "\"two\" is neither an id"},
      {"1,,2", "\"\" is neither an id"},
      {"1.5", "\"1.5\" is neither an id"},
      {"99999999999999999999", "is neither an id"},
      {"no-such-file.json", "no-such-file.json"},
      {file_of("object.json", "{\"a\": 1}"), "not a JSON list"},
      {file_of("cut.json", "[1, 2"), "not a JSON list"},
      {file_of("none.json", "[]"), "a list without ids"},
      {file_of("none_inside.json", "[[1], []]"), "a list without ids"},
      {file_of("mixed.json", "[[1], 2]"), "mixed"},
      {file_of("mixed_too.json", "[1, [2]]"), "[2] is not an id"},
      {file_of("text.json", "[1, \"2\"]"), "\"2\" is not an id"},
      {file_of("float.json", "[1, 2.0]"), "2.0 is not an id"},
      {file_of("outside.json", "[[1], [300]]"), "id 300 is outside"},
      {file_of("huge.json", "[18446744073709551615]"), "outside the vocabulary"},
      {folder().string(), "cannot be read"},
  };
  for (const auto& [argument, says] : rows) {
    SCOPED_TRACE(argument);
    expect_usage({"--tokens", says}, token_options({argument}));
  }
}

TEST(Inputs, WhatIsAskedMustMakeSense) {
  expect_usage({"nothing to measure", "--file", "--prompt", "--tokens"}, {});
  InputOptions both = token_options({"1"});
  both.prompts = {"hi"};
  expect_usage({"--tokens together with"}, both);
  expect_usage({"--file", "absent.txt", "cannot be read"},
               file_options((folder() / "absent.txt").string(), 4));
  expect_usage({"--seq-len 0"}, file_options("any", 0));
  InputOptions none = file_options("any", 4);
  none.max_seqs = 0;
  expect_usage({"--max-seqs 0"}, none);
  InputOptions prompt;
  prompt.prompts = {"hi"};
  expect_error(ErrorKind::kUsage, {"no tokenizer", "--tokens"},
               [&] { read_inputs(prompt, nullptr, 257); });
}

TEST(Inputs, HashIsOfTheIdsAndTheirLengths) {
  const auto hash = [](const std::vector<std::string>& tokens) {
    return read(token_options(tokens)).sha256;
  };
  EXPECT_EQ(hash({"1,2", "3"}).size(), 64u);
  EXPECT_EQ(hash({"1,2", "3"}), hash({file_of("same.json", "[[1, 2], [3]]")}));
  EXPECT_NE(hash({"1,2", "3"}), hash({"1", "2,3"}));
  EXPECT_NE(hash({"1,2", "3"}), hash({"1,2", "4"}));
}

TEST(Flags, Layers) {
  EXPECT_EQ(parse_layers("", 3), (std::set<int>{0, 1, 2}));
  EXPECT_EQ(parse_layers("2", 3), (std::set<int>{2}));
  EXPECT_EQ(parse_layers("0-2,7,1", 8), (std::set<int>{0, 1, 2, 7}));
  for (const char* text : {"8", "0-8", "3-1", "-1", "a", "1-", "1-x", "1,,2", ",", "1.5", "1 2",
                           "0-1-2", "99999999999"}) {
    SCOPED_TRACE(text);
    expect_error(ErrorKind::kUsage, {"--layers", "0..7"}, [&] { parse_layers(text, 8); });
  }
}

TEST(Flags, Heads) {
  using Heads = std::set<std::pair<int, int>>;
  EXPECT_EQ(parse_heads("", 6, 4), std::nullopt);
  EXPECT_EQ(parse_heads("L5H3,L1H0-1", 6, 4), (Heads{{5, 3}, {1, 0}, {1, 1}}));
  EXPECT_EQ(parse_heads("L0-1H2", 6, 4), (Heads{{0, 2}, {1, 2}}));
  for (const char* text :
       {"L6H0", "L0H4", "5H3", "L5", "LH3", "L5H", "H3L5", "L5H3,", "l5h3", "L5H3-1"}) {
    SCOPED_TRACE(text);
    expect_error(ErrorKind::kUsage, {"--heads"}, [&] { parse_heads(text, 6, 4); });
  }
}

TEST(Inputs, ALongListOfIdsIsNoFileName) {
  std::string ids = "1";
  for (int i = 0; i < 3000; ++i) ids += ",1";
  InputOptions options;
  options.tokens = {ids};
  EXPECT_EQ(read_inputs(options, nullptr, 10).sequences.front().ids.size(), 3001u);
}

TEST(Inputs, LayerNumbersDoNotWrap) {
  EXPECT_THROW(parse_layers("4294967296", 5), Error);
  EXPECT_THROW(parse_layers("0-4294967297", 5), Error);
  EXPECT_THROW(parse_layers("1-", 5), Error);
  EXPECT_THROW(parse_layers("-1", 5), Error);
}

}  // namespace
}  // namespace sinkscope::app
