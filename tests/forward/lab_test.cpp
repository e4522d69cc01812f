// Models of the training lab: the fast pass against the reference, and what their parts do.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "sinkscope/base/error.h"
#include "sinkscope/forward/recorder.h"
#include "sinkscope/forward/runner.h"
#include "sinkscope/model/layers/pathway.h"
#include "tests/forward/lab_model.h"

namespace sinkscope::forward {
namespace {

using model::Gate;
using model::ModelSpec;
using model::ScoreKind;
using test::lab_spec;
using test::LabCase;
using test::make_lab;
using test::row_stream;

// Of a tap's largest value; measured over all cases: 1e-6.
constexpr double kTolerance = 4e-6;

double largest(const at::Tensor& t) { return t.abs().max().item<double>(); }

/// Also keeps what no token got.
class LabRecorder : public Recorder {
 public:
  void on_layer(const LayerState& state) override {
    Recorder::on_layer(state);
    for (const auto& heads : state.sums) {
      for (const AttentionSums& head : heads) missing.push_back(head.row_missing);
    }
  }
  std::vector<std::vector<float>> missing;  ///< by layer, stream and head
};

LabRecorder pass(const model::Model& model, std::vector<Stream> streams,
                 std::vector<Fork> forks = {}) {
  LabRecorder recorder;
  Observer* observers[] = {&recorder};
  RunOptions options;
  options.chunk_rows = 5;  // chunks cut through streams
  Runner(model, options).run(streams, forks, observers);
  return recorder;
}

const at::Tensor& tap(const Recorder& recorder, Tap tap, int layer = 0, size_t stream = 0) {
  return recorder.stream(stream).at(tap_name(tap, layer));
}

class LabPass : public testing::TestWithParam<LabCase> {};
INSTANTIATE_TEST_SUITE_P(All, LabPass, testing::ValuesIn(test::lab_cases()),
                         [](const auto& info) { return info.param.name; });

TEST_P(LabPass, EqualsTheReference) {
  const ModelSpec& spec = GetParam().spec;
  const auto model = make_lab(spec, GetParam().name);
  std::vector<Stream> streams = {row_stream(spec, 7), row_stream(spec, 16, 9),
                                 row_stream(spec, 13, 10)};
  streams[2].documents = {0, 5, 6};
  const LabRecorder fast = pass(*model, streams);
  double worst = 0;
  for (size_t s = 0; s < streams.size(); ++s) {
    const Taps reference = run_reference(*model, streams[s], at::kDouble);
    EXPECT_EQ(reference.size(), fast.stream(s).size());
    for (const auto& [name, expected] : reference) {
      ASSERT_TRUE(fast.stream(s).contains(name)) << name;
      const double difference = largest(fast.stream(s).at(name) - expected) / largest(expected);
      EXPECT_LE(difference, kTolerance) << name << " of stream " << s;
      worst = std::max(worst, difference);
    }
    const Documents documents(streams[s]);
    for (int l = 0; l < static_cast<int>(spec.layers); ++l) {
      const at::Tensor alpha = alpha_of_pattern(reference.at(tap_name(Tap::kPattern, l)),
                                                visibility_of(spec, l, documents));
      EXPECT_LE(largest(fast.alpha(s, l) - alpha), kTolerance) << "layer " << l;
    }
  }
  testing::Test::RecordProperty("worst", std::to_string(worst * 1e9));
}

TEST_P(LabPass, OffersWhatTheModelHas) {
  const ModelSpec& spec = GetParam().spec;
  const auto model = make_lab(spec, GetParam().name);
  const LabRecorder fast = pass(*model, {row_stream(spec, 7)});
  const auto offered = [&](Tap t) { return fast.stream(0).contains(tap_name(t, 0)); };
  EXPECT_EQ(offered(Tap::kMlpOut), spec.mlp);
  EXPECT_EQ(offered(Tap::kResidMid), spec.mlp);
  EXPECT_EQ(offered(Tap::kGate), spec.output_gate != Gate::kNone);
  EXPECT_EQ(offered(Tap::kLogits), !spec.vectors);
  EXPECT_TRUE(offered(Tap::kFinalNorm));
  const bool missing = spec.sink_logits || spec.extra_key;
  for (const auto& rows : fast.missing) EXPECT_EQ(rows.size(), missing ? 7u : 0u);
  const at::Tensor rows = tap(fast, Tap::kPattern)[1].sum(-1);
  for (int64_t i = 0; missing && spec.scores.kind == ScoreKind::kSoftmax && i < 7; ++i) {
    EXPECT_NEAR(fast.missing[1][static_cast<size_t>(i)], 1 - rows[i].item<double>(), 1e-6) << i;
  }
}

TEST_P(LabPass, EditsOfAHeadObeyTheirIdentities) {
  const ModelSpec& spec = GetParam().spec;
  const auto model = make_lab(spec, GetParam().name);
  const at::Tensor donor = at::linspace(-1, 1, spec.head_width);
  const int layer = static_cast<int>(spec.layers) - 1;
  const LabRecorder r = pass(*model, {row_stream(spec, 12)},
                             {{0, {ColumnEdit{layer, kAllHeads, 0, 0.0f}}},
                              {0, {ValueEdit{layer, 1, 2, donor}}},
                              {0, {ColumnEdit{layer, 1, 0}}}});
  const auto z = [&](size_t stream) {
    return tap(r, Tap::kZ, layer, stream).select(1, 1).to(at::kDouble);
  };
  EXPECT_LE(largest(tap(r, Tap::kResidPost, layer, 1) - tap(r, Tap::kResidPost, layer)), 1e-5);
  const at::Tensor a = tap(r, Tap::kPattern, layer)[1].to(at::kDouble),
                   v = tap(r, Tap::kV, layer).select(1, spec.kv_heads - 1).to(at::kDouble);
  const at::Tensor value_edit = a.select(1, 2).unsqueeze(1) * (donor - v[2]);
  EXPECT_LE(largest(z(2) - z(0) - value_edit), 4e-6);
  const at::Tensor without = z(0) - a.slice(1, 0, 1) * v[0];
  if (spec.scores.kind == ScoreKind::kSigmoid || spec.scores.kind == ScoreKind::kRelu) {
    EXPECT_LE(largest(z(3) - without), 4e-6);  // the other weights stay as they are
  } else if (spec.scores.kind == ScoreKind::kSoftmax) {
    // With a part on no token even the row that sees nothing else loses its key.
    const bool alone = spec.causal && !spec.sink_logits && !spec.extra_key;
    const at::Tensor renormalised = without / (1 - a.slice(1, 0, 1));
    const int64_t first = alone ? 1 : 0;
    EXPECT_LE(largest(z(3).slice(0, first) - renormalised.slice(0, first)), 1e-5);
  }
}

TEST(Lab, AnOpenGateIsNone) {
  ModelSpec spec = lab_spec(20);
  const auto plain = make_lab(spec, "ungated");
  spec.output_gate = spec.key_gate = spec.value_gate = Gate::kHeadwise;
  const auto gated = make_lab(spec, "gated", [&](const std::string& name, auto& values) {
    if (name.ends_with("gate.bias")) {
      std::fill(values.begin(), values.end(), 1e4f);
    } else if (!name.ends_with("gate.weight")) {
      const io::TensorInfo& from = *plain->source().find(name);
      io::read_floats(plain->source(), from, 0, values);
    }
  });
  const Stream stream = row_stream(spec, 9);
  const LabRecorder a = pass(*plain, {stream}), b = pass(*gated, {stream});
  for (const auto& [name, expected] : a.stream(0)) {
    EXPECT_TRUE(at::equal(b.stream(0).at(name), expected)) << name;
  }
}

TEST(Lab, AnExtraKeyOfZerosIsSoftmaxOffByOne) {
  ModelSpec sinks = lab_spec(20), extra = lab_spec(20);
  sinks.sink_logits = extra.extra_key = extra.extra_value = true;
  const auto base = make_lab(lab_spec(20), "off-by-none");
  const auto same = [&](const std::string& name, auto& values) {
    const io::TensorInfo* from = base->source().find(name);
    from ? io::read_floats(base->source(), *from, 0, values)
         : std::fill(values.begin(), values.end(), 0.0f);
  };
  const Stream stream = row_stream(sinks, 11);
  const LabRecorder a = pass(*make_lab(sinks, "sinks", same), {stream}),
                    b = pass(*make_lab(extra, "extra", same), {stream});
  EXPECT_LE(largest(tap(a, Tap::kLogits) - tap(b, Tap::kLogits)), 1e-6);
  EXPECT_LE(largest(tap(a, Tap::kPattern) - tap(b, Tap::kPattern)), 1e-7);
  ASSERT_EQ(a.missing.size(), b.missing.size());
  for (size_t i = 0; i < 11; ++i) EXPECT_NEAR(a.missing[0][i], b.missing[0][i], 1e-7);
  EXPECT_GT(a.missing[0][0], 0.2f);
}

TEST(Lab, ForceSinkMakesTheFirstTokenOrthogonal) {
  ModelSpec spec = lab_spec(0, 2);
  spec.branch_input_norms = false;  // what the branches read is then the masked stream itself
  spec.split_channels = 5;
  const LabRecorder r = pass(*make_lab(spec, "split"), {row_stream(spec, 8)});
  for (int layer = 0; layer < 2; ++layer) {
    const at::Tensor x = tap(r, Tap::kNorm1, layer), whole = tap(r, Tap::kResidPre, layer);
    EXPECT_EQ(largest(at::matmul(x.slice(0, 1), x[0])), 0);
    EXPECT_TRUE(at::equal(x[0].slice(0, 0, 5), whole[0].slice(0, 0, 5)));
    EXPECT_TRUE(at::equal(x.slice(0, 1).slice(1, 5), whole.slice(0, 1).slice(1, 5)));
  }
}

TEST(Lab, ForceSinkOfAModelIsTheEditOfAStream) {
  ModelSpec plain = lab_spec(20, 2, 16), split = plain;
  split.split_channels = 4;  // changes no weight, so both draw the same
  const Stream stream = row_stream(plain, 9);
  const LabRecorder a = pass(*make_lab(plain, "unsplit"), {stream},
                             {{0, {SplitEdit{0, 4}, SplitEdit{1, 4}}}}),
                    b = pass(*make_lab(split, "split-twice"), {stream},
                             {{0, {SplitEdit{0, 4}, SplitEdit{1, 4}}}});
  for (const size_t s : {0u, 1u}) {  // and splitting what is split changes nothing
    EXPECT_LE(largest(tap(a, Tap::kLogits, 0, 1) - tap(b, Tap::kLogits, 0, s)), 2e-6);
  }
  EXPECT_GT(largest(tap(a, Tap::kLogits) - tap(b, Tap::kLogits)), 0.1);
}

TEST(Lab, AnEditOfAHeadLeavesThePathwayAlone) {
  ModelSpec spec = lab_spec();
  spec.pathway = 3;
  const auto model = make_lab(spec, "pathway");
  std::vector<Edit> heads;
  for (int64_t h = 0; h < spec.heads; ++h) heads.push_back(HeadEdit{0, h, {}});
  const Stream stream = row_stream(spec, 8), other = row_stream(spec, 8, 9);
  const LabRecorder r = pass(*model, {stream, other}, {{0, heads}, {1, heads}});
  for (const size_t fork : {2u, 3u}) {
    const at::Tensor z = tap(r, Tap::kNorm1, 0, fork), added = tap(r, Tap::kAttnOut, 0, fork);
    model::BlockWeights block;
    model->weights().load_block(0, at::kFloat, block);
    const at::Tensor expected = model::pathway_update(z, block.path_select, block.path_value,
                                                      block.path_gate, block.path_out);
    EXPECT_LE(largest(added - expected), 1e-6);
    EXPECT_GT(largest(added), 0.05);
  }
}

TEST(Lab, PositionsOfTheFirstNormStayOutOfTheStream) {
  ModelSpec spec = lab_spec();
  spec.positions = model::Positions::kFirstNorm;
  const Stream stream = row_stream(spec, 6);
  const LabRecorder r = pass(*make_lab(spec, "first-norm"), {stream});
  EXPECT_TRUE(at::equal(tap(r, Tap::kResidPre), stream.vectors));
  // Two equal tokens differ in what the norm gives of them, not in the stream.
  Stream twice = stream;
  twice.vectors = stream.vectors.clone();
  twice.vectors[3].copy_(twice.vectors[1]);
  const LabRecorder same = pass(*make_lab(spec, "first-norm"), {twice});
  EXPECT_GT(largest(tap(same, Tap::kNorm1)[3] - tap(same, Tap::kNorm1)[1]), 0.01);
}

TEST(Lab, StreamsOfAnotherKindAreRefusedByName) {
  const auto vectors = make_lab(lab_spec(), "of-vectors"), ids = make_lab(lab_spec(20), "of-ids");
  const auto refused = [](const model::Model& model, Stream stream) {
    const std::vector<Stream> streams = {row_stream(model.spec(), 3), std::move(stream)};
    try {
      Runner(model, {}).run(streams, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::kUsage);
      EXPECT_NE(error.seen.find("sequence 1"), std::string::npos) << error.seen;
      return error.seen;
    }
    return std::string("accepted");
  };
  const auto of = [](at::Tensor rows) {
    Stream stream;
    stream.vectors = std::move(rows);
    return stream;
  };
  const auto holds = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(holds(refused(*vectors, {{1, 2}}), "is text"));
  EXPECT_TRUE(holds(refused(*vectors, {}), "is text"));
  EXPECT_TRUE(holds(refused(*ids, of(at::zeros({3, 12}))), "rows of numbers"));
  EXPECT_TRUE(holds(refused(*vectors, of(at::zeros({3, 11}))), "rows of 11"));
  EXPECT_TRUE(holds(refused(*vectors, of(at::zeros({3, 12}, at::kDouble))), "Double"));
  EXPECT_TRUE(holds(refused(*vectors, of(at::zeros({12}))), "1 dimensions"));
  EXPECT_TRUE(holds(refused(*vectors, of(at::zeros({0, 12}))), "empty"));
  EXPECT_TRUE(holds(refused(*vectors, of(at::zeros({17, 12}))), "17 tokens"));
  EXPECT_TRUE(holds(refused(*vectors, of(at::full({2, 12}, NAN))), "not finite"));
  Stream both = row_stream(vectors->spec(), 2);
  both.ids = {1, 2};
  EXPECT_TRUE(holds(refused(*vectors, both), "is text"));
}

TEST(Lab, AnEditOfAnMlpThatIsNotThereIsRefused) {
  const ModelSpec spec = lab_spec();
  const auto model = make_lab(spec, "no-mlp");
  try {
    pass(*model, {row_stream(spec, 4)}, {{0, {BranchEdit{0, 0, Branch::kMlp, 0}}}});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kUsage);
  }
}

TEST(Lab, ThePlanCoversWhatTheLabAdds) {
  ModelSpec spec = lab_spec();
  const int64_t lengths[] = {12, 12};
  const int64_t plain = Runner(*make_lab(spec, "plan"), {}).planned_bytes(lengths);
  EXPECT_GT(plain, 24 * 12 * 4);
  spec.pathway = 3, spec.output_gate = Gate::kElementwise;
  const int64_t more = Runner(*make_lab(spec, "plan"), {}).planned_bytes(lengths);
  EXPECT_GE(more - plain, 24 * (2 * 12 + 3 + 12) * 4);
}

}  // namespace
}  // namespace sinkscope::forward
