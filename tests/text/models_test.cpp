// The text of gguf/models/README.md in both file forms of each tiny model.
#include <gtest/gtest.h>

#include <cstring>

#include "sinkscope/io/safetensors.h"
#include "tests/support/paths.h"
#include "tests/text/helpers.h"

namespace sinkscope {
namespace {

using text::Ids;
namespace fs = std::filesystem;

constexpr char kText[] =
    "First Citizen: We are accounted poor citizens, the patricians good. What authority surfeits "
    "on would relieve us; if they would yield us but the superfluity.  12 of 1608";

Ids golden_ids(const fs::path& file) {
  const auto source = io::open_safetensors(file);
  const io::TensorInfo* const tensor = source->find("input_ids");
  const auto bytes = source->bytes(*tensor);
  std::vector<int64_t> wide(bytes.size() / sizeof(int64_t));
  std::memcpy(wide.data(), bytes.data(), bytes.size());
  return {wide.begin(), wide.end()};
}

class TinyModel : public testing::TestWithParam<const char*> {};

TEST_P(TinyModel, GgufAndTokenizerJsonGiveTheGoldenIds) {
  const std::string name = GetParam();
  const auto golden = test::data_path("gguf/models/" + name + "/golden.safetensors");
  if (!golden) GTEST_SKIP() << "no reference data: gguf/models/";
  const Ids expected = golden_ids(*golden);
  ASSERT_EQ(expected.size(), 32u);

  const auto first_ids = [](const text::Tokenizer& tokenizer) {
    Ids ids = make_prompt(tokenizer, kText, text::BosRule::kAuto).ids;
    ids.resize(32);
    return ids;
  };
  const fs::path directory = golden->parent_path();
  const char* suffix = name == "llama256" ? "-q4_k_m.gguf" : "-f32.gguf";
  const auto from_gguf = test::tokenizer_of_gguf(directory / (name + suffix));
  const auto from_json = text::open_tokenizer(directory);
  EXPECT_EQ(first_ids(*from_gguf), expected);
  EXPECT_EQ(first_ids(*from_json), expected);
  EXPECT_EQ(from_gguf->bos_id(), from_json->bos_id());
  EXPECT_EQ(from_gguf->eos_id(), from_json->eos_id());
  EXPECT_EQ(from_gguf->adds_bos(), from_json->adds_bos());
  EXPECT_EQ(from_gguf->vocabulary_size(), from_json->vocabulary_size());
}

INSTANTIATE_TEST_SUITE_P(Families, TinyModel,
                         testing::Values("llama", "llama3", "qwen2", "qwen3", "gemma2", "gemma3",
                                         "gpt2", "mixtral", "qwen3moe", "gptneox", "phi3", "gptoss",
                                         "llama256"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace sinkscope
