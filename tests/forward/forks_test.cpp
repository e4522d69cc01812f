// Forks and their edits (method.md section 6), on small real models.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/base/error.h"
#include "sinkscope/forward/recorder.h"
#include "sinkscope/forward/runner.h"
#include "tests/support/paths.h"

namespace sinkscope::forward {
namespace {

std::unique_ptr<model::Model> open_case(const std::string& name) {
  return model::Model::open(sinkscope::test::data_path("families/" + name).value().string());
}

std::vector<int32_t> some_ids(int64_t count, int64_t from = 0) {
  std::vector<int32_t> ids;
  for (int64_t i = from; i < from + count; ++i)
    ids.push_back(static_cast<int32_t>((7 * i + 3) % 40));
  return ids;
}

struct Passed {
  Recorder recorder;
  const at::Tensor& tap(size_t stream, Tap tap, int layer = 0) const {
    return recorder.stream(stream).at(tap_name(tap, layer));
  }
  at::Tensor head(size_t stream, Tap t, int layer, int64_t h) const {
    return tap(stream, t, layer).select(1, h).to(at::kDouble);
  }
};

Passed run(const model::Model& model, std::vector<Stream> streams, std::vector<Fork> forks) {
  Passed result;
  Observer* observers[] = {&result.recorder};
  RunOptions options;
  options.chunk_rows = 7;  // forks and chunks must not care about each other
  Runner(model, options).run(streams, forks, observers);
  return result;
}

double largest(const at::Tensor& difference) { return difference.abs().max().item<double>(); }

/// Rows of a fork lie elsewhere than its stream's, so products round otherwise.
bool same(const at::Tensor& a, const at::Tensor& b) {
  return largest(a - b) < 5e-6 * std::max(1.0, largest(a));
}

const std::vector<std::string> kCausal = {"llama",        "gemma2", "gpt_oss", "phi",
                                          "falcon_alibi", "gpt2",   "bloom"};

/// What the head of a stream does at `layer` in float64, from the recorded pattern and values.
struct HeadInDouble {
  at::Tensor a, v;  // [T, T], [T, K]
  HeadInDouble(const Passed& r, size_t stream, int layer, int64_t head,
               const model::ModelSpec& spec)
      : a(r.tap(stream, Tap::kPattern, layer)[head].to(at::kDouble)),
        v(r.head(stream, Tap::kV, layer, head / (spec.heads / spec.kv_heads))) {}
};

TEST(Forks, AForkWithoutEffectEqualsItsStream) {
  for (const std::string& name : kCausal) {
    const auto model = open_case(name);
    const Passed r =
        run(*model, {{some_ids(12)}, {some_ids(9, 5)}},
            {{1, {ColumnEdit{1, kAllHeads, 0, 0.0f}}}, {0, {BranchEdit{0, 3, Branch::kMlp, 1}}}});
    EXPECT_LT(largest(r.tap(2, Tap::kLogits) - r.tap(1, Tap::kLogits)), 1e-5) << name;
    EXPECT_LT(largest(r.tap(3, Tap::kLogits) - r.tap(0, Tap::kLogits)), 1e-5) << name;
    EXPECT_EQ(r.tap(2, Tap::kLogits).size(0), 9) << name;
  }
}

TEST(Forks, AValueEditObeysTheExactIdentity) {
  for (const std::string& name : kCausal) {
    const auto model = open_case(name);
    const model::ModelSpec& spec = model->spec();
    const int64_t head = spec.heads - 1, position = 2;
    const at::Tensor donor = at::linspace(-1, 1, spec.head_width);
    const Passed r =
        run(*model, {{some_ids(12)}},
            {{0, {ValueEdit{1, head, position, {}}}}, {0, {ValueEdit{1, head, position, donor}}}});
    const HeadInDouble base(r, 0, 1, head, spec);
    for (const size_t fork : {1u, 2u}) {
      const at::Tensor replaced = fork == 1 ? at::zeros_like(base.v[0]) : donor.to(at::kDouble);
      at::Tensor edited = base.v.clone();
      edited[position].copy_(replaced);
      const at::Tensor whole = at::matmul(base.a, edited) - at::matmul(base.a, base.v);
      const at::Tensor identity =
          base.a.select(1, position).unsqueeze(1) * (replaced - base.v[position]);
      // The identity itself, in float64; then what the fork did, to the noise of float32.
      EXPECT_LT(largest(whole - identity), 1e-14 * largest(base.v) + 1e-15) << name;
      const at::Tensor did = r.head(fork, Tap::kZ, 1, head) - r.head(0, Tap::kZ, 1, head);
      EXPECT_LT(largest(did - identity), 2e-6 * std::max(1.0, largest(base.v))) << name;
      for (int64_t other = 0; other + 1 < spec.heads; ++other) {
        EXPECT_TRUE(same(r.head(fork, Tap::kZ, 1, other), r.head(0, Tap::kZ, 1, other)))
            << name << ": an edit of one head reached another of its group";
      }
    }
  }
}

TEST(Forks, AValueMayChangeForTheOtherQueriesAlone) {
  const auto model = open_case("llama");
  const Passed r = run(*model, {{some_ids(10)}},
                       {{0, {ValueEdit{0, 1, 3, {}}}}, {0, {ValueEdit{0, 1, 3, {}, true}}}});
  const at::Tensor all = r.head(1, Tap::kZ, 0, 1), others = r.head(2, Tap::kZ, 0, 1);
  EXPECT_TRUE(same(others[3], r.head(0, Tap::kZ, 0, 1)[3]));
  EXPECT_GT(largest(all[3] - others[3]), 1e-3);
  EXPECT_TRUE(same(all.slice(0, 4), others.slice(0, 4)));
}

TEST(Forks, ARemovedColumnIsSoftmaxWithoutIt) {
  for (const std::string& name : kCausal) {
    const auto model = open_case(name);
    const model::ModelSpec& spec = model->spec();
    const Passed r = run(*model, {{some_ids(12)}}, {{0, {ColumnEdit{0, 1, 0}}}});
    if (model->weights().has("blocks.{}.sinks")) continue;  // its rows do not sum to one
    const HeadInDouble base(r, 0, 0, 1, spec);
    at::Tensor expected = (at::matmul(base.a, base.v) - base.a.slice(1, 0, 1) * base.v[0]) /
                          (1 - base.a.slice(1, 0, 1));
    expected[0].copy_(base.v[0]);  // sees nothing else: left as it is
    EXPECT_LT(largest(r.head(1, Tap::kZ, 0, 1) - expected), 1e-5 * std::max(1.0, largest(base.v)))
        << name;
  }
}

TEST(Forks, AFlooredRemovalShrinksTheRowsThatHaveLittleLeft) {
  constexpr double kFloor = 0.9;
  for (const std::string name : {"llama", "gpt_oss", "bloom"}) {
    const auto model = open_case(name);
    ColumnEdit floored{0, 1, 0};
    floored.floor = kFloor;
    const Passed r = run(*model, {{some_ids(12)}}, {{0, {ColumnEdit{0, 1, 0}}}, {0, {floored}}});
    const HeadInDouble base(r, 0, 0, 1, model->spec());
    // With a sink logit what is left counts its share too.
    const at::Tensor left = 1 - base.a.slice(1, 0, 1);
    EXPECT_LT(left.slice(0, 1).min().item<double>(), kFloor) << name;
    EXPECT_GT(left.max().item<double>(), kFloor) << name;
    at::Tensor factor = (left / kFloor).clamp_max(1);
    factor[0].fill_(1);  // sees nothing else: left as it is
    const at::Tensor expected = r.head(1, Tap::kZ, 0, 1) * factor;
    EXPECT_LT(largest(r.head(2, Tap::kZ, 0, 1) - expected), 1e-5 * std::max(1.0, largest(base.v)))
        << name;
  }
}

TEST(Forks, WithoutItsFirstColumnARotaryModelHasNeverSeenTheFirstToken) {
  const auto model = open_case("llama");
  Fork without{0, {}};
  for (int64_t layer = 0; layer < model->spec().layers; ++layer) {
    without.edits.push_back(ColumnEdit{layer, kAllHeads, 0});
  }
  const std::vector<int32_t> ids = some_ids(14);
  const Passed r = run(*model, {{ids}, {{ids.begin() + 1, ids.end()}}}, {without});
  const at::Tensor edited = r.tap(2, Tap::kLogits).slice(0, 1), shorter = r.tap(1, Tap::kLogits);
  EXPECT_LT(largest(edited - shorter), 2e-5 * std::max(1.0, largest(shorter)));
  // Near miss: removing only one block's column is something else.
  const Passed one = run(*model, {{ids}}, {{0, {ColumnEdit{0, kAllHeads, 0}}}});
  EXPECT_GT(largest(one.tap(1, Tap::kLogits).slice(0, 1) - shorter), 1e-3);
}

TEST(Forks, ManyForksOfOnePassEqualSeparatePasses) {
  const auto model = open_case("llama");
  const model::ModelSpec& spec = model->spec();
  const std::vector<Stream> streams = {{some_ids(11)}, {some_ids(8, 3)}};
  std::vector<Fork> forks;
  for (int64_t layer = 0; layer < spec.layers; ++layer) {
    for (int64_t head = 0; head < spec.heads; ++head) {
      for (int64_t parent = 0; parent < 2; ++parent) {
        forks.push_back({parent, {ColumnEdit{layer, head, 0}}});
      }
    }
  }
  const Passed all = run(*model, streams, forks);
  for (size_t f = 0; f < forks.size(); ++f) {
    const Passed alone = run(*model, streams, {forks[f]});
    EXPECT_LT(largest(all.tap(2 + f, Tap::kLogits) - alone.tap(2, Tap::kLogits)), 1e-5) << f;
    EXPECT_GT(largest(all.tap(2 + f, Tap::kLogits) -
                      all.tap(static_cast<size_t>(forks[f].parent), Tap::kLogits)),
              1e-6)
        << f;
  }
}

TEST(Forks, AHeadSetToZeroWritesNothing) {
  const auto model = open_case("llama");
  const int64_t width = model->spec().head_width, tokens = 10;
  const at::Tensor own = at::arange(tokens * width, at::kFloat).view({tokens, width}) * 0.01;
  const Passed r = run(*model, {{some_ids(tokens)}},
                       {{0, {HeadEdit{1, 2, {}}}},
                        {0, {HeadEdit{1, 2, own}}},
                        {0, {HeadEdit{1, 2, own[3].contiguous()}}}});
  EXPECT_EQ(largest(r.head(1, Tap::kZ, 1, 2)), 0);
  EXPECT_EQ(largest(r.head(2, Tap::kZ, 1, 2) - own), 0);
  EXPECT_EQ(largest(r.head(3, Tap::kZ, 1, 2) - own[3]), 0);
  EXPECT_TRUE(same(r.head(1, Tap::kZ, 1, 1), r.head(0, Tap::kZ, 1, 1)));
}

TEST(Forks, ALocalHeadKeepsOnlyItselfAndTheSink) {
  const auto model = open_case("llama");
  const model::ModelSpec& spec = model->spec();
  const at::Tensor payload = at::linspace(0, 1, spec.head_width);
  const Passed r = run(*model, {{some_ids(10)}}, {{0, {LocalEdit{1, 3, 0, payload}}}});
  const HeadInDouble base(r, 0, 1, 3, spec);
  at::Tensor sink = base.a.select(1, 0).clone();
  sink[0].zero_();  // the sink's own query: its mass counts once, as its own
  const at::Tensor expected =
      base.a.diagonal().unsqueeze(1) * base.v + sink.unsqueeze(1) * payload.to(at::kDouble);
  EXPECT_LT(largest(r.head(1, Tap::kZ, 1, 3) - expected), 1e-6 * std::max(1.0, largest(base.v)));
}

TEST(Forks, RowsThatSeeOnlyThemselvesOrAll) {
  const auto model = open_case("llama");
  const Passed r = run(*model, {{some_ids(10)}},
                       {{0, {RowEdit{0, 4, RowView::kSelf}}}, {0, {RowEdit{0, 0, RowView::kAll}}}});
  const at::Tensor v = r.tap(0, Tap::kV).to(at::kDouble);
  const int64_t per = model->spec().heads / model->spec().kv_heads;
  EXPECT_LT(largest(r.tap(1, Tap::kZ)[4].to(at::kDouble) - v[4].repeat_interleave(per, 0)), 1e-6);
  EXPECT_TRUE(same(r.tap(1, Tap::kZ)[5], r.tap(0, Tap::kZ)[5]));
  const at::Tensor opened = r.tap(2, Tap::kZ)[0].to(at::kDouble);
  EXPECT_GT(largest(opened - v[0].repeat_interleave(per, 0)), 1e-4);  // it sees later keys now
}

TEST(Forks, AWindowHidesOldKeys) {
  const auto model = open_case("llama");
  const Passed r =
      run(*model, {{some_ids(10)}}, {{0, {WindowEdit{0, 1}}}, {0, {WindowEdit{0, 10}}}});
  const int64_t per = model->spec().heads / model->spec().kv_heads;
  EXPECT_LT(largest(r.tap(1, Tap::kZ) - r.tap(0, Tap::kV).repeat_interleave(per, 1)), 1e-6);
  EXPECT_LT(largest(r.tap(2, Tap::kZ) - r.tap(0, Tap::kZ)), 1e-6);
}

TEST(Forks, BranchesChannelsAndSplits) {
  const auto model = open_case("llama");
  const model::ModelSpec& spec = model->spec();
  const Passed r = run(*model, {{some_ids(10)}},
                       {{0, {BranchEdit{1, 0, Branch::kMlp, 0}}},
                        {0, {BranchEdit{1, 0, Branch::kAttention, 0.5f}}},
                        {0, {ChannelEdit{1, -1, {3, 5}, {0, 2}}}},
                        {0, {SplitEdit{0, 4}, SplitEdit{1, 4}}}});
  EXPECT_EQ(largest(r.tap(1, Tap::kMlpOut, 1)[0]), 0);
  EXPECT_TRUE(same(r.tap(1, Tap::kMlpOut, 1)[1], r.tap(0, Tap::kMlpOut, 1)[1]));
  EXPECT_LT(largest(r.tap(2, Tap::kAttnOut, 1)[0] * 2 - r.tap(0, Tap::kAttnOut, 1)[0]), 1e-6);
  const at::Tensor channels = r.tap(3, Tap::kResidPre, 1);
  EXPECT_EQ(largest(channels.select(1, 3)), 0);
  EXPECT_EQ(largest(channels.select(1, 5) - 2), 0);
  EXPECT_TRUE(same(channels.select(1, 4), r.tap(0, Tap::kResidPre, 1).select(1, 4)));
  for (int layer = 0; layer < 2; ++layer) {  // force-sink: orthogonal in every layer, exactly
    const at::Tensor z = r.tap(4, Tap::kNorm1, layer);
    EXPECT_EQ(largest(at::matmul(z.slice(0, 1), z[0])), 0);
    EXPECT_GT(largest(z[0].slice(0, 0, 4)), 0);
  }
  EXPECT_EQ(spec.form, model::BlockForm::kSequential);
}

TEST(Forks, SeveralEditsOfOneForkAddUp) {
  const auto model = open_case("llama");
  const Passed r = run(*model, {{some_ids(10)}},
                       {{0, {ValueEdit{0, 0, 0, {}}, ColumnEdit{0, 0, 1}, HeadEdit{1, 1, {}}}}});
  const HeadInDouble base(r, 0, 0, 0, model->spec());
  at::Tensor a = base.a.clone(), v = base.v.clone();
  a.select(1, 1).zero_();
  v[0].zero_();
  const at::Tensor rows = a.sum(1, true);
  const at::Tensor expected = at::matmul(a, v) / rows;
  EXPECT_LT(largest(r.head(1, Tap::kZ, 0, 0) - expected), 1e-5 * std::max(1.0, largest(base.v)));
  EXPECT_EQ(largest(r.head(1, Tap::kZ, 1, 1)), 0);
}

TEST(Forks, EditsOutsideTheModelAreRefused) {
  const auto model = open_case("llama");
  const int64_t layers = model->spec().layers;
  const std::vector<std::pair<Edit, std::string>> wrong = {
      {ColumnEdit{layers, 0, 0}, "block"},           {ColumnEdit{0, 99, 0}, "head 99"},
      {ColumnEdit{0, 0, 6}, "position 6"},           {ValueEdit{0, 0, 0, at::zeros({3})}, "vector"},
      {ChannelEdit{0, 0, {100000}, {0}}, "channel"}, {WindowEdit{0, 0}, "window"}};
  for (const auto& [edit, word] : wrong) {
    try {
      run(*model, {{some_ids(6)}}, {{0, {edit}}});
      FAIL() << word;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::kUsage) << word;
      EXPECT_NE(error.seen.find(word), std::string::npos) << error.seen;
    }
  }
}

}  // namespace
}  // namespace sinkscope::forward
