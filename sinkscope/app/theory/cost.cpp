#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sinkscope/app/theory/cost_conclusion.h"
#include "sinkscope/app/theory/make.h"
#include "sinkscope/app/theory/tokens.h"
#include "sinkscope/base/error.h"
#include "sinkscope/theory/cholesky.h"
#include "sinkscope/theory/cost_closed.h"
#include "sinkscope/theory/cost_program.h"
#include "sinkscope/theory/geometry.h"
#include "sinkscope/theory/value_output.h"

namespace sinkscope::app {
namespace {

using store::SheetRow;
using theory::Bracket;

/// One pattern to be priced.
struct Setting {
  std::string pattern;  ///< sink, diagonal, mixed-sink, mixed-diagonal
  double active = 0;    ///< share of queries that copy; 0: of the plain patterns
  bool nuclear = true;
  bool mixed() const { return pattern.starts_with("mixed"); }
  bool diagonal() const { return pattern.ends_with("diagonal"); }
};

/// Bounds and how they came about.
struct Priced {
  Bracket cost;
  std::string method;
  int64_t iterations = 0, rank = 0;
};

std::vector<Setting> settings_of(const CostOptions& options) {
  const std::vector<std::string> patterns =
      options.task.empty() ? options.patterns
                           : std::vector<std::string>{"mixed-sink", "mixed-diagonal"};
  std::vector<Setting> settings;
  for (const bool nuclear : {true, false}) {
    if (options.norm == (nuclear ? "frobenius" : "nuclear")) continue;
    // The l2 cost of four factors is a nuclear norm: a task has no Frobenius side.
    if (!nuclear && !options.task.empty()) continue;
    for (const std::string& pattern : patterns) {
      const Setting plain{pattern, 0, nuclear};
      if (pattern != "sink" && pattern != "diagonal" && !plain.mixed()) {
        throw Error(ErrorKind::kUsage, "read flags", fmt::format("--pattern {}", pattern),
                    "sink, diagonal, mixed-sink, mixed-diagonal");
      }
      if (!plain.mixed()) settings.push_back(plain);
      for (const double active : plain.mixed() ? options.active : std::vector<double>{}) {
        settings.push_back({pattern, active, nuclear});
      }
    }
  }
  if (settings.empty()) {
    throw Error(ErrorKind::kUsage, "read flags", "--task with --norm frobenius",
                "a task is priced in the nuclear norm");
  }
  return settings;
}

class Cost : public Calculator {
 public:
  Cost(const CostOptions& options, uint64_t seed, Console& console)
      : options_(options),
        seed_(seed),
        causal_(options.mask == "causal"),
        tokens_(token_cases(options.cloud, seed, console)),
        settings_(settings_of(options)) {}

  store::Facts settings() const override {
    const auto text = [](const auto& value) { return nlohmann::json(value).dump(); };
    store::Facts facts = tokens_.settings;
    facts["pattern"] = text(options_.patterns);
    facts["task"] = text(options_.task);
    facts["active"] = text(options_.active);
    facts["offset"] = text(options_.offset);
    facts["norm"] = text(options_.norm);
    facts["mask"] = text(options_.mask);
    facts["scale_logits"] = text(options_.scale_logits);
    facts["kappa"] = text(options_.margin);
    facts["cost_gap"] = text(options_.gap);
    facts["cost_max_T"] = text(options_.max_tokens);
    return facts;
  }

  std::vector<store::SheetTable> tables() const override {
    return cost_tables(!options_.task.empty());
  }
  std::vector<store::SheetPlot> plots() const override {
    return cost_plots(map_axis(), !options_.task.empty());
  }

  int64_t units() const override { return std::ssize(tokens_.cases) * std::ssize(settings_); }

  std::vector<SheetRow> run(int64_t unit) const override {
    const auto per_case = std::ssize(settings_);
    const TokenCase& tokens = tokens_.cases[static_cast<size_t>(unit / per_case)];
    const Setting& setting = settings_[static_cast<size_t>(unit % per_case)];
    const auto every = static_cast<int64_t>(std::llround(1 / std::max(setting.active, 1e-9)));
    const std::vector<int64_t> source =
        !setting.mixed() ? std::vector<int64_t>()
        : options_.task == "copy-paste"
            ? theory::copy_paste_sources(tokens.tokens, every, unit_seed(seed_, tokens.tokens))
            : theory::backcopy_sources(tokens.tokens, every, options_.offset);
    Priced priced = price(tokens, setting, source);
    double value_output = diagnostics::kNoData;
    if (!options_.task.empty() && tokens.tokens <= options_.max_tokens) {
      value_output = theory::value_output_cost(tokens.make(), source, !setting.diagonal());
    }
    const double factor =
        options_.margin *
        (options_.scale_logits ? std::sqrt(static_cast<double>(tokens.width)) : 1.0);
    priced.cost.lower *= factor, priced.cost.upper *= factor;
    return {row_of(tokens, setting, priced, value_output)};
  }

  Conclusion conclude(const store::SheetStore& sheet) const override {
    return conclude_cost(sheet, !options_.task.empty());
  }

 private:
  std::string map_axis() const {
    for (const TokenCase& tokens : tokens_.cases) {
      if (tokens.sine != tokens_.cases.front().sine) return "sine";
    }
    for (const TokenCase& tokens : tokens_.cases) {
      if (tokens.tokens == tokens_.cases.front().tokens &&
          tokens.width != tokens_.cases.front().width) {
        return "d";
      }
    }
    return "tokens";
  }

  SheetRow row_of(const TokenCase& tokens, const Setting& setting, const Priced& priced,
                  double value_output) const {
    const Bracket& cost = priced.cost;
    const double gap = std::isinf(cost.lower) ? 0 : (cost.upper - cost.lower) / cost.upper;
    std::vector<store::SheetCell> cells = {
        tokens.source, static_cast<double>(tokens.tokens), static_cast<double>(tokens.width),
        tokens.sine, setting.pattern, setting.active, setting.nuclear ? "nuclear" : "frobenius",
        cost.lower, cost.upper, gap,
        // An infinite cost is no number in a document: the verdict says it.
        std::isinf(cost.lower)      ? "impossible"
        : std::isfinite(gap)        ? "bounded"
        : std::isfinite(cost.upper) ? "no lower bound"
                                    : "no upper bound",
        priced.method, static_cast<double>(priced.iterations), static_cast<double>(priced.rank)};
    if (!options_.task.empty()) {
      cells.emplace_back(value_output);
      cells.emplace_back(2 * (cost.lower + value_output));
      cells.emplace_back(2 * (cost.upper + value_output));
    }
    return {kCostTable, std::move(cells)};
  }

  theory::ClosedQuestion question(const TokenCase& tokens, const Setting& setting) const {
    return {tokens.name, setting.diagonal(), setting.nuclear, causal_};
  }

  Priced price(const TokenCase& tokens, const Setting& setting,
               const std::vector<int64_t>& source) const {
    Priced priced;
    if (!setting.mixed()) {
      priced.cost = theory::closed_cost(question(tokens, setting), tokens.request);
      priced.method = "closed form";
      if (priced.cost.lower == priced.cost.upper) return priced;
    }
    const theory::Cloud cloud = tokens.make();
    const bool closed = std::isfinite(priced.cost.lower) || std::isfinite(priced.cost.upper);
    if (!closed) priced.method.clear();
    if (!setting.mixed()) tighten(bounds(cloud, setting), "bounds", priced);
    if (tokens.tokens <= options_.max_tokens && !reached(priced.cost)) {
      const theory::ProgramOptions program{.gap = options_.gap, .seconds = options_.seconds};
      const theory::Pattern pattern = pattern_of(tokens.tokens, setting, source);
      const theory::ProgramResult result = setting.nuclear
                                               ? theory::nuclear_cost(cloud, pattern, program)
                                               : theory::frobenius_cost(cloud, pattern, program);
      tighten(result.cost, "program", priced);
      priced.iterations = result.iterations, priced.rank = result.rank;
    }
    return priced;
  }

  bool reached(const Bracket& cost) const {
    return std::isinf(cost.lower) || (cost.upper - cost.lower) / cost.upper <= options_.gap;
  }

  /// The better of two certified bounds, each side by itself; the method is the one that gave most.
  static void tighten(const Bracket& found, const char* method, Priced& priced) {
    bool better = false;
    if (!(found.lower <= priced.cost.lower)) better |= !std::isnan(found.lower);
    if (!(found.upper >= priced.cost.upper)) better |= !std::isnan(found.upper);
    if (!better) return;
    priced.cost.lower = std::fmax(priced.cost.lower, found.lower);
    priced.cost.upper = std::fmin(priced.cost.upper, found.upper);
    priced.method += priced.method.empty() ? method : fmt::format(", {}", method);
  }

  theory::Pattern pattern_of(int64_t context, const Setting& setting,
                             const std::vector<int64_t>& source) const {
    if (setting.mixed()) {
      return setting.diagonal() ? theory::mixed_diagonal_pattern(source, causal_)
                                : theory::mixed_sink_pattern(source, causal_);
    }
    return setting.diagonal() ? theory::diagonal_pattern(context, causal_)
                              : theory::sink_pattern(context, causal_);
  }

  Bracket bounds(const theory::Cloud& cloud, const Setting& setting) const {
    if (setting.diagonal()) {
      std::vector<double> gram;
      for (int64_t i = 0; i < cloud.count(); ++i) {
        for (int64_t j = 0; j < cloud.count(); ++j) {
          gram.push_back(theory::dot(cloud.token(i), cloud.token(j)));
        }
      }
      const theory::DiagonalCost cost = theory::diagonal_cost(
          gram, cloud.count(), causal_, std::min(cloud.count() - 1, cloud.width));
      return setting.nuclear ? cost.nuclear : cost.frobenius;
    }
    const theory::SinkCertificate certificate = theory::sink_certificate(cloud);
    if (certificate.undecided()) return {};
    const auto length_of_lead = [&] {
      double square = 0;
      for (size_t k = 0; k < cloud.token(0).size(); ++k) {
        const double lead = cloud.token(0)[k] - cloud.token(1)[k];
        square += lead * lead;
      }
      return std::sqrt(square);
    };
    const auto last = cloud.token(cloud.count() - 1);
    return theory::sink_cost({certificate.queries.margin, certificate.leads.margin,
                              std::sqrt(theory::dot(last, last)), length_of_lead(), causal_});
  }

  CostOptions options_;
  uint64_t seed_;
  bool causal_;
  TokenCases tokens_;
  std::vector<Setting> settings_;
};

}  // namespace

std::unique_ptr<Calculator> make_cost(const TheoryOptions& options, Console& console) {
  return std::make_unique<Cost>(options.cost, options.seed, console);
}

}  // namespace sinkscope::app
