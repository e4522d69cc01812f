#include "sinkscope/theory/geometry.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sinkscope/app/theory/make.h"
#include "sinkscope/app/theory/tokens.h"
#include "sinkscope/theory/cost_program.h"

namespace sinkscope::app {
namespace {

using store::SheetRow;
using theory::HullVerdict;

constexpr const char* kTable = "geometry";
constexpr double kCheckTolerance = 1e-9;  // of a margin recomputed from the tokens

std::string verdict_text(HullVerdict verdict) {
  switch (verdict) {
    case HullVerdict::kApart: return "yes";
    case HullVerdict::kWithin: return "no";
    case HullVerdict::kUndecided: return "undecided";
  }
  return "undecided";
}

/// Certificates of given sets of tokens.
class Geometry : public Calculator {
 public:
  Geometry(const GeometryOptions& options, uint64_t seed, Console& console)
      : options_(options), tokens_(token_cases(options.cloud, seed, console)) {}

  store::Facts settings() const override {
    store::Facts facts = tokens_.settings;
    facts["hull_tolerance"] = nlohmann::json(options_.hull_tolerance).dump();
    facts["epsilon"] = nlohmann::json(options_.epsilon).dump();
    return facts;
  }

  std::vector<store::SheetTable> tables() const override {
    return {
        {kTable,
         "Can one W_QK make token 0 the sink of tokens 1 .. T?",
         {{"tokens", "", "which tokens"},
          {"T", "", "context tokens beside the sink"},
          {"d", "", "their width"},
          {"representable", "", "yes: both half-space conditions hold (method.md 7, Theorem A)"},
          {"H1", "", "z_0 - z_j lie in an open half-space"},
          {"H2", "", "z_i lie in an open half-space"},
          {"margin_d", "", "dist(0, conv{z_0 - z_j})"},
          {"margin_z", "", "dist(0, conv{z_i})"},
          {"gap", "", "largest relative gap of the two certificates"},
          {"max_cosine", "", "largest cos(z_0, z_i)"},
          {"duplicates", "", "tokens equal to the sink"},
          {"cost", "",
           "least |W| for a lead of 1 in every logit, in every Schatten norm: 1 / (margin_z "
           "margin_d) (Theorem B)"},
          {"checked_margin", "",
           "least z_i^T W (z_0 - z_j), j <= i, of that W from the raw tokens"},
          {"lead_needed", "", "lead that gives attention 1 - epsilon among T keys"},
          {"u", "", "W = u v^T"},
          {"v", "", "W = u v^T"},
          {"tokens_z", "", "tokens of the certificate of H2, 1 .. T"},
          {"weights_z", "", "their convex weights: sum is the nearest point, or 0"},
          {"tokens_d", "", "tokens of the certificate of H1, 1 .. T"},
          {"weights_d", "", "their convex weights"}}},
        checks_table()};
  }

  std::vector<store::SheetPlot> plots() const override {
    store::SheetPlot margins{"log-log", kTable, "Least W_QK of a sink by number of tokens",
                             "T",       "cost", {"tokens"}};
    return {margins};
  }

  int64_t units() const override { return std::ssize(tokens_.cases); }

  std::vector<SheetRow> run(int64_t unit) const override {
    const TokenCase& tokens = tokens_.cases[static_cast<size_t>(unit)];
    const theory::Cloud cloud = tokens.make();
    const theory::SinkCertificate c =
        theory::sink_certificate(cloud, {.tolerance = options_.hull_tolerance});
    const theory::SinkCosine cosine = theory::sink_cosine(cloud);
    const double none = diagnostics::kNoData;
    return {{kTable,
             {tokens.source,
              static_cast<double>(tokens.tokens),
              static_cast<double>(tokens.width),
              c.undecided()       ? "undecided"
              : c.representable() ? "yes"
                                  : "no",
              verdict_text(c.leads.verdict),
              verdict_text(c.queries.verdict),
              margin_of(c.leads),
              margin_of(c.queries),
              std::max(c.queries.gap, c.leads.gap),
              cosine.largest,
              static_cast<double>(cosine.duplicates),
              c.representable() ? 1 / (c.queries.margin * c.leads.margin) : none,
              c.checked,
              theory::margin_needed(static_cast<double>(tokens.tokens), options_.epsilon),
              c.u,
              c.v,
              places_of(c.queries),
              c.queries.weights,
              places_of(c.leads),
              c.leads.weights}}};
  }

  Conclusion conclude(const store::SheetStore& sheet) const override {
    int64_t yes = 0, no = 0, undecided = 0;
    double worst = 0;
    for (const SheetRow& row : sheet.rows(kTable)) {
      const std::string& verdict = std::get<std::string>(row.cells[3]);
      ++(verdict == "yes" ? yes : verdict == "no" ? no : undecided);
      const double checked = std::get<double>(row.cells[12]);
      if (std::isfinite(checked)) worst = std::max(worst, 1 - checked);
    }
    Conclusion conclusion;
    conclusion.rows = {
        check_row("W = u v^T leads by 1 at every pair, recomputed from the tokens", ">= 1 - 1e-9",
                  yes > 0 ? fmt::format("1 - {:.1e} at worst", worst) : "no W to check",
                  worst <= kCheckTolerance)};
    conclusion.findings = {fmt::format(
        "{} of {} sets of tokens can have a sink at token 0{}.", yes, yes + no + undecided,
        undecided > 0 ? fmt::format(", {} are undecided", undecided) : "")};
    return conclusion;
  }

 private:
  static double margin_of(const theory::MinNormPoint& nearest) {
    return nearest.verdict == HullVerdict::kUndecided ? diagnostics::kNoData : nearest.margin;
  }
  static std::vector<double> places_of(const theory::MinNormPoint& nearest) {
    std::vector<double> places;
    for (const int64_t i : nearest.support) places.push_back(static_cast<double>(i + 1));
    return places;
  }

  GeometryOptions options_;
  TokenCases tokens_;
};

constexpr const char* kRandomTable = "random";

/// Theorem A and Wendel's probability on tokens with normal entries.
class RandomGeometry : public Calculator {
 public:
  RandomGeometry(const GeometryOptions& options, uint64_t seed) : options_(options), seed_(seed) {
    const std::string widths = options.cloud.widths.empty() ? "4,8" : options.cloud.widths;
    for (const int64_t width : read_numbers(widths, "--d", 1, 64)) {
      for (const int64_t tokens : read_numbers(options.cloud.tokens, "--T", 1, 256)) {
        sizes_.push_back({width, tokens});
      }
    }
  }

  store::Facts settings() const override {
    return {{"random", "true"},
            {"T", nlohmann::json(options_.cloud.tokens).dump()},
            {"d", nlohmann::json(options_.cloud.widths).dump()},
            {"draws", std::to_string(options_.draws)},
            {"hull_tolerance", nlohmann::json(options_.hull_tolerance).dump()}};
  }

  std::vector<store::SheetTable> tables() const override {
    return {{kRandomTable,
             "Random tokens: how often can there be a sink?",
             {{"d", "", "width"},
              {"T", "", "context tokens"},
              {"draws", "", "sets of tokens with normal entries"},
              {"H2", "share", "sets whose z_i lie in an open half-space"},
              {"wendel", "share", "its probability, 2^-(T-1) sum_{k<d} C(T-1, k) (Wendel 1962)"},
              {"standard_error", "share", "sqrt(p (1 - p) / draws) of that probability"},
              {"H1", "share", "sets whose z_0 - z_j do"},
              {"representable", "share", "sets with both"},
              {"feasible", "share",
               "sets for which the margin program itself, over all pairs, has a solution"},
              {"disagreements", "", "sets where the last two differ (Theorem A: none)"},
              {"undecided", "", "sets with a certificate that was not reached"}}},
            checks_table()};
  }

  std::vector<store::SheetPlot> plots() const override {
    store::SheetPlot shares{"lines", kRandomTable, "Tokens in a half-space", "T", "H2", {"d"}};
    return {shares};
  }

  int64_t units() const override { return std::ssize(sizes_); }

  std::vector<SheetRow> run(int64_t unit) const override {
    const auto [width, count] = sizes_[static_cast<size_t>(unit)];
    std::mt19937_64 random(unit_seed(seed_, unit));
    std::normal_distribution<double> normal;
    const theory::MinNormOptions hull{.tolerance = options_.hull_tolerance};
    double h1 = 0, h2 = 0, both = 0, feasible = 0, disagreements = 0, undecided = 0;
    for (int64_t draw = 0; draw < options_.draws; ++draw) {
      theory::Cloud cloud{std::vector<double>(static_cast<size_t>((count + 1) * width)), width};
      for (double& entry : cloud.entries) entry = normal(random);
      const theory::SinkCertificate c = theory::sink_certificate(cloud, hull);
      const HullVerdict pairs =
          theory::pair_hull(cloud, theory::sink_pattern(count, true), hull).verdict;
      h1 += c.leads.verdict == HullVerdict::kApart;
      h2 += c.queries.verdict == HullVerdict::kApart;
      both += c.representable();
      feasible += pairs == HullVerdict::kApart;
      if (c.undecided() || pairs == HullVerdict::kUndecided) {
        ++undecided;
      } else {
        disagreements += c.representable() != (pairs == HullVerdict::kApart);
      }
    }
    const auto n = static_cast<double>(options_.draws);
    const double p = theory::wendel_probability(width, count);
    return {
        {kRandomTable,
         {static_cast<double>(width), static_cast<double>(count), n, h2 / n, p,
          std::sqrt(p * (1 - p) / n), h1 / n, both / n, feasible / n, disagreements, undecided}}};
  }

  Conclusion conclude(const store::SheetStore& sheet) const override {
    double sets = 0, disagreements = 0, undecided = 0, worst = 0;
    for (const SheetRow& row : sheet.rows(kRandomTable)) {
      const auto value = [&](size_t c) { return std::get<double>(row.cells[c]); };
      sets += value(2), disagreements += value(9), undecided += value(10);
      const double off = std::abs(value(3) - value(4));
      // Certain events have no spread: any miss counts.
      worst = std::max(worst, value(5) > 0 ? off / value(5) : off > 0 ? HUGE_VAL : 0.0);
    }
    Conclusion conclusion;
    conclusion.rows = {
        check_row("Theorem A: H1 and H2 agree with the margin program", "0 disagreements",
                  fmt::format("{} of {} sets, {} undecided", disagreements, sets, undecided),
                  disagreements == 0),
        check_row("H2 as often as Wendel's formula says", "within 4 standard errors",
                  fmt::format("{:.2f} at worst over {} sizes", worst, sizes_.size()), worst <= 4)};
    conclusion.findings = {fmt::format(
        "On {} random sets of tokens the two half-space conditions and the margin program {}.",
        sets, disagreements == 0 ? "never disagree" : "disagree")};
    return conclusion;
  }

 private:
  GeometryOptions options_;
  uint64_t seed_;
  std::vector<std::pair<int64_t, int64_t>> sizes_;  // width, T
};

}  // namespace

std::unique_ptr<Calculator> make_geometry(const TheoryOptions& options, Console& console) {
  if (options.geometry.random) {
    return std::make_unique<RandomGeometry>(options.geometry, options.seed);
  }
  return std::make_unique<Geometry>(options.geometry, options.seed, console);
}

}  // namespace sinkscope::app
