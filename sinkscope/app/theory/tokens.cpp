#include "sinkscope/app/theory/tokens.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "sinkscope/app/session.h"
#include "sinkscope/app/theory/array.h"
#include "sinkscope/app/theory/calculator.h"
#include "sinkscope/app/theory/named.h"
#include "sinkscope/base/error.h"
#include "sinkscope/base/sha256.h"
#include "sinkscope/forward/recorder.h"

namespace sinkscope::app {
namespace {

constexpr int64_t kMostTokens = 1 << 16;
constexpr int64_t kMostWidth = 1 << 20;

std::vector<int64_t> read_tokens(const CloudOptions& options) {
  return read_numbers(options.tokens, "--T", 1, kMostTokens);
}

TokenCase kind_case(const theory::CloudKind& kind, theory::CloudRequest request, bool show_width,
                    uint64_t seed) {
  request = theory::check_cloud(kind, request);
  TokenCase result{std::string(kind.name),
                   request.tokens,
                   request.width,
                   0,
                   std::string(kind.name),
                   request,
                   {}};
  if (kind.name == "cross-polytope") {
    result.sine = request.sine;
    result.source += fmt::format(", sin {}", request.sine);
  }
  if (show_width) result.source += fmt::format(", d {}", request.width);
  result.make = [&kind, request, seed] {
    std::mt19937_64 random(seed);
    return theory::make_cloud(kind, request, random);
  };
  return result;
}

std::string text(const auto& value) { return nlohmann::json(value).dump(); }

TokenCases generated(const CloudOptions& options, uint64_t seed) {
  TokenCases result;
  const std::vector<int64_t> widths = options.widths.empty()
                                          ? std::vector<int64_t>{0}
                                          : read_numbers(options.widths, "--d", 1, kMostWidth);
  for (const std::string& name : options.geometries) {
    const theory::CloudKind& kind = need_named(theory::cloud_kinds(), name, "--geometry");
    const bool lifted = name == "cross-polytope";
    for (const double sine : lifted ? options.sines : std::vector<double>{0}) {
      for (const int64_t width : widths) {
        for (const int64_t tokens : read_tokens(options)) {
          result.cases.push_back(kind_case(
              kind, {tokens, width, options.cosine, options.sink_cosine, sine, options.rank},
              widths.size() > 1, unit_seed(seed, tokens, static_cast<uint64_t>(width))));
        }
      }
    }
  }
  result.settings = {
      {"geometry", text(options.geometries)}, {"d", text(options.widths)},
      {"cosine", text(options.cosine)},       {"sink_cosine", text(options.sink_cosine)},
      {"sine", text(options.sines)},          {"rank", text(options.rank)}};
  return result;
}

/// The first T + 1 rows, for each T that there are rows for.
void add_cuts(const std::string& name, std::shared_ptr<const theory::Cloud> all,
              const std::vector<int64_t>& lengths, std::vector<TokenCase>& cases) {
  for (const int64_t tokens : lengths) {
    if (tokens + 1 > all->count()) continue;
    cases.push_back(
        {name, tokens, all->width, 0, name, {}, [all, tokens] {
           const auto end = static_cast<std::ptrdiff_t>((tokens + 1) * all->width);
           return theory::Cloud{{all->entries.begin(), all->entries.begin() + end}, all->width};
         }});
  }
}

TokenCases of_file(const CloudOptions& options) {
  Matrix matrix = read_matrix(options.vectors, "--vectors");
  std::vector<int64_t> lengths = read_tokens(options);
  if (options.tokens == CloudOptions().tokens) lengths = {matrix.rows - 1};
  TokenCases result;
  result.settings = {
      {"vectors", text(options.vectors)},
      {"vectors.sha256", text(sha256_bytes(std::as_bytes(std::span(matrix.entries))))}};
  const auto all = std::make_shared<theory::Cloud>();
  all->entries = std::move(matrix.entries), all->width = matrix.columns;
  add_cuts(options.vectors, all, lengths, result.cases);
  return result;
}

TokenCases of_model(const CloudOptions& options, Console& console) {
  Session session = open_session(options.model);
  announce(session, options.model, 0, 0, console);
  const std::vector<int64_t> lengths = read_tokens(options);
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<forward::Stream> streams;
  for (const store::SequenceInfo& sequence : session.inputs.sequences) {
    streams.push_back(session.inputs.stream(sequence));
  }
  forward::Recorder recorder({forward::Tap::kNorm1});
  forward::Observer* observers[] = {&recorder};
  forward::Runner(*session.model, run_options(options.model)).run(streams, observers);
  const auto layers = static_cast<int>(session.model->spec().layers);
  TokenCases result;
  for (const int layer : parse_layers(options.layers == "all" ? "" : options.layers, layers)) {
    for (size_t s = 0; s < streams.size(); ++s) {
      const at::Tensor rows = recorder.stream(s).at(forward::tap_name(forward::Tap::kNorm1, layer));
      const int64_t kept = std::min(longest + 1, rows.size(0));
      const at::Tensor used = rows.narrow(0, 0, kept).to(at::kDouble).contiguous();
      const auto all = std::make_shared<theory::Cloud>();
      all->width = used.size(1);
      all->entries.assign(used.data_ptr<double>(), used.data_ptr<double>() + used.numel());
      add_cuts(fmt::format("layer {}, sequence {}", layer, s), all, lengths, result.cases);
    }
  }
  result.settings = {{"tokens_from", text(options.model.model)},
                     {"model.sha256", text(session.model_hash.get())},
                     {"inputs.sha256", text(session.inputs.sha256)},
                     {"layers", text(options.layers)}};
  return result;
}

}  // namespace

TokenCases token_cases(const CloudOptions& options, uint64_t seed, Console& console) {
  TokenCases result = !options.model.model.empty() ? of_model(options, console)
                      : !options.vectors.empty()   ? of_file(options)
                                                   : generated(options, seed);
  if (result.cases.empty()) {
    throw Error(ErrorKind::kUsage, "make tokens",
                fmt::format("--T {}: more tokens than there are rows", options.tokens),
                "T tokens and the sink need T + 1 rows");
  }
  result.settings["T"] = text(options.tokens);
  return result;
}

}  // namespace sinkscope::app
