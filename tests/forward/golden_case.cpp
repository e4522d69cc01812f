#include "tests/forward/golden_case.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sinkscope/forward/recorder.h"
#include "sinkscope/forward/runner.h"
#include "sinkscope/io/safetensors.h"

namespace sinkscope::forward::test {
namespace {

/// A golden file, read sequence by sequence without its padding.
class Golden {
 public:
  explicit Golden(const std::filesystem::path& file) : source_(io::open_safetensors(file)) {
    for (const char* input : {"input_ids", "pixel_values", "vectors"}) {
      if (has(input)) sequences_ = source_->find(input)->shape[0];
    }
  }
  bool has(const std::string& name) const { return source_->find(name) != nullptr; }
  int64_t sequences() const { return sequences_; }

  at::Tensor floats(const std::string& name) const {
    const io::TensorInfo* tensor = source_->find(name);
    EXPECT_NE(tensor, nullptr) << name;
    at::Tensor out = at::empty(tensor->shape, at::kFloat);
    io::read_floats(*source_, *tensor, 0,
                    {out.data_ptr<float>(), static_cast<size_t>(out.numel())});
    return out;
  }

  /// Places of the real tokens of sequence b; undefined: all.
  at::Tensor kept(int64_t b) const {
    return has("attention_mask") ? floats("attention_mask")[b].nonzero().flatten() : at::Tensor();
  }

  Stream stream(int64_t b) const {
    Stream stream;
    if (has("pixel_values")) {
      stream.pixels = floats("pixel_values")[b].contiguous();
      return stream;
    }
    if (has("vectors")) {
      stream.vectors = floats("vectors")[b].contiguous();
      return stream;
    }
    stream.ids = integers("input_ids", b);
    if (has("token_type_ids")) stream.token_types = integers("token_type_ids", b);
    return stream;
  }

  /// Tensor `name` of sequence b; `token_dims`: which dimensions count tokens.
  at::Tensor of(const std::string& name, int64_t b,
                std::initializer_list<int64_t> token_dims) const {
    at::Tensor out = floats(name)[b];
    const at::Tensor rows = kept(b);
    for (const int64_t dim : token_dims) {
      if (rows.defined()) out = out.index_select(dim, rows);
    }
    return out;
  }

 private:
  std::vector<int32_t> integers(const std::string& name, int64_t b) const {
    const at::Tensor row = of(name, b, {0}).to(at::kInt).contiguous();
    return {row.data_ptr<int32_t>(), row.data_ptr<int32_t>() + row.numel()};
  }

  std::unique_ptr<io::TensorSource> source_;
  int64_t sequences_ = 0;
};

struct GoldenName {
  Tap tap;
  const char* name;
  bool heads_first;  ///< q, k, v have heads before tokens
};
constexpr GoldenName kLayerNames[] = {
    {Tap::kResidPre, "resid_pre", false},
    {Tap::kResidPost, "resid_post", false},
    {Tap::kRotQ, "q", true},
    {Tap::kRotK, "k", true},
    {Tap::kV, "v", true},
    {Tap::kZ, "z", false},
    {Tap::kGate, "gate", false},
    {Tap::kAttnOut, "attn_out", false},
    {Tap::kMlpOut, "mlp_out", false},
};

class Comparison {
 public:
  Comparison(const model::Model& model, const Golden& golden, int64_t b, const Taps& taps)
      : model_(model), golden_(golden), b_(b), taps_(taps) {}

  void compare(const std::string& tap, const at::Tensor& expected, GoldenDifference& worst) const {
    ++worst.compared;
    const auto found = taps_.find(tap);
    ASSERT_NE(found, taps_.end()) << tap << " was not computed";
    ASSERT_EQ(found->second.sizes(), expected.sizes()) << tap;
    const double largest = expected.abs().max().item<double>();
    const double difference = (found->second - expected).abs().max().item<double>();
    const double relative = largest > 0 ? difference / largest : difference;
    if (!(relative <= worst.tap)) worst.tap = relative, worst.tap_name = tap;
  }

  void layer(int l, const at::Tensor& alpha, GoldenDifference& worst) const {
    const std::string suffix = fmt::format(".{}", l);
    for (const GoldenName& row : kLayerNames) {
      const std::string name = row.name + suffix;
      if (!golden_.has(name)) continue;  // the GGUF goldens hold attention and logits only
      const at::Tensor expected = golden_.of(name, b_, {row.heads_first ? 1 : 0});
      compare(tap_name(row.tap, l), row.heads_first ? expected.transpose(0, 1) : expected, worst);
    }
    if (!golden_.has("attn" + suffix)) return;
    const at::Tensor pattern = golden_.of("attn" + suffix, b_, {1, 2});
    compare(tap_name(Tap::kPattern, l), pattern, worst);
    const Documents documents{Stream{}};
    const at::Tensor expected =
        alpha_of_pattern(pattern, visibility_of(model_.spec(), l, documents));
    const double difference = (alpha - expected).abs().max().item<double>();
    if (!(difference <= worst.alpha)) {
      worst.alpha = difference;
      worst.alpha_name = "alpha" + suffix;
    }
  }

  void readout(GoldenDifference& worst) const {
    if (golden_.has("final_norm")) {
      compare(tap_name(Tap::kFinalNorm, 0), golden_.of("final_norm", b_, {0}), worst);
    }
    if (golden_.has("pooled")) {
      compare("pooled", golden_.of("pooled", b_, {}).unsqueeze(0), worst);
    }
    if (!golden_.has("logits")) return;
    const bool per_token = golden_.floats("logits").dim() == 3;
    const at::Tensor logits =
        per_token ? golden_.of("logits", b_, {0}) : golden_.of("logits", b_, {}).unsqueeze(0);
    compare("logits", logits, worst);
  }

 private:
  const model::Model& model_;
  const Golden& golden_;
  int64_t b_;
  const Taps& taps_;
};

}  // namespace

std::vector<Stream> golden_streams(const std::filesystem::path& golden_file) {
  const Golden golden(golden_file);
  std::vector<Stream> streams;
  for (int64_t b = 0; b < golden.sequences(); ++b) streams.push_back(golden.stream(b));
  return streams;
}

GoldenDifference compare_with_golden(const std::string& model_argument,
                                     const std::filesystem::path& golden_file, bool reference) {
  const auto model = model::Model::open(model_argument);
  const Golden golden(golden_file);
  const std::vector<Stream> streams = golden_streams(golden_file);
  Recorder recorder;
  if (!reference) {
    Observer* observers[] = {&recorder};
    RunOptions options;
    options.chunk_rows = 20;  // so that chunks cut through streams
    Runner(*model, options).run(streams, observers);
  }
  GoldenDifference worst;
  for (int64_t b = 0; b < golden.sequences(); ++b) {
    const auto s = static_cast<size_t>(b);
    const Taps taps =
        reference ? run_reference(*model, streams[s], at::kDouble) : recorder.stream(s);
    const Comparison comparison(*model, golden, b, taps);
    const Documents documents(streams[s]);
    for (int l = 0; l < static_cast<int>(model->spec().layers); ++l) {
      const at::Tensor alpha = reference
                                   ? alpha_of_pattern(taps.at(tap_name(Tap::kPattern, l)),
                                                      visibility_of(model->spec(), l, documents))
                                   : recorder.alpha(s, l);
      comparison.layer(l, alpha, worst);
    }
    comparison.readout(worst);
  }
  EXPECT_GT(worst.compared, 0) << golden_file;
  return worst;
}

}  // namespace sinkscope::forward::test
