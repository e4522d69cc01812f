// `ablate` on lab models whose weights are made by hand: what each edit does is known beforehand.

#include <fmt/format.h>

#include "sinkscope/app/ablate/ablate.h"
#include "sinkscope/base/error.h"
#include "sinkscope/store/effects.h"
#include "sinkscope/train/task.h"
#include "tests/app/real_model.h"
#include "tests/forward/lab_model.h"

namespace sinkscope::app {
namespace {

using nlohmann::json;
using store::Effect;

/// A model of a task: every matrix 0 and every gain 1 but for what `change` sets.
class Planted {
 public:
  Planted(const std::string& name, const std::string& task, const json& settings,
          const std::function<void(model::ModelSpec&)>& variant = {}) {
    task_ = train::make_task(task, io::Config::parse(settings.dump(), "test"));
    spec_ = task_->spec();
    if (variant) variant(spec_);
    folder_ = sinkscope::test::scratch_directory("planted-" + name);
    forward::test::RandomWeights weights(model::kLab, spec_);
    for (size_t i = 0; i < weights.expected().size(); ++i) {
      const model::ExpectedTensor& tensor = weights.expected()[i];
      std::vector<float>& values = weights.values(i);
      const bool gain =
          tensor.name.ends_with("norm1.weight") || tensor.name.ends_with("norm2.weight");
      std::fill(values.begin(), values.end(), gain ? 1.0f : 0.0f);
      tensors_[tensor.name] = at::from_blob(values.data(), tensor.shape, at::kFloat).clone();
    }
  }

  at::Tensor& operator[](const std::string& name) { return tensors_.at(name); }
  const model::ModelSpec& spec() const { return spec_; }
  /// The inputs that the model is measured on.
  train::Batch batch(int64_t sequences) const {
    return task_->batch(train::Purpose::kEvaluation, 0, sequences);
  }

  std::unique_ptr<store::EffectStore> ablate(AblateOptions options) {
    json config = model::lab_config(spec_);
    config["task"] = task_->settings();
    config["task"]["name"] = task_->name();
    std::ofstream(folder_ / "config.json") << config;
    std::vector<io::TensorToWrite> tensors;
    for (const auto& [name, tensor] : tensors_) {
      tensors.push_back({name, io::DType::kF32, tensor.sizes().vec(),
                         std::as_bytes(std::span(tensor.data_ptr<float>(),
                                                 static_cast<size_t>(tensor.numel())))});
    }
    io::write_safetensors(folder_ / "model.safetensors", tensors);
    options.model = folder_.string();
    options.output = (folder_ / "run.db").string();
    options.overwrite = true;
    std::ostringstream out, err;
    Console console{out, err};
    console.verbosity = -1;
    EXPECT_EQ(app::ablate(options, console), 0) << err.str();
    shown_ = out.str();
    return store::EffectStore::open(options.output);
  }
  const std::string& shown() const { return shown_; }

 private:
  std::unique_ptr<train::Task> task_;
  model::ModelSpec spec_;
  std::filesystem::path folder_;
  std::map<std::string, at::Tensor> tensors_;
  std::string shown_;
};

std::vector<Effect> of(const store::EffectStore& store, std::string_view intervention,
                       int64_t layer = 0) {
  std::vector<Effect> found;
  for (const Effect& effect : store.effects()) {
    if (effect.intervention == intervention && effect.layer == layer) found.push_back(effect);
  }
  EXPECT_FALSE(found.empty()) << intervention;
  return found;
}

constexpr int64_t kSink = 0, kOne = 1, kGate = 2, kOut = 5;  // channels

/// Token 0 stands out in channel kSink of what the norm gives, and channel kOne is 1 everywhere.
/// Every query gives all its attention to token 0 or, `conditional`, seven in ten of them do
/// (channel kGate above -1/2); what they get there is v_0, 8 in channel kOut of the output for
/// v_0[0] = 1.
Planted damping(const std::string& name, bool conditional) {
  Planted model(name, "conditional-damping", json::object());
  const int64_t width = model.spec().width;
  model["first_token"][kSink] = 100;
  model["blocks.0.norm1.weight"][kOne] = 0;
  model["blocks.0.norm1.bias"][kOne] = 1;
  at::Tensor& qkv = model["blocks.0.attn.qkv.weight"];
  qkv[0][kOne] = conditional ? 500 : 1000;
  if (conditional) qkv[0][kGate] = 1000;
  qkv[width][kSink] = 1;
  qkv[2 * width][conditional ? kSink : kOne] = 1;
  model["blocks.0.attn.o.weight"][kOut][0] = 8;
  return model;
}

/// Mean squared error per channel of the counted tokens of a sequence.
double squared_error(const train::Batch& batch, int64_t sequence, const at::Tensor& outputs) {
  double sum = 0;
  int64_t counted = 0;
  for (int64_t t = 0; t < outputs.size(0); ++t) {
    if (batch.kinds[sequence][t].item<int>() == train::kNotCounted) continue;
    sum += (outputs[t] - batch.target[sequence][t]).square().mean().item<double>();
    ++counted;
  }
  return sum / static_cast<double>(counted);
}

// Float32 outputs of about 10, squared and averaged.
constexpr double kTolerance = 1e-5;

TEST(LabAblate, LossAndChangeOfAKnownPayload) {
  Planted model = damping("payload", false);
  AblateOptions options;
  options.inputs.max_seqs = 3;
  options.interventions = {"zero-sink-value", "remove-column", "donor-nonsink-value",
                           "zero-nonsink-value"};
  const auto store = model.ablate(options);
  const train::Batch batch = model.batch(3);
  for (int64_t s = 0; s < 3; ++s) {
    const auto i = static_cast<size_t>(s);
    at::Tensor with = batch.vectors[s].clone(), without = with.clone();
    with.select(1, kOut) += 8;  // the payload, on every token
    const Effect zero = of(*store, "zero-sink-value")[i];
    EXPECT_EQ(zero.key, 0);
    EXPECT_NEAR(zero.loss_base, squared_error(batch, s, with), kTolerance);
    EXPECT_NEAR(zero.loss, squared_error(batch, s, without), kTolerance);
    EXPECT_NEAR(zero.change_using, 1, kTolerance);  // 8 in one of 64 channels
    EXPECT_TRUE(std::isnan(zero.change_other));     // no query does without the sink
    EXPECT_NEAR(zero.shared_energy, 1, kTolerance);
    EXPECT_TRUE(std::isnan(zero.kl));
    // Every token has the same value: it does not matter which of them is attended to.
    for (const char* same : {"remove-column", "donor-nonsink-value", "zero-nonsink-value"}) {
      const Effect effect = of(*store, same)[i];
      EXPECT_NEAR(effect.loss, effect.loss_base, kTolerance) << same;
      EXPECT_NEAR(effect.change_using, 0, kTolerance) << same;
      EXPECT_TRUE(std::isnan(effect.shared_energy)) << same;
    }
  }
  EXPECT_NE(model.shown().find("identical by construction"), std::string::npos);
}

TEST(LabAblate, HeadsWithAConditionalSinkAreChosenAndSplitTheQueries) {
  Planted model = damping("conditional", true);
  AblateOptions options;
  options.inputs.max_seqs = 4;
  options.interventions = {"zero-sink-value", "mean-sink-value", "donor-sink-value"};
  const auto store = model.ablate(options);
  // LayerNorm of a lone channel: sqrt(63) there.
  const double payload = 8 * std::sqrt(63.0) / 8;
  for (const Effect& effect : of(*store, "zero-sink-value")) {
    EXPECT_EQ(effect.key, 0);
    EXPECT_NEAR(effect.change_using, payload, 0.1 * payload);
    EXPECT_LT(effect.change_other, 0.2 * payload);
  }
  for (const char* same : {"mean-sink-value", "donor-sink-value"}) {
    for (const Effect& effect : of(*store, same)) EXPECT_NEAR(effect.rms, 0, 1e-6) << same;
  }
}

TEST(LabAblate, AHeadWithoutASinkIsNotChosen) {
  Planted model("diffuse", "conditional-damping", json::object());
  AblateOptions options;
  options.inputs.max_seqs = 1;
  try {
    model.ablate(options);
    FAIL() << "uniform attention has no sink";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kNoEffect);
    EXPECT_NE(std::string(error.what()).find("conditional sink"), std::string::npos);
  }
}

TEST(LabAblate, AllLeavesOutWhatCannotApplyByName) {
  Planted model = damping("all", true);
  AblateOptions options;
  options.inputs.max_seqs = 2;
  options.interventions = {"all"};
  const auto store = model.ablate(options);
  std::set<std::string> done;
  for (const Effect& effect : store->effects()) done.insert(effect.intervention);
  for (const char* name : {"zero-head", "remove-column", "zero-attention", "mask-p0"}) {
    EXPECT_TRUE(done.contains(name)) << name;
  }
  const std::string& shown = model.shown();
  for (const char* name : {"bos-swap", "window", "zero-mlp-p0", "zero-pathway"}) {
    EXPECT_FALSE(done.contains(name)) << name;
    EXPECT_NE(shown.find(name), std::string::npos) << shown;
    options.interventions = {name};
    try {
      model.ablate(options);
      ADD_FAILURE() << name << " was asked for and cannot be done";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::kNoEffect) << name;
    }
  }
}

/// Solves global broadcast: layer 0 attends to the token that lies furthest along u and adds its
/// copy R x. Positions far along a direction of no task let every query ask the same.
Planted broadcast(int64_t width, int64_t tokens) {
  Planted model("broadcast", "global-broadcast", {{"width", width}, {"tokens", tokens}},
                [](model::ModelSpec& spec) { spec.branch_input_norms = false; });
  const train::Batch batch = model.batch(4096);
  const at::Tensor chosen =
      batch.vectors.gather(1, batch.keys.view({-1, 1, 1}).expand({-1, 1, width}));
  at::Tensor u = chosen.mean(0).squeeze(0);  // of the furthest tokens: along u
  u = u / u.norm();
  const at::Tensor rotation =
      std::get<0>(at::linalg_lstsq(chosen.squeeze(1).to(at::kDouble),
                                   (batch.target - batch.vectors).select(1, 0).to(at::kDouble)))
          .to(at::kFloat);
  at::Tensor far = at::zeros({width});
  far[0] = 1;
  far = far - u * u[0];
  constexpr double kFar = 100;
  model["positions.weight"].copy_((far / far.norm() * kFar).expand({tokens, width}));
  at::Tensor& qkv = model["blocks.0.attn.qkv.weight"];
  qkv[0].copy_(far / far.norm() * kFar);
  qkv[width].copy_(u);
  qkv.narrow(0, 2 * width, width).copy_(at::eye(width));
  model["blocks.0.attn.o.weight"].copy_(rotation.t());
  model["blocks.0.mlp.down.bias"].copy_(
      at::matmul(far / far.norm() * -kFar, rotation));  // what the position adds to each value
  return model;
}

TEST(LabAblate, TheDonorsMessageTakesThePlaceOfTheOwn) {
  Planted model = broadcast(16, 24);
  AblateOptions options;
  options.inputs.max_seqs = 12;
  options.key = "sink";
  options.heads = "L0H0";
  options.interventions = {"donor-sink-value", "donor-nonsink-value", "zero-attention"};
  const auto store = model.ablate(options);
  const train::Batch batch = model.batch(12);
  for (const Effect& effect : of(*store, "donor-sink-value")) {
    const int64_t s = effect.sequence, donor = (s + 1) % 12;
    EXPECT_EQ(effect.key, batch.keys[s].item<int64_t>());
    EXPECT_LT(effect.loss_base, 0.01);
    EXPECT_LT(effect.donor_loss, 0.02);
    EXPECT_GT(effect.donor_cosine, 0.99);
    EXPECT_GT(effect.shared_energy, 0.99);
    const auto message = [&](int64_t of) { return (batch.target[of] - batch.vectors[of])[0]; };
    EXPECT_NEAR(effect.loss, (message(donor) - message(s)).square().mean().item<double>(),
                0.05 * effect.loss);
  }
  double cosines = 0;
  for (const Effect& effect : of(*store, "donor-nonsink-value")) {
    EXPECT_GT(effect.donor_loss, 0.3);  // a message, but not the one that was asked for
    cosines += effect.donor_cosine / 12;
  }
  EXPECT_LT(cosines, 0.9);
  // Layer 1 does nothing, layer 0 everything: without it x and the bias of its MLP are left.
  for (const Effect& effect : of(*store, "zero-attention", 1)) {
    EXPECT_NEAR(effect.loss, effect.loss_base, 1e-9);
  }
  for (const Effect& effect : of(*store, "zero-attention", 0)) EXPECT_GT(effect.loss, 100);
}

TEST(LabAblate, ThePathwayCanBeTakenAwayOrCarryTheDonorsMessage) {
  Planted model("pathway", "global-broadcast", {{"width", 8}, {"tokens", 6}},
                [](model::ModelSpec& spec) { spec.pathway = 3; });
  at::manual_seed(3);
  for (const char* part : {"value", "out"}) {
    at::Tensor& weight = model[fmt::format("blocks.1.pathway.{}.weight", part)];
    weight.copy_(at::randn(weight.sizes()));
  }
  AblateOptions options;
  options.inputs.max_seqs = 2;
  options.blocks = {1};
  options.interventions = {"zero-pathway", "donor-pathway"};
  const auto store = model.ablate(options);
  const train::Batch batch = model.batch(2);
  const auto zero = of(*store, "zero-pathway", 1), donor = of(*store, "donor-pathway", 1);
  for (size_t s = 0; s < 2; ++s) {
    // Nothing else adds to x.
    const auto sequence = static_cast<int64_t>(s);
    EXPECT_NEAR(zero[s].loss, squared_error(batch, sequence, batch.vectors[sequence]), kTolerance);
    EXPECT_GT(std::abs(zero[s].loss - zero[s].loss_base), 0.01);
    EXPECT_NEAR(donor[s].shared_energy, 1, kTolerance);  // the gates are equal
  }
  // Each is the other's donor: the same step there and back.
  EXPECT_NEAR(donor[0].change_other, donor[1].change_other, kTolerance);
  EXPECT_GT(donor[0].change_other, 0.01);
}

}  // namespace
}  // namespace sinkscope::app
