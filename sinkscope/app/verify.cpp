#include "sinkscope/app/verify.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "sinkscope/app/inputs.h"
#include "sinkscope/base/error.h"
#include "sinkscope/forward/recorder.h"
#include "sinkscope/forward/reference.h"
#include "sinkscope/forward/runner.h"
#include "sinkscope/report/json.h"

namespace sinkscope::app {
namespace {

using forward::Tap;
using nlohmann::ordered_json;

constexpr int64_t kVerifyTokens = 48;  // when no input is given
constexpr const char* kAlphaName = "alpha";

/// Largest difference over the layers of one kind of tap, absolute and relative to its largest
/// value.
struct Difference {
  double absolute = 0, relative = 0;
  std::string worst;
  void add(const std::string& name, const at::Tensor& a, const at::Tensor& reference) {
    const double largest = reference.abs().max().item<double>();
    const double diff = (a.to(at::kDouble) - reference).abs().max().item<double>();
    const double rel = largest > 0 ? diff / largest : diff;
    absolute = std::max(absolute, diff);
    // Written so that NaN counts as the worst.
    if (!(rel <= relative)) relative = rel, worst = name;
  }
};

std::string kind_of(const std::string& name) {
  if (name.ends_with(kAlphaName)) return kAlphaName;
  const std::optional<forward::TapPlace> place = forward::parse_tap(name);
  return place ? std::string(forward::tap_info(place->tap).short_name) : name;
}

/// Tolerances of method.md section 19 in float32; bfloat16 1e-2 for all.
double limit_of(const std::string& kind, bool bfloat16, double floor) {
  if (bfloat16) return 5e-2;
  const double stated = kind == kAlphaName ? 1e-6 : kind == "pattern" ? 5e-5 : 1e-4;
  // Where this model's own float32 rounding is larger, that is the measure; twice, since the fast
  // path rounds in another order.
  return std::max(stated, 2 * floor);
}

/// Noise for a model that is given no input: ids, rows of numbers, or pixels of its own image size.
forward::Stream random_stream(const model::ModelSpec& spec, uint64_t seed) {
  std::mt19937_64 random(seed);
  forward::Stream stream;
  const auto noise = [&random](at::IntArrayRef shape) {
    std::normal_distribution<float> normal;
    at::Tensor numbers = at::empty(shape, at::kFloat);
    float* data = numbers.data_ptr<float>();
    for (int64_t i = 0; i < numbers.numel(); ++i) data[i] = normal(random);
    return numbers;
  };
  if (spec.is_vision()) {
    const model::Vision& v = spec.vision;
    stream.pixels = noise({v.channels, v.image_height, v.image_width});
    return stream;
  }
  const int64_t tokens = spec.context > 0 ? std::min(kVerifyTokens, spec.context) : kVerifyTokens;
  if (spec.vectors) {
    stream.vectors = noise({tokens, spec.width});
    return stream;
  }
  stream.ids.resize(static_cast<size_t>(tokens));
  for (int32_t& id : stream.ids)
    id = static_cast<int32_t>(random() % static_cast<uint64_t>(spec.vocabulary));
  return stream;
}

forward::Stream verify_stream(const VerifyOptions& options, const model::Model& model) {
  const auto& in = options.inputs;
  if (in.files.empty() && in.prompts.empty() && in.tokens.empty() && in.images.empty() &&
      in.pixels.empty()) {
    return random_stream(model.spec(), in.seed);
  }
  const auto tokenizer = open_tokenizer(model);
  InputOptions one = in;
  one.max_seqs = 1;
  const Inputs inputs = read_model_inputs(one, model, tokenizer.get());
  return inputs.stream(inputs.sequences.front());
}

ordered_json compare(const forward::Taps& fast, const forward::Taps& reference,
                     const forward::Taps& single, bool bfloat16, bool& all_hold) {
  std::map<std::string, Difference> fast_diff, floor_diff;
  for (const auto& [name, tensor] : reference) {
    const std::string kind = kind_of(name);
    fast_diff[kind].add(name, fast.at(name), tensor);
    floor_diff[kind].add(name, single.at(name), tensor);
  }
  ordered_json rows = ordered_json::array();
  for (const auto& [kind, diff] : fast_diff) {
    const double floor = floor_diff[kind].relative;
    const double limit = limit_of(kind, bfloat16, floor);
    const bool holds = (kind == kAlphaName ? diff.absolute : diff.relative) <= limit;
    all_hold = all_hold && holds;
    rows.push_back({{"tap", kind},
                    {"max_difference", diff.absolute},
                    {"relative", diff.relative},
                    {"noise_floor", floor},
                    {"limit", limit},
                    {"holds", holds},
                    {"worst", diff.worst}});
  }
  return rows;
}

void write_table(const ordered_json& document, std::ostream& out) {
  out << fmt::format("{:<12} {:>14} {:>12} {:>12} {:>10}   worst at\n", "tap", "max difference",
                     "relative", "noise floor", "limit");
  for (const ordered_json& row : document["taps"]) {
    out << fmt::format("{:<12} {:>14.2e} {:>12.2e} {:>12.2e} {:>10.0e} {} {}\n",
                       row["tap"].get<std::string>(), row["max_difference"].get<double>(),
                       row["relative"].get<double>(), row["noise_floor"].get<double>(),
                       row["limit"].get<double>(), row["holds"].get<bool>() ? "ok  " : "FAIL",
                       row["worst"].get<std::string>());
  }
  out << fmt::format(
      "\n{} tokens, {} against float64; noise floor: the same reference code in float32.\n{}\n",
      document["tokens"].get<int64_t>(), document["dtype"].get<std::string>(),
      document["holds"].get<bool>() ? "verified" : "NOT verified");
}

}  // namespace

int verify(const VerifyOptions& options, Console& console) {
  const auto model = model::Model::open(options.model);
  const forward::Stream stream = verify_stream(options, *model);
  forward::RunOptions run;
  run.threads = options.threads;
  run.bfloat16 = options.dtype == "bf16";
  forward::Recorder recorder;
  forward::Observer* observers[] = {&recorder};
  forward::Runner(*model, run).run({&stream, 1}, observers);
  const auto layers = static_cast<int>(model->spec().layers);
  forward::Taps fast = recorder.stream(0);
  forward::Taps reference = forward::run_reference(*model, stream, at::kDouble);
  forward::Taps single = forward::run_reference(*model, stream, at::kFloat);
  for (int layer = 0; layer < layers; ++layer) {
    const std::string pattern = forward::tap_name(Tap::kPattern, layer),
                      name = fmt::format("blocks.{}.{}", layer, kAlphaName);
    const forward::Documents documents(stream);
    const forward::Visibility seen = forward::visibility_of(model->spec(), layer, documents);
    fast[name] = recorder.alpha(0, layer);
    reference[name] = forward::alpha_of_pattern(reference.at(pattern), seen);
    single[name] = forward::alpha_of_pattern(single.at(pattern), seen);
  }
  bool holds = true;
  ordered_json document;
  document["schema"] = "sinkscope.verify/1";
  document["model"] = model->path().string();
  document["tokens"] = forward::tokens_of(model->spec(), stream);
  document["dtype"] = options.dtype;
  document["taps"] = compare(fast, reference, single, run.bfloat16, holds);
  document["holds"] = holds;
  if (options.format == "json") {
    report::write_document(document, console.out);
  } else {
    write_table(document, console.out);
  }
  return holds ? 0 : 1;
}

}  // namespace sinkscope::app
