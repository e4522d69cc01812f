// Global broadcast (method.md section 16.2; arXiv 2606.08105, Eq. 3): every token must receive a
// rotated copy of the one that lies furthest along a direction.

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>

#include "sinkscope/base/mix.h"
#include "sinkscope/train/tasks/tasks.h"

namespace sinkscope::train {
namespace {

class GlobalBroadcast : public Task {
 public:
  explicit GlobalBroadcast(const io::Config& settings)
      : width_(read_setting(settings, "width", int64_t{64}, 8, 1024)),
        tokens_(read_setting(settings, "tokens", int64_t{32}, 4, 1024)),
        seed_(static_cast<uint64_t>(read_setting(settings, "seed", int64_t{0}, 0, INT64_MAX))) {
    const auto key = [&](uint64_t what) {
      return mix(seed_, {static_cast<uint64_t>(Purpose::kTask), what});
    };
    const at::Tensor u = normal(key(1), {width_});
    direction_ = u / u.norm();
    const at::Tensor gaussian = normal(key(2), {width_, width_}).to(at::kDouble);
    rotation_ = std::get<0>(at::linalg_qr(gaussian)).to(at::kFloat);
  }

  std::string_view name() const override { return "global-broadcast"; }

  nlohmann::ordered_json settings() const override {
    return {{"width", width_}, {"tokens", tokens_}, {"seed", seed_}};
  }

  model::ModelSpec spec() const override {
    model::ModelSpec spec = lab_spec(2, 1, width_, tokens_);
    spec.vectors = true;
    spec.causal = false;
    spec.positions = model::Positions::kFirstNorm;
    spec.mlp = spec.mlp_bias = true;
    spec.mlp_width = 4 * width_;
    return spec;
  }

  std::vector<QueryKind> kinds() const override {
    return {{"all", "every token must receive x_j* R"}};
  }

  Batch batch(Purpose purpose, int64_t number, int64_t sequences) const override {
    Batch batch;
    batch.vectors =
        normal(mix(seed_, {static_cast<uint64_t>(purpose), static_cast<uint64_t>(number)}),
               {sequences, tokens_, width_});
    const at::Tensor& x = batch.vectors;
    batch.keys = at::matmul(x, direction_).argmax(1);
    const at::Tensor chosen =
        x.gather(1, batch.keys.view({-1, 1, 1}).expand({sequences, 1, width_}));
    batch.target = x + at::matmul(chosen, rotation_);
    batch.kinds = at::zeros({sequences, tokens_}, at::kByte);
    return batch;
  }

 private:
  int64_t width_, tokens_;
  uint64_t seed_;
  at::Tensor direction_;  // u [D]
  at::Tensor rotation_;   // R [D, D]
};

}  // namespace

std::unique_ptr<Task> make_global_broadcast(const io::Config& settings) {
  return std::make_unique<GlobalBroadcast>(settings);
}

TrainerOptions global_broadcast_recipe(bool paper) {
  TrainerOptions options;
  options.steps = paper ? 30000 : 6000;
  options.batch = paper ? 1024 : 256;
  options.optimiser.rate = paper ? 5e-4 : 1e-3;
  return options;
}

}  // namespace sinkscope::train
