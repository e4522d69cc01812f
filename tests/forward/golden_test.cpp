// The fast path against golden tensors of the reference implementation, from every file format.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/forward/recorder.h"
#include "sinkscope/forward/runner.h"
#include "sinkscope/io/safetensors.h"
#include "tests/support/paths.h"

namespace sinkscope::forward {
namespace {

namespace fs = std::filesystem;

// Relative to the tap's largest value. The goldens' own float32 noise is 2e-5 absolute on values
// up to 20 (golden/README.md), which is 1e-6 relative; the requirement is 1e-4.
constexpr double kTapTolerance = 1e-5;
constexpr double kAlphaTolerance = 1e-5;

class Golden {
 public:
  explicit Golden(const fs::path& file) : source_(io::open_safetensors(file)) {}
  bool has(const std::string& name) const { return source_->find(name) != nullptr; }
  at::Tensor floats(const std::string& name) const {
    const io::TensorInfo* tensor = source_->find(name);
    EXPECT_NE(tensor, nullptr) << name;
    at::Tensor out = at::empty(tensor->shape, at::kFloat);
    io::read_floats(*source_, *tensor, 0,
                    {out.data_ptr<float>(), static_cast<size_t>(out.numel())});
    return out;
  }
  std::vector<Stream> streams() const {
    const at::Tensor ids = floats("input_ids").to(at::kInt).contiguous();
    std::vector<Stream> streams;
    for (int64_t b = 0; b < ids.size(0); ++b) {
      const int32_t* row = ids.data_ptr<int32_t>() + b * ids.size(1);
      streams.push_back({{row, row + ids.size(1)}});
    }
    return streams;
  }

 private:
  std::unique_ptr<io::TensorSource> source_;
};

/// `ours` of stream b against golden[b]; the golden of q, k, v and attention has heads before
/// tokens.
void expect_equal(const at::Tensor& ours, at::Tensor golden, const std::string& what) {
  ASSERT_EQ(ours.sizes(), golden.sizes()) << what;
  const double largest = golden.abs().max().item<double>();
  const double difference = (ours - golden).abs().max().item<double>();
  EXPECT_LE(difference, kTapTolerance * largest)
      << what << " differs by " << difference << " of " << largest;
}

struct GoldenName {
  Tap tap;
  const char* name;
  bool heads_first;
};
constexpr GoldenName kLayerNames[] = {
    {Tap::kResidPre, "resid_pre", false},
    {Tap::kResidPost, "resid_post", false},
    {Tap::kRotQ, "q", true},
    {Tap::kRotK, "k", true},
    {Tap::kV, "v", true},
    {Tap::kPattern, "attn", false},
    {Tap::kZ, "z", false},
    {Tap::kAttnOut, "attn_out", false},
    {Tap::kMlpOut, "mlp_out", false},
};

void check_case(const std::string& model_argument, const fs::path& golden_file) {
  const auto model = model::Model::open(model_argument);
  const Golden golden(golden_file);
  const std::vector<Stream> streams = golden.streams();
  Recorder recorder;
  Observer* observers[] = {&recorder};
  RunOptions options;
  options.chunk_rows = 20;  // so that chunks cut through streams
  Runner(*model, options).run(streams, observers);
  for (size_t b = 0; b < streams.size(); ++b) {
    const Taps& taps = recorder.stream(b);
    const auto batch = static_cast<int64_t>(b);
    for (int layer = 0; layer < static_cast<int>(model->spec().layers); ++layer) {
      for (const GoldenName& row : kLayerNames) {
        const std::string name = std::string(row.name) + "." + std::to_string(layer);
        if (!golden.has(name)) continue;  // the GGUF goldens hold attention and logits only
        const at::Tensor expected = golden.floats(name)[batch];
        expect_equal(taps.at(tap_name(row.tap, layer)),
                     row.heads_first ? expected.transpose(0, 1) : expected, name);
      }
      const at::Tensor alpha =
          alpha_of_pattern(golden.floats("attn." + std::to_string(layer))[batch]);
      EXPECT_LE((recorder.alpha(b, layer) - alpha).abs().max().item<double>(), kAlphaTolerance)
          << "alpha " << layer;
    }
    expect_equal(taps.at("logits"), golden.floats("logits")[batch], "logits");
    if (golden.has("final_norm")) {
      expect_equal(taps.at("ln_final.hook_normalized"), golden.floats("final_norm")[batch],
                   "final_norm");
    }
  }
}

class HubGolden : public testing::TestWithParam<const char*> {};
TEST_P(HubGolden, EveryTap) {
  SINKSCOPE_DATA_OR_SKIP(folder, std::string("golden/") + GetParam());
  check_case(folder.string(), folder / "golden.safetensors");
}
INSTANTIATE_TEST_SUITE_P(All, HubGolden,
                         testing::Values("llama", "gpt2", "llama_sharded_bf16",
                                         "llama3_rope_scaling", "llama_rope_parameters"));

struct FileGolden {
  const char *model, *file, *golden;
};
void PrintTo(const FileGolden& g, std::ostream* out) { *out << g.model << "/" << g.file; }

class GgufGolden : public testing::TestWithParam<FileGolden> {};
TEST_P(GgufGolden, AttentionAndLogits) {
  SINKSCOPE_DATA_OR_SKIP(folder, std::string("gguf/models/") + GetParam().model);
  check_case((folder / GetParam().file).string(), folder / GetParam().golden);
}
INSTANTIATE_TEST_SUITE_P(
    All, GgufGolden,
    testing::Values(FileGolden{"llama", "", "golden.safetensors"},
                    FileGolden{"llama", "llama-f32.gguf", "golden.safetensors"},
                    FileGolden{"llama", "llama-q8_0.gguf", "golden-q8_0.safetensors"},
                    FileGolden{"gpt2", "", "golden.safetensors"},
                    FileGolden{"gpt2", "gpt2-f32.gguf", "golden.safetensors"},
                    FileGolden{"gpt2", "gpt2-q8_0.gguf", "golden-q8_0.safetensors"},
                    FileGolden{"llama3", "", "golden.safetensors"},
                    FileGolden{"llama3", "llama3-f32.gguf", "golden.safetensors"},
                    FileGolden{"llama3", "llama3-q5_1.gguf", "golden-q5_1.safetensors"},
                    FileGolden{"llama256", "", "golden.safetensors"},
                    FileGolden{"llama256", "llama256-q4_k_m.gguf", "golden-q4_k_m.safetensors"}));

// The sink metrics that the goldens' own script computed.
TEST(Golden, MetricsOfExpectedJson) {
  SINKSCOPE_DATA_OR_SKIP(folder, "golden/llama");
  const auto expected = nlohmann::json::parse(std::ifstream(folder / "expected.json"));
  const auto& alpha0 = expected["runs"][0]["metrics"]["alpha_0"];
  const auto model = model::Model::open(folder.string());
  const std::vector<Stream> streams = Golden(folder / "golden.safetensors").streams();
  Recorder recorder({Tap::kZ});
  Observer* observers[] = {&recorder};
  Runner(*model, {}).run(streams, observers);
  for (int l = 0; l < 3; ++l) {
    for (int h = 0; h < 4; ++h) {
      const double mean =
          (recorder.alpha(0, l)[h][0].item<double>() + recorder.alpha(1, l)[h][0].item<double>()) /
          2;
      EXPECT_NEAR(mean, alpha0[static_cast<size_t>(l)][static_cast<size_t>(h)].get<double>(), 1e-6);
    }
  }
}

// method.md section 1: a real model, values from two independent engines.
TEST(Golden, Stories260K) {
  SINKSCOPE_DATA_OR_SKIP(file, "stories260K/stories260K.gguf");
  const Stream stream{{1,   403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421,
                       395, 317, 426, 338, 401, 396, 267, 337, 410, 408, 419, 292, 411,
                       322, 265, 282, 295, 433, 335, 311, 374, 419, 426, 385, 328, 432,
                       317, 394, 261, 370, 352, 266, 268, 388, 322, 265, 298, 420, 412,
                       419, 419, 426, 338, 352, 303, 267, 265, 268, 388, 269, 282}};
  const auto model = model::Model::open(file.string());
  Recorder recorder({Tap::kResidPost});
  Observer* observers[] = {&recorder};
  Runner(*model, {}).run({&stream, 1}, observers);
  const struct {
    int layer, head;
    double alpha;
  } heads[] = {{4, 5, 0.1758205}, {4, 0, 0.1486679}, {2, 7, 0.1454335}, {4, 4, 0.1343173},
               {2, 4, 0.1260184}, {1, 1, 0.1236301}, {2, 6, 0.1210381}, {0, 0, 0.0466275}};
  for (const auto& [layer, head, alpha] : heads) {
    EXPECT_NEAR(recorder.alpha(0, layer)[head][0].item<double>(), alpha, 1e-6)
        << "L" << layer << "H" << head;
  }
  const double norms[][2] = {{8.2140, 3.8149},
                             {10.3609, 5.3946},
                             {12.2176, 7.2991},
                             {16.0262, 10.0714},
                             {18.6480, 12.6603}};
  for (int layer = 0; layer < 5; ++layer) {
    const at::Tensor norm = recorder.stream(0).at(tap_name(Tap::kResidPost, layer)).norm(2, -1);
    EXPECT_NEAR(norm[0].item<double>(), norms[layer][0], 1e-4);
    EXPECT_NEAR(norm.slice(0, 1).mean().item<double>(), norms[layer][1], 1e-4);
  }
}

// Any batch split, chunking and thread count gives the same numbers.
TEST(Runner, BatchesChunksAndThreadsDoNotMatter) {
  SINKSCOPE_DATA_OR_SKIP(folder, "golden/llama");
  const auto model = model::Model::open(folder.string());
  const std::vector<Stream> streams = {
      {{1, 5, 9, 33, 7}}, {{2, 8, 100, 4, 4, 12, 90, 3, 3, 1}}, {{159}}};
  const auto run = [&](std::span<const Stream> part, int64_t chunk, int threads) {
    Recorder recorder({Tap::kResidPost, Tap::kLogits});
    Observer* observers[] = {&recorder};
    RunOptions options;
    options.chunk_rows = chunk, options.threads = threads;
    Runner(*model, options).run(part, observers);
    return recorder;
  };
  const Recorder together = run(streams, 512, 2);
  const Recorder chunked = run(streams, 3, 1);
  for (size_t s = 0; s < streams.size(); ++s) {
    const Recorder alone = run(std::span(streams).subspan(s, 1), 512, 1);
    for (const auto& [name, tensor] : together.stream(s)) {
      const double largest = tensor.abs().max().item<double>();
      EXPECT_LE((tensor - alone.stream(0).at(name)).abs().max().item<double>(), 1e-5 * largest)
          << name;
      EXPECT_LE((tensor - chunked.stream(s).at(name)).abs().max().item<double>(), 1e-5 * largest)
          << name;
    }
  }
}

TEST(Runner, RefusesIdsAndLengthsByName) {
  SINKSCOPE_DATA_OR_SKIP(folder, "golden/gpt2");
  const auto model = model::Model::open(folder.string());
  const auto refused = [&](Stream stream) {
    try {
      Runner(*model, {}).run({&stream, 1}, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::kUsage);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(refused({{1, 100000}}).find("100000"), std::string::npos);
  EXPECT_NE(refused({{-1}}).find("-1"), std::string::npos);
  EXPECT_NE(refused({{}}).find("empty"), std::string::npos);
  const auto longer = static_cast<size_t>(model->spec().context + 1);
  EXPECT_NE(refused({std::vector<int32_t>(longer, 1)}).find(std::to_string(longer)),
            std::string::npos);
}

/// Wants nothing: nothing may be delivered.
class Nothing : public Observer {
 public:
  bool wants(Tap, int) const override { return false; }
  bool wants_sums(int) const override { return false; }
  void on_activation(const Activation&) override { ++activations; }
  void on_layer(const LayerState& state) override { sums += !state.sums.empty(); }
  int activations = 0, sums = 0;
};

TEST(Runner, NothingIsMadeForAnObserverThatWantsNothing) {
  SINKSCOPE_DATA_OR_SKIP(folder, "golden/llama");
  const auto model = model::Model::open(folder.string());
  const Stream stream{{1, 2, 3}};
  Nothing nothing;
  Observer* observers[] = {&nothing};
  Runner(*model, {}).run({&stream, 1}, observers);
  EXPECT_EQ(nothing.activations, 0);
  EXPECT_EQ(nothing.sums, 0);
}

TEST(Runner, StopsWhenAsked) {
  SINKSCOPE_DATA_OR_SKIP(folder, "golden/llama");
  const auto model = model::Model::open(folder.string());
  const Stream stream{{1, 2, 3}};
  RunOptions options;
  options.progress = [](int step, int) { return step < 2; };
  try {
    Runner(*model, options).run({&stream, 1}, {});
    FAIL() << "ran to the end";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kInterrupted);
  }
}

TEST(Taps, NamesAreReadBack) {
  for (const TapInfo& info : all_taps()) {
    const auto place = parse_tap(tap_name(info.tap, 12));
    ASSERT_TRUE(place) << info.name;
    EXPECT_EQ(place->tap, info.tap);
    EXPECT_EQ(place->layer, info.per_layer ? 12 : 0);
  }
  EXPECT_EQ(parse_tap("resid_post-3")->layer, 3);
  for (const char* wrong :
       {"", "blocks.x.hook_resid_pre", "blocks.3.hook_nothing", "resid_post-", "resid_post-3x"}) {
    EXPECT_FALSE(parse_tap(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace sinkscope::forward
