// Conditional damping (method.md section 16.1; arXiv 2606.08105, section 3.1): tokens with
// m_i = 1[<x_i, g> > theta] need another output than the rest, and one head has to do it.

#include <ATen/ATen.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/base/mix.h"
#include "sinkscope/train/tasks/tasks.h"

namespace sinkscope::train {
namespace {

/// x with P(standard normal <= x) = p, by bisection of erfc: full double precision.
double normal_quantile(double p) {
  double low = -40, high = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

class ConditionalDamping : public Task {
 public:
  explicit ConditionalDamping(const io::Config& settings)
      : form_(read_setting(settings, "nop_target", {"output", "branch", "dynamics"})),
        gamma_(read_setting(settings, "gamma", 0.0, -1.0, 1.0)),
        frequency_(read_setting(settings, "frequency", 0.5, 0.001, 0.999)),
        dedicated_(settings.flag({"dedicated"}, true)),
        seed_(static_cast<uint64_t>(read_setting(settings, "seed", int64_t{0}, 0, INT64_MAX))) {
    if (form_ == "output" && gamma_ != 0) {
      throw Error(ErrorKind::kUsage, "read task settings", "gamma in the form \"output\"",
                  "it has none: --nop-target branch or dynamics");
    }
    at::Tensor w = normal(mix(seed_, {static_cast<uint64_t>(Purpose::kTask)}), {kWidth});
    w = w - w.mean();
    direction_ = w / w.norm() * std::sqrt(1 - kMeanPart * kMeanPart) +
                 kMeanPart / std::sqrt(static_cast<double>(kWidth));
    // m = 1 with this probability.
    theta_ = normal_quantile(1 - frequency_);
  }

  std::string_view name() const override { return "conditional-damping"; }

  nlohmann::ordered_json settings() const override {
    return {{"nop_target", form_},
            {"gamma", gamma_},
            {"frequency", frequency_},
            {"dedicated", dedicated_},
            {"seed", seed_}};
  }

  model::ModelSpec spec() const override {
    model::ModelSpec spec = lab_spec(1, 1, kWidth, kTokens);
    spec.vectors = spec.first_token = true;
    spec.causal = false;
    if (form_ == "dynamics") {  // O = LN(x + pos) + W_O (A V)
      spec.embed_norm = true;
      spec.branch_input_norms = false;
    } else {
      spec.positions = model::Positions::kFirstNorm;
    }
    return spec;
  }

  std::vector<QueryKind> kinds() const override {
    const bool damped = form_ == "branch";
    return {{"nop", damped ? "m = 1: the update must vanish (gamma = 0)"
                           : "m = 0: the token must stay as it is"},
            {"active", damped ? "m = 0: the update must be x" : "m = 1: the token must change"}};
  }

  Batch batch(Purpose purpose, int64_t number, int64_t sequences) const override {
    const uint64_t key =
        mix(seed_, {static_cast<uint64_t>(purpose), static_cast<uint64_t>(number)});
    Batch batch;
    batch.vectors = normal(key, {sequences, kTokens, kWidth});
    if (dedicated_) batch.vectors.select(1, 0).zero_();
    const at::Tensor& x = batch.vectors;
    const at::Tensor aligned = at::matmul(x, direction_).gt(theta_);  // m [B, T]
    const at::Tensor m = aligned.unsqueeze(-1).to(at::kFloat);
    const at::Tensor kept = x * (1 - m);
    if (form_ == "output") {
      batch.target = kept;
    } else if (form_ == "branch") {  // of dO = O - x
      batch.target = x + kept + gamma_ * (x * m);
    } else {
      batch.target = kept + gamma_ * (x * m);
    }
    const at::Tensor active = form_ == "branch" ? aligned.logical_not() : aligned;
    batch.kinds = active.to(at::kByte);
    if (dedicated_) batch.kinds.select(1, 0).fill_(kNotCounted);
    batch.keys = at::zeros({sequences}, at::kLong);
    return batch;
  }

 private:
  static constexpr int64_t kWidth = 64, kTokens = 32;
  /// Part of g along (1, .., 1) / 8. The norm hides the mean of a token from the head, so no model
  /// knows m better than up to a normal error of this deviation, which costs phi(0) kMeanPart /
  /// sqrt(pi) = 0.0070 of squared error; that the norm hides mean and length of the x to be taken
  /// away costs (1/64 + 1/126) / 2 = 0.0117 more: together the published 0.0187. In a free draw of
  /// g the part, and with it the least loss, would differ from seed to seed.
  static constexpr double kMeanPart = 1.0 / 32;
  std::string form_;
  double gamma_, frequency_;
  bool dedicated_;
  uint64_t seed_;
  double theta_ = 0;
  at::Tensor direction_;  // g [D]
};

}  // namespace

std::unique_ptr<Task> make_conditional_damping(const io::Config& settings) {
  return std::make_unique<ConditionalDamping>(settings);
}

TrainerOptions conditional_damping_recipe(bool paper) {
  TrainerOptions options;
  options.steps = paper ? 30000 : 2000;
  options.batch = paper ? 1024 : 256;
  options.optimiser.rate = 3e-3;
  return options;
}

}  // namespace sinkscope::train
