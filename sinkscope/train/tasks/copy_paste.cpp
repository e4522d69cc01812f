// Copy-paste (method.md section 16.3, a reconstruction): at fixed positions the output is an
// earlier token, elsewhere nothing is to be added (hard) or the token's own value (soft).

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>

#include "sinkscope/base/mix.h"
#include "sinkscope/train/tasks/tasks.h"

namespace sinkscope::train {
namespace {

class CopyPaste : public Task {
 public:
  explicit CopyPaste(const io::Config& settings)
      : rest_(read_setting(settings, "rest", {"hard", "soft"})),
        tokens_(read_setting(settings, "tokens", int64_t{32}, 4, 1024)),
        width_(read_setting(settings, "width", int64_t{64}, 8, 1024)),
        share_(read_setting(settings, "share", 0.5, 0.0, 1.0)),
        dedicated_(settings.flag({"dedicated"}, true)),
        seed_(static_cast<uint64_t>(read_setting(settings, "seed", int64_t{0}, 0, INT64_MAX))) {
    source_ = at::arange(tokens_, at::kLong);
    active_ = at::zeros({tokens_}, at::kByte);
    // Position 0 is no token of the map, so 2 is the first that has one before it.
    for (int64_t i = 2; i < tokens_; ++i) {
      const auto number = [&](uint64_t what) {
        return mix(seed_, {static_cast<uint64_t>(Purpose::kTask), what, static_cast<uint64_t>(i)});
      };
      if (static_cast<double>(number(1) >> 11) * 0x1p-53 >= share_) continue;
      active_[i] = 1;
      source_[i] = 1 + static_cast<int64_t>(number(2) % static_cast<uint64_t>(i - 1));
    }
  }

  std::string_view name() const override { return "copy-paste"; }

  nlohmann::ordered_json settings() const override {
    return {{"rest", rest_},   {"tokens", tokens_},       {"width", width_},
            {"share", share_}, {"dedicated", dedicated_}, {"seed", seed_}};
  }

  model::ModelSpec spec() const override {
    model::ModelSpec spec = lab_spec(1, 1, width_, tokens_);
    spec.vectors = spec.first_token = true;
    spec.positions = model::Positions::kFirstNorm;
    return spec;
  }

  std::vector<QueryKind> kinds() const override {
    return {{"nop", rest_ == "hard" ? "no copy: the update must vanish"
                                    : "no copy: the update must be the token itself"},
            {"active", "the update must be the token at pi(i)"}};
  }

  Batch batch(Purpose purpose, int64_t number, int64_t sequences) const override {
    Batch batch;
    batch.vectors =
        normal(mix(seed_, {static_cast<uint64_t>(purpose), static_cast<uint64_t>(number)}),
               {sequences, tokens_, width_});
    if (dedicated_) batch.vectors.select(1, 0).zero_();
    const at::Tensor& x = batch.vectors;
    at::Tensor update = x.index_select(1, source_);
    if (rest_ == "hard") update.mul_(active_.view({1, -1, 1}));
    batch.target = x + update;
    batch.kinds = active_.unsqueeze(0).repeat({sequences, 1});
    batch.kinds.select(1, 0).fill_(kNotCounted);
    batch.keys = at::zeros({sequences}, at::kLong);
    return batch;
  }

 private:
  std::string rest_;
  int64_t tokens_, width_;
  double share_;
  bool dedicated_;
  uint64_t seed_;
  at::Tensor source_;  // pi, [T] int64; an inactive position is its own
  at::Tensor active_;  // [T] uint8
};

}  // namespace

std::unique_ptr<Task> make_copy_paste(const io::Config& settings) {
  return std::make_unique<CopyPaste>(settings);
}

// No recipe is published; that of conditional damping serves, whose data are of the same size.
TrainerOptions copy_paste_recipe(bool paper) { return conditional_damping_recipe(paper); }

}  // namespace sinkscope::train
