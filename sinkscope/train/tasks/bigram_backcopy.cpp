// Bigram-backcopy (method.md section 16.3; arXiv 2410.13835): after a trigger symbol comes a copy
// of an earlier one, after any other what a bigram table says. A head copies at triggers (active)
// and has nothing to do elsewhere (dormant).

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "sinkscope/base/error.h"
#include "sinkscope/base/mix.h"
#include "sinkscope/text/utf8.h"
#include "sinkscope/train/tasks/bigram.h"
#include "sinkscope/train/tasks/tasks.h"

namespace sinkscope::embedded {
std::string_view tinyshakespeare();
}

namespace sinkscope::train {
namespace {

// What space, e, t, o and a have in English; the three likeliest of 32 even symbols have a third of
// it.
constexpr double kTriggerMass = 0.4;

enum Kind : uint8_t { kMarkov = 0, kTrigger = 1, kStart = 2 };

std::string read_text(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (in && !text.str().empty()) return text.str();
  throw Error(ErrorKind::kUsage, "read the text of the bigram table",
              fmt::format("{}: no such file, or empty", file));
}

/// Running sums of a distribution, for drawing from it.
std::vector<double> cumulative(std::vector<double> shares) {
  std::partial_sum(shares.begin(), shares.end(), shares.begin());
  return shares;
}

int64_t draw(const std::vector<double>& sums, double u) {
  const auto found = std::upper_bound(sums.begin(), sums.end(), u * sums.back());
  return std::min<int64_t>(found - sums.begin(), std::ssize(sums) - 1);
}

class BigramBackcopy : public Task {
 public:
  explicit BigramBackcopy(const io::Config& settings)
      : paper_(settings.flag({"paper"}, false)),
        tokens_(read_setting(settings, "tokens", int64_t{paper_ ? 256 : 64}, 4, 4096)),
        width_(read_setting(settings, "width", int64_t{paper_ ? 256 : 64}, 8, 1024)),
        layers_(read_setting(settings, "layers", int64_t{1}, 1, 16)),
        successors_(read_setting(settings, "successors", int64_t{8}, 1, 1024)),
        offset_(read_setting(settings, "offset", int64_t{1}, 1, 64)),
        permute_(settings.flag({"permute"}, false)),
        seed_(static_cast<uint64_t>(read_setting(settings, "seed", int64_t{0}, 0, INT64_MAX))) {
    read_table(settings);
    choose_triggers(settings);
    for (const std::vector<double>& row : bigram_.next) sums_.push_back(cumulative(row));
    output_.resize(static_cast<size_t>(bigram_.symbols()));
    std::iota(output_.begin(), output_.end(), int64_t{0});
    if (permute_) {
      std::sort(output_.begin(), output_.end(),
                [&](int64_t a, int64_t b) { return task_number(3, a) < task_number(3, b); });
    }
    find_oracles();
  }

  std::string_view name() const override { return "bigram-backcopy"; }

  nlohmann::ordered_json settings() const override {
    nlohmann::ordered_json json = {
        {"tokens", tokens_}, {"width", width_},     {"layers", layers_}, {"triggers", triggers_},
        {"offset", offset_}, {"permute", permute_}, {"seed", seed_}};
    if (bigram_.counts.empty()) {
      json["symbols"] = bigram_.symbols(), json["successors"] = successors_;
    } else {
      json["characters"] = bigram_.characters, json["counts"] = bigram_.counts;
    }
    return json;
  }

  model::ModelSpec spec() const override {
    model::ModelSpec spec = lab_spec(layers_, 1, width_, tokens_);
    spec.vocabulary = bigram_.symbols() + 1;
    spec.final_norm = true;
    spec.mlp = spec.mlp_bias = true;
    spec.mlp_width = 4 * width_;
    spec.activation = model::Activation::kRelu;
    return spec;
  }

  std::vector<QueryKind> kinds() const override {
    return {{"dormant", "the token is no trigger: the bigram table says what follows", oracles_[0]},
            {"trigger", "the token is a trigger: an earlier token follows", oracles_[1]},
            {"start", "the query at <s>", oracles_[2]}};
  }

  Batch batch(Purpose purpose, int64_t number, int64_t sequences) const override {
    const uint64_t key =
        mix(seed_, {static_cast<uint64_t>(purpose), static_cast<uint64_t>(number)});
    const at::Tensor ids = at::empty({sequences, tokens_ + 1}, at::kLong);
    Batch batch;
    batch.kinds = at::empty({sequences, tokens_}, at::kByte);
    at::parallel_for(0, sequences, 16, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        write_sequence(mix(key, {static_cast<uint64_t>(b)}),
                       ids.data_ptr<int64_t>() + b * (tokens_ + 1),
                       batch.kinds.data_ptr<uint8_t>() + b * tokens_);
      }
    });
    batch.ids = ids.narrow(1, 0, tokens_).contiguous();
    batch.target = ids.narrow(1, 1, tokens_).contiguous();
    batch.keys = at::zeros({sequences}, at::kLong);
    return batch;
  }

  std::string label(int64_t id) const override {
    if (id == bigram_.symbols()) return "<s>";
    if (bigram_.characters.empty()) return std::to_string(id);
    std::string name;
    text::utf8_append(bigram_.characters[static_cast<size_t>(id)], name);
    return name;
  }

 private:
  uint64_t task_number(uint64_t what, int64_t index) const {
    return mix(seed_, {static_cast<uint64_t>(Purpose::kTask), what, static_cast<uint64_t>(index)});
  }

  void read_table(const io::Config& settings) {
    const std::string file = settings.text({"text"}, "");
    if (settings.has("counts")) {
      bigram_ = stored_bigram(settings);
    } else if (!file.empty()) {
      bigram_ = text_bigram(read_text(file), file);
    } else if (paper_ && !settings.has("symbols")) {
      bigram_ = text_bigram(embedded::tinyshakespeare(), "the shipped text");
    } else {
      const int64_t symbols = read_setting(settings, "symbols", int64_t{32}, 4, 1024);
      successors_ = std::min(successors_, symbols);
      bigram_ = random_bigram(symbols, successors_, task_number(1, 0));
    }
  }

  /// The most frequent symbols: "triggers" of them, or the ids that a stored task names, or as many
  /// as it takes to reach "trigger_mass".
  void choose_triggers(const io::Config& settings) {
    const int64_t symbols = bigram_.symbols();
    std::vector<int64_t> order(static_cast<size_t>(symbols));
    std::iota(order.begin(), order.end(), int64_t{0});
    const auto share = [&](int64_t x) { return bigram_.unigram[static_cast<size_t>(x)]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return share(a) > share(b); });
    if (settings.has("triggers") && settings.json()["triggers"].is_array()) {
      triggers_ = settings.integers("triggers");
    } else {
      const bool counted = settings.has("triggers") || !bigram_.characters.empty();
      const double mass =
          read_setting(settings, "trigger_mass", counted ? 0.0 : kTriggerMass, 0.0, 0.99);
      const auto count = static_cast<size_t>(
          read_setting(settings, "triggers", int64_t{mass > 0 ? 1 : 3}, 1, symbols - 1));
      double sum = 0;
      for (const int64_t x : order) {
        if (triggers_.size() >= count && sum >= mass) break;
        triggers_.push_back(x), sum += share(x);
      }
    }
    is_trigger_.assign(static_cast<size_t>(symbols), false);
    std::vector<double> first = bigram_.unigram;
    for (const int64_t x : triggers_) {
      if (x < 0 || x >= symbols) {
        throw Error(ErrorKind::kBadFile, "read task settings",
                    fmt::format("{}: trigger {} of {} symbols", settings.where(), x, symbols));
      }
      is_trigger_[static_cast<size_t>(x)] = true;
      first[static_cast<size_t>(x)] = 0;
    }
    first_sums_ = cumulative(first);
    if (!(first_sums_.back() > 0)) {
      throw Error(ErrorKind::kUsage, "read task settings", "every symbol is a trigger");
    }
  }

  /// x_0 = <s>, x_1 from pi without triggers, then copies behind triggers and the table elsewhere.
  /// A trigger too early for its copy to exist is an ordinary symbol there.
  void write_sequence(uint64_t key, int64_t* ids, uint8_t* kinds) const {
    const auto number = [&](int64_t t) {
      return static_cast<double>(mix(key, {static_cast<uint64_t>(t)}) >> 11) * 0x1p-53;
    };
    ids[0] = bigram_.symbols(), kinds[0] = kStart;
    ids[1] = draw(first_sums_, number(0));
    for (int64_t t = 1; t < tokens_; ++t) {
      const auto x = static_cast<size_t>(ids[t]);
      const bool copies = is_trigger_[x] && t - offset_ >= 1;
      kinds[t] = copies ? kTrigger : kMarkov;
      ids[t + 1] =
          copies ? output_[static_cast<size_t>(ids[t - offset_])] : draw(sums_[x], number(t));
    }
  }

  void find_oracles() {
    const Batch sample = batch(Purpose::kEvaluation, 0, 64);
    const int64_t* ids = sample.ids.data_ptr<int64_t>();
    const uint8_t* kinds = sample.kinds.data_ptr<uint8_t>();
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < sample.ids.numel(); ++i) {
      if (kinds[i] != kMarkov) continue;
      sum += bigram_.entropy_after(ids[i]), ++count;
    }
    oracles_[0] = sum / static_cast<double>(std::max<int64_t>(count, 1));
    double previous = 0;
    for (const double value : first_sums_) {
      const double p = (value - previous) / first_sums_.back();
      if (p > 0) oracles_[2] -= p * std::log(p);
      previous = value;
    }
  }

  bool paper_;
  int64_t tokens_, width_, layers_, successors_, offset_;
  bool permute_;
  uint64_t seed_;
  Bigram bigram_;
  std::vector<int64_t> triggers_;
  std::vector<bool> is_trigger_;
  std::vector<std::vector<double>> sums_;  // of each symbol's successors
  std::vector<double> first_sums_;
  std::vector<int64_t> output_;  // what a copied symbol becomes
  double oracles_[3] = {0, 0, 0};
};

}  // namespace

std::unique_ptr<Task> make_bigram_backcopy(const io::Config& settings) {
  return std::make_unique<BigramBackcopy>(settings);
}

TrainerOptions bigram_backcopy_recipe(bool paper) {
  TrainerOptions options;
  options.steps = paper ? 10000 : 4000;
  options.batch = paper ? 512 : 64;
  options.optimiser.rate = paper ? 3e-4 : 3e-3;
  options.embedding_deviation = 1;  // that of PyTorch's embeddings; smaller ones make no sink
  return options;
}

}  // namespace sinkscope::train
