#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sinkscope/app/theory/make.h"
#include "sinkscope/app/theory/smoothing_cases.h"
#include "sinkscope/base/error.h"

namespace sinkscope::app {
namespace {

using store::SheetRow;

constexpr const char* kCurve = "curve";
constexpr const char* kSteps = "steps";
constexpr int64_t kDefaultDraws = 120;     // method.md section 9, Monte Carlo
constexpr double kWorstError = 0.005;      // claims.md A4
constexpr double kErrors = 4;              // standard errors that a few draws may be off
constexpr int64_t kCheckedDraws = 100;     // fewer: the draws' own spread is not small beside it
constexpr double kCheckedRank = 50;        // lower: the ratio of expectations is no longer exact
constexpr int64_t kMostNumbers = 1 << 23;  // T d of one draw
constexpr size_t kMostSentences = 6;

std::string verdict_of(double change) {
  if (std::isnan(change)) return "no data";
  return change > kSmoothDelta ? "smoothing" : change < -kSmoothDelta ? "counteracted" : "flat";
}

std::vector<double> lambdas_of(const SmoothingOptions& options) {
  if (options.lambdas.empty()) {
    const int steps = options.sweep.empty() ? 10 : 4;
    std::vector<double> lambdas;
    for (int l = 0; l <= steps; ++l) lambdas.push_back(l / static_cast<double>(steps));
    return lambdas;
  }
  for (const double lambda : options.lambdas) {
    if (lambda >= 0 && lambda <= 1) continue;
    throw Error(ErrorKind::kUsage, "read flags", fmt::format("--lambdas {}", lambda),
                "0 (identity) to 1 (uniform)");
  }
  return options.lambdas;
}

/// What the options name; a sweep of settings: 16 steps that differ in map, mean and mask.
std::vector<SmoothingCase> cases_of(const SmoothingOptions& options, const StepSource& source) {
  const std::string tokens_text = options.tokens.empty() ? "64" : options.tokens;
  const bool settings = options.sweep == "settings";
  const double far = 0.75 * std::sqrt(source.spread());
  struct Map {
    std::string name;
    double factor;
  };
  const std::vector<Map> maps =
      settings
          ? std::vector<Map>{{"identity", 0.5}, {"identity", -1.5}, {"random", 0.8}, {"skew", 1}}
          : std::vector<Map>{{source.map_name(), options.beta * options.scale}};
  const std::vector<double> means = settings ? std::vector<double>{0, far} : options.means;
  const std::vector<std::string> masks =
      settings ? std::vector<std::string>{"full", "causal"} : options.masks;
  std::vector<SmoothingCase> cases;
  for (const int64_t tokens : read_numbers(tokens_text, "--T", 1, 1 << 20)) {
    for (const Map& map : maps) {
      for (const double mean : means) {
        for (const std::string& mask : masks) {
          cases.push_back({map.name, map.factor, mean, mask == "causal", tokens,
                           fmt::format("{} x {}, mean {:.4g}, T {}, {}", map.name, map.factor, mean,
                                       tokens, mask)});
        }
      }
    }
  }
  return cases;
}

class Smoothing : public Calculator {
 public:
  Smoothing(const SmoothingOptions& options, uint64_t seed)
      : options_(options),
        seed_(seed),
        source_(options, seed),
        lambdas_(lambdas_of(options)),
        cases_(cases_of(options, source_)) {
    if (options_.sweep == "settings" && options_.draws == 0) options_.draws = kDefaultDraws;
    for (const SmoothingCase& step : cases_) {
      if (options_.draws == 0 || step.tokens * source_.width() <= kMostNumbers) continue;
      throw Error(
          ErrorKind::kTooLarge, "draw tokens",
          fmt::format("--mc with {} tokens of width {}", step.tokens, source_.width()),
          fmt::format("T d of at most {}; the prediction alone has no such limit", kMostNumbers));
    }
  }

  store::Facts settings() const override {
    store::Facts facts = source_.settings();
    facts["mc"] = std::to_string(options_.draws);
    facts["T"] = nlohmann::json(options_.tokens).dump();
    facts["mask"] = nlohmann::json(options_.masks).dump();
    facts["lambdas"] = nlohmann::json(lambdas_).dump();
    facts["sweep"] = nlohmann::json(options_.sweep).dump();
    return facts;
  }

  std::vector<store::SheetTable> tables() const override {
    std::vector<store::SheetTable> tables = {
        {kCurve,
         "Mean cosine of two tokens after the step, attention from identity (lambda 0) to uniform "
         "(lambda 1)",
         {{"step", "", "value map, its factor, length of the mean token, T, mask"},
          {"lambda", "", "share of uniform attention"},
          {"predicted", "", "closed form of method.md section 9, from R, C, E, N0 and T"}}},
        {kSteps,
         "What decides: the sign of s = 2 C + E",
         {{"step", "", "as above"},
          {"R", "", "trace of the covariance of the skip stream r"},
          {"C", "", "trace of the covariance of r and u: beta tr(Sigma W) with a skip connection"},
          {"E", "", "trace of the covariance of u: beta^2 tr(W Sigma W^T)"},
          {"N0", "", "squared length of the mean of r + u"},
          {"s", "", "2 C + E; full attention: the sign of cos(1) - cos(0)"},
          {"peak", "", "lambda of the largest cosine under full attention: 1 + C/E held to [0, 1]"},
          {"cos_0", "", "predicted at lambda 0"},
          {"cos_1", "", "predicted at lambda 1"},
          {"change", "", "cos_1 - cos_0"},
          {"verdict", "", "smoothing: change > 0.01; counteracted: < -0.01; otherwise flat"},
          {"effective_rank", "",
           "least (tr S)^2 / tr S^2 of a token's covariance after the step at lambda 0 and 1; the "
           "prediction's error is of the order of 1 over it"}}},
        checks_table()};
    if (options_.draws > 0) {
      for (const store::SheetColumn& column : std::vector<store::SheetColumn>{
               {"measured", "", "mean over draws of Gaussian tokens of the cosine of their pairs"},
               {"standard_error", "", "of the measured mean"},
               {"difference", "", "measured - predicted"},
               {"low", "", "measured - 2 standard errors"},
               {"high", "", "measured + 2 standard errors"}}) {
        tables[0].columns.push_back(column);
      }
    }
    return tables;
  }

  std::vector<store::SheetPlot> plots() const override {
    const bool drawn = options_.draws > 0;
    return {{"lines",
             kCurve,
             "Cosine from identity to uniform attention: predicted, band measured",
             "lambda",
             "predicted",
             {"step"},
             drawn ? "low" : "",
             drawn ? "high" : "",
             "",
             ""}};
  }

  int64_t units() const override { return std::ssize(cases_); }

  std::vector<SheetRow> run(int64_t unit) const override {
    const SmoothingCase& step = cases_[static_cast<size_t>(unit)];
    const theory::StepModel model = source_.model(step.map, step.factor, step.mean);
    const theory::StepMoments moments = theory::step_moments(model);
    const std::optional<MeasuredCurve> measured =
        measure_curve(model, step, lambdas_, options_.draws, unit_seed(seed_, unit));
    const double none = diagnostics::kNoData;
    std::vector<SheetRow> rows;
    for (size_t l = 0; l < lambdas_.size(); ++l) {
      const double predicted = predicted_cosine(moments, lambdas_[l], step.tokens, step.causal);
      SheetRow row{kCurve, {step.name, lambdas_[l], predicted}};
      if (options_.draws > 0) {
        const auto [mean, error] = measured ? measured->cosines[l] : Measured{none, none};
        for (const double value :
             {mean, error, mean - predicted, mean - 2 * error, mean + 2 * error}) {
          row.cells.emplace_back(value);
        }
      }
      rows.push_back(std::move(row));
    }
    const double first = predicted_cosine(moments, 0, step.tokens, step.causal),
                 last = predicted_cosine(moments, 1, step.tokens, step.causal);
    rows.push_back({kSteps,
                    {step.name, moments.skip, moments.cross, moments.update, moments.mean_sq,
                     theory::smoothing_scalar(moments), theory::smoothing_peak(moments), first,
                     last, last - first, verdict_of(last - first), theory::effective_rank(model)}});
    return rows;
  }

  Conclusion conclude(const store::SheetStore& sheet) const override {
    Conclusion conclusion;
    conclusion.rows = smoothing_test_values();
    describe_steps(sheet, conclusion);
    if (options_.draws > 0) compare(sheet, conclusion);
    if (options_.norm == "rms") {
      conclusion.findings.push_back("RMSNorm after the step changes no cosine.");
    }
    return conclusion;
  }

 private:
  void describe_steps(const store::SheetStore& sheet, Conclusion& conclusion) const {
    const std::vector<SheetRow> steps = sheet.rows(kSteps);
    std::vector<std::string>& findings = conclusion.findings;
    int64_t smoothing = 0, counteracted = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto value = [&](size_t c) { return std::get<double>(steps[i].cells[c]); };
      const auto& verdict = std::get<std::string>(steps[i].cells[10]);
      smoothing += verdict == "smoothing", counteracted += verdict == "counteracted";
      if (steps.size() > kMostSentences) continue;
      const SmoothingCase& step = cases_[i];
      if (verdict == "no data") {
        findings.push_back(fmt::format(
            "{}: no cosine, {}.", step.name,
            step.tokens < 2 ? "one token makes no pair" : "the step leaves tokens of length 0"));
        continue;
      }
      std::string text = fmt::format(
          "{}: from {:.4f} with identity to {:.4f} with uniform "
          "attention: {}.",
          step.name, value(7), value(8), verdict);
      text += fmt::format(" s = {:.4g}", value(5));
      text += value(5) > 0   ? " > 0"
              : value(5) < 0 ? " < 0, the value map is anti-aligned with the tokens (-2C > E)"
                             : ", mixing is neutral";
      text += !step.causal   ? "; it decides under full attention."
              : value(4) > 0 ? "; it decides for many tokens."
                             : fmt::format(
                                   "; with a zero mean and causal attention the sign is that of "
                                   "C + E = {:.4g}.",
                                   value(2) + value(3));
      findings.push_back(std::move(text));
    }
    if (steps.size() > kMostSentences) {
      findings.push_back(
          fmt::format("Of {} steps uniform mixing raises the cosine in {} and "
                      "lowers it in {}.",
                      steps.size(), smoothing, counteracted));
    }
  }

  /// Monte Carlo against the prediction, checked where the prediction means to be exact.
  void compare(const store::SheetStore& sheet, Conclusion& conclusion) const {
    const std::vector<SheetRow> curve = sheet.rows(kCurve), steps = sheet.rows(kSteps);
    double worst = 0, worst_checked = 0, errors = 0;
    int64_t compared = 0, checked = 0;
    bool holds = true;
    std::string where;
    for (size_t i = 0; i < curve.size(); ++i) {
      const double difference = std::abs(std::get<double>(curve[i].cells[5])),
                   error = std::get<double>(curve[i].cells[4]);
      if (std::isnan(difference)) continue;
      ++compared;
      if (difference >= worst) {
        worst = difference;
        errors = difference / error;
        where = fmt::format("{}, lambda {:.3g}", std::get<std::string>(curve[i].cells[0]),
                            std::get<double>(curve[i].cells[1]));
      }
      if (std::get<double>(steps[i / lambdas_.size()].cells[11]) < kCheckedRank) continue;
      ++checked;
      worst_checked = std::max(worst_checked, difference);
      holds = holds && difference <= std::max(kWorstError, kErrors * error);
    }
    if (compared == 0) return;
    conclusion.findings.push_back(fmt::format(
        "Monte Carlo of {} draws: {:.4f} from the prediction at worst{}, at {}.", options_.draws,
        worst, std::isfinite(errors) ? fmt::format(" ({:.1f} standard errors)", errors) : "",
        where));
    if (checked > 0 && options_.draws >= kCheckedDraws) {
      conclusion.rows.push_back(
          check_row(fmt::format("Monte Carlo against prediction, {} points of effective rank >= {}",
                                checked, kCheckedRank),
                    fmt::format("within {}, or {} standard errors if more", kWorstError, kErrors),
                    fmt::format("{:.4f} at worst", worst_checked), holds));
    }
    if (options_.draws < kCheckedDraws) {
      conclusion.findings.push_back(
          fmt::format("Fewer than {} draws: their own spread is not small, nothing is checked.",
                      kCheckedDraws));
    } else if (checked < compared) {
      conclusion.findings.push_back(fmt::format(
          "{} of {} points have an effective rank below {}: there the ratio of expectations is an "
          "approximation and its difference is shown, not checked.",
          compared - checked, compared, kCheckedRank));
    }
  }

  SmoothingOptions options_;
  uint64_t seed_;
  StepSource source_;
  std::vector<double> lambdas_;
  std::vector<SmoothingCase> cases_;
};

}  // namespace

std::unique_ptr<Calculator> make_smoothing(const TheoryOptions& options, Console&) {
  if (options.smoothing.sweep == "W") return make_map_sweep(options.smoothing, options.seed);
  return std::make_unique<Smoothing>(options.smoothing, options.seed);
}

}  // namespace sinkscope::app
