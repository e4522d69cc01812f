#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "sinkscope/app/theory/smoothing_cases.h"

namespace sinkscope::app {
namespace {

using store::SheetRow;
using theory::StepMoments;

constexpr const char* kMaps = "maps";
constexpr const char* kDefaultTokens = "2,8,64,512";
constexpr double kMeans[] = {0, 0.5, 2};  // of the root of tr Sigma
constexpr int64_t kShownTokens = 64;      // the longest T up to it stands for the others
constexpr double kChange = 1e-12;         // a cosine's rounding
constexpr double kScalar = 1e-10;         // of |2C| + E, the rounding of s
constexpr double kErrors = 4;             // standard errors that a measured change must exceed

int sign(double value, double noise) { return value > noise ? 1 : value < -noise ? -1 : 0; }

/// A kind of map at one scale; random kinds are drawn several times.
struct MapCase {
  std::string map;
  double factor;
  int64_t draws;
};

std::vector<MapCase> map_cases(int64_t draws) {
  std::vector<MapCase> cases;
  for (int k = -16; k <= 16; ++k) cases.push_back({"identity", 0.25 * k, 1});
  for (int k = 1; k <= 6; ++k) cases.push_back({"anti-aligned", 0.5 * k, 1});
  for (const char* map : {"random", "symmetric", "skew"}) {
    for (const double factor : {0.5, 1.0, 2.0}) cases.push_back({map, factor, draws});
  }
  return cases;
}

/// Least and largest of what was added.
struct Range {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  void add(double value) { least = std::min(least, value), most = std::max(most, value); }
};

class MapSweep : public Calculator {
 public:
  MapSweep(const SmoothingOptions& options, uint64_t seed)
      : options_(options),
        seed_(seed),
        source_(options, seed),
        cases_(map_cases(options.maps)),
        tokens_(read_numbers(options.tokens.empty() ? kDefaultTokens : options.tokens, "--T", 2,
                             1 << 16)) {
    shown_ = tokens_.front();
    for (const int64_t tokens : tokens_) {
      if (tokens <= kShownTokens) shown_ = std::max(shown_, tokens);
    }
  }

  store::Facts settings() const override {
    store::Facts facts = source_.settings();
    facts["sweep"] = "\"W\"";
    facts["maps"] = std::to_string(options_.maps);
    facts["T"] = nlohmann::json(tokens_).dump();
    return facts;
  }

  std::vector<store::SheetTable> tables() const override {
    return {
        {kMaps,
         "Does uniform mixing raise the cosine? Value maps, each at several means and T",
         {{"map", "", "kind of W"},
          {"scale", "", "u = scale W x: beta is in it"},
          {"draws", "", "maps of this kind"},
          {"s_least", "", "s = 2 C + E, the least over the draws"},
          {"s_most", "", "the largest"},
          {"change", "",
           fmt::format("cos(1) - cos(0), full attention, zero mean, T = {}, first draw", shown_)},
          {"change_least", "", "the least over draws, means 0, 0.5, 2 sqrt(tr Sigma), every T"},
          {"change_most", "", "the largest"},
          {"causal_least", "", "the least under causal attention"},
          {"causal_most", "", "the largest"},
          {"cases", "", "draws x means x T"},
          {"undefined", "", "cases whose tokens have length 0 after the step"},
          {"violations", "", "cases where sign(cos(1) - cos(0)) is not sign(s), full attention"},
          {"verdict", "",
           "smooths: s > 0 in every draw; counteracts: s < 0; neutral: s = 0; differs: by draw; "
           "undefined: no case has a cosine"},
          {"measured", "", "Monte Carlo of `change`"},
          {"standard_error", "", "of the measured change"}}},
        checks_table()};
  }

  std::vector<store::SheetPlot> plots() const override {
    return {{"lines",
             kMaps,
             "cos(1) - cos(0) by value map: zero mean, band over means and T",
             "scale",
             "change",
             {"map"},
             "change_least",
             "change_most",
             "",
             ""}};
  }

  int64_t units() const override { return std::ssize(cases_); }

  std::vector<SheetRow> run(int64_t unit) const override {
    const MapCase& map = cases_[static_cast<size_t>(unit)];
    Range s, full, causal;
    double shown = diagnostics::kNoData, cases = 0, undefined = 0, violations = 0;
    for (int64_t draw = 0; draw < map.draws; ++draw) {
      for (const double mean : kMeans) {
        const theory::StepModel model =
            source_.model(map.map, map.factor, mean * std::sqrt(source_.spread()), draw);
        const StepMoments moments = theory::step_moments(model);
        s.add(theory::smoothing_scalar(moments));
        for (const int64_t tokens : tokens_) {
          const double change = change_of(moments, tokens, false);
          ++cases;
          if (std::isnan(change)) {
            ++undefined;
            continue;
          }
          if (draw == 0 && mean == 0 && tokens == shown_) shown = change;
          full.add(change);
          causal.add(change_of(moments, tokens, true));
          violations += sign(change, kChange) != scalar_sign(moments);
        }
      }
    }
    const Measured measured = measure(map, unit);
    const auto known = [](double value) {
      return std::isfinite(value) ? value : diagnostics::kNoData;
    };
    const double noise = kScalar * std::max(std::abs(s.least), std::abs(s.most));
    const char* verdict = undefined == cases          ? "undefined"
                          : sign(s.least, noise) > 0  ? "smooths"
                          : sign(s.most, noise) < 0   ? "counteracts"
                          : s.most - s.least <= noise ? "neutral"
                                                      : "differs";
    return {{kMaps,
             {map.map, map.factor, static_cast<double>(map.draws), s.least, s.most, shown,
              known(full.least), known(full.most), known(causal.least), known(causal.most), cases,
              undefined, violations, verdict, measured.mean, measured.error}}};
  }

  Conclusion conclude(const store::SheetStore& sheet) const override {
    double cases = 0, undefined = 0, violations = 0, disagree = 0, measured = 0;
    std::map<std::string, std::string> maps;  // by verdict
    std::map<std::string, int64_t> counts;
    for (const SheetRow& row : sheet.rows(kMaps)) {
      const auto value = [&](size_t c) { return std::get<double>(row.cells[c]); };
      cases += value(10), undefined += value(11), violations += value(12);
      const auto& verdict = std::get<std::string>(row.cells[13]);
      add_map(maps[verdict], std::get<std::string>(row.cells[0]), value(1));
      ++counts[verdict];
      if (std::isfinite(value(14)) && std::abs(value(14)) > kErrors * value(15)) {
        ++measured;
        disagree += sign(value(14), 0) != sign(value(5), kChange);
      }
    }
    Conclusion conclusion;
    conclusion.rows = smoothing_test_values();
    conclusion.rows.push_back(check_row(
        "Full attention: the sign of s = 2C + E is that of cos(1) - cos(0)", "0 violations",
        fmt::format("{} of {} cases, {} undefined", violations, cases, undefined),
        violations == 0));
    conclusion.rows.push_back(check_row(
        "A value map counteracts mixing", "at least one",
        fmt::format("{} of {}", counts["counteracts"], cases_.size()), counts["counteracts"] > 0));
    if (options_.draws > 0) {
      conclusion.rows.push_back(check_row(
          fmt::format("Monte Carlo: a change beyond {} standard errors has that sign", kErrors),
          "always", fmt::format("{} of {} differ", disagree, measured), disagree == 0));
    }
    describe(maps, conclusion.findings);
    return conclusion;
  }

 private:
  static void add_map(std::string& list, const std::string& map, double factor) {
    const bool again = list.find(map) != std::string::npos;
    list += again ? fmt::format(", {}", factor)
                  : fmt::format("{}{} x {}", list.empty() ? "" : "; ", map, factor);
  }

  static void describe(const std::map<std::string, std::string>& maps,
                       std::vector<std::string>& findings) {
    constexpr std::pair<const char*, const char*> kSentences[] = {
        {"counteracts", "Uniform mixing lowers the cosine where -2C > E: "},
        {"neutral", "It changes nothing where -2C = E: "},
        {"differs", "The draws of a kind differ in sign: "},
        {"undefined", "Tokens vanish at lambda = 0, r + u = 0, and have no cosine: "}};
    for (const auto& [verdict, sentence] : kSentences) {
      const auto found = maps.find(verdict);
      if (found != maps.end()) findings.push_back(fmt::format("{}{}.", sentence, found->second));
    }
    if (maps.contains("differs")) return;  // too few channels for a random map to be typical
    findings.push_back(
        "Random maps have C near 0 and s > 0: mixing smooths. Counteracting it takes a map that is "
        "anti-aligned with the tokens.");
  }

  static double change_of(const StepMoments& moments, int64_t tokens, bool causal) {
    return predicted_cosine(moments, 1, tokens, causal) -
           predicted_cosine(moments, 0, tokens, causal);
  }
  static int scalar_sign(const StepMoments& m) {
    return sign(theory::smoothing_scalar(m), kScalar * (std::abs(2 * m.cross) + m.update));
  }

  Measured measure(const MapCase& map, int64_t unit) const {
    const SmoothingCase step{map.map, map.factor, 0, false, shown_, ""};
    const double ends[] = {0, 1};
    const std::optional<MeasuredCurve> curve = measure_curve(
        source_.model(map.map, map.factor, 0), step, ends, options_.draws, unit_seed(seed_, unit));
    return curve ? curve->change : Measured{diagnostics::kNoData, diagnostics::kNoData};
  }

  SmoothingOptions options_;
  uint64_t seed_;
  StepSource source_;
  std::vector<MapCase> cases_;
  std::vector<int64_t> tokens_;
  int64_t shown_ = 0;
};

}  // namespace

std::unique_ptr<Calculator> make_map_sweep(const SmoothingOptions& options, uint64_t seed) {
  return std::make_unique<MapSweep>(options, seed);
}

}  // namespace sinkscope::app
