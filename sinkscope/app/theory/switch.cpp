#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "sinkscope/app/theory/make.h"
#include "sinkscope/app/theory/switch_heads.h"
#include "sinkscope/base/error.h"
#include "sinkscope/theory/attention_switch.h"
#include "sinkscope/theory/geometry.h"

namespace sinkscope::app {
namespace {

using store::SheetRow;

constexpr const char* kMarginTable = "margins";
constexpr const char* kNeededTable = "needed";
constexpr int64_t kMostOthers = 1 << 22;
constexpr double kMostMargin = 700;  // e^-margin is still a number
constexpr double kRounding = 1e-12;

/// Attention on key 0 by the softmax itself, all other keys `margin` below it.
double softmax_at(double margin, int64_t others) {
  std::vector<double> logits(static_cast<size_t>(others) + 1);
  logits[0] = margin;
  return theory::softmax(logits)[0];
}

/// The same when the others trail by that margin or more.
double softmax_below(double margin, int64_t others, std::mt19937_64& random) {
  std::exponential_distribution<double> below;
  std::vector<double> logits(static_cast<size_t>(others) + 1);
  for (double& logit : logits) logit = -below(random);
  logits[0] = margin;
  return theory::softmax(logits)[0];
}

/// Unit 0 makes the tables of margins and examples, the others draw heads.
class Switch : public Calculator {
 public:
  Switch(const SwitchOptions& options, uint64_t seed)
      : options_(options),
        seed_(seed),
        others_(read_numbers(options.others, "--keys", 1, kMostOthers)),
        heads_(options.heads, seed) {
    for (const double margin : options.margins) {
      if (std::abs(margin) <= kMostMargin) continue;
      throw Error(ErrorKind::kUsage, "read flags", fmt::format("--kappa {}", margin),
                  fmt::format("-{} to {}", kMostMargin, kMostMargin));
    }
    for (const double epsilon : options.epsilons) {
      if (epsilon > 0 && epsilon < 1) continue;
      throw Error(ErrorKind::kUsage, "read flags", fmt::format("--epsilon {}", epsilon),
                  "a number between 0 and 1");
    }
  }

  store::Facts settings() const override {
    return {{"kappa", nlohmann::json(options_.margins).dump()},
            {"keys", nlohmann::json(others_).dump()},
            {"epsilon", nlohmann::json(options_.epsilons).dump()},
            {"random", std::to_string(options_.heads)}};
  }

  std::vector<store::SheetTable> tables() const override {
    return {
        {kMarginTable,
         "Attention on the sink from its lead in the logits",
         {{"kappa", "", "lead over every other key"},
          {"keys", "", "other keys, i"},
          {"bound", "", "A_i0 >= 1 / (1 + i e^-kappa) (method.md section 7)"},
          {"softmax", "", "softmax of logits that trail by exactly kappa: the bound is attained"},
          {"softmax_below", "",
           "softmax when they trail by kappa plus an exponential number of mean 1"}}},
        {kNeededTable,
         "Lead that a sink needs",
         {{"keys", "", "other keys, i"},
          {"epsilon", "", "wanted: attention 1 - epsilon"},
          {"kappa", "", "log(i (1 - epsilon) / epsilon)"},
          {"attention", "", "softmax at that lead: 1 - epsilon"}}},
        switch_examples_table(),
        RandomHeads::bounds_table(),
        RandomHeads::table(),
        checks_table()};
  }

  std::vector<store::SheetPlot> plots() const override {
    return {{"lines",
             kMarginTable,
             "Attention on the sink from its lead",
             "kappa",
             "bound",
             {"keys"},
             "",
             "",
             "",
             ""}};
  }

  int64_t units() const override { return 1 + heads_.units(); }

  std::vector<SheetRow> run(int64_t unit) const override {
    if (unit > 0) return heads_.run(unit - 1);
    std::vector<SheetRow> rows;
    std::mt19937_64 random(unit_seed(seed_, unit, kBelowPurpose));
    for (const int64_t others : others_) {
      const auto count = static_cast<double>(others);
      for (const double margin : options_.margins) {
        rows.push_back({kMarginTable,
                        {margin, count, theory::attention_from_margin(margin, count),
                         softmax_at(margin, others), softmax_below(margin, others, random)}});
      }
      for (const double epsilon : options_.epsilons) {
        const double margin = theory::margin_needed(count, epsilon);
        rows.push_back({kNeededTable, {count, epsilon, margin, softmax_at(margin, others)}});
      }
    }
    const std::vector<SheetRow> examples = switch_examples();
    rows.insert(rows.end(), examples.begin(), examples.end());
    return rows;
  }

  Conclusion conclude(const store::SheetStore& sheet) const override {
    Conclusion conclusion;
    conclusion.rows = {margin_row(sheet), needed_row(sheet), test_value_row()};
    for (SheetRow& row : switch_example_checks()) conclusion.rows.push_back(std::move(row));
    conclusion.findings = {
        "An output of 0 without a sink takes values that cancel (no half-space holds them) or a "
        "query that attends to itself with value 0; each breaks a premise of Theorem C.",
        "Values that all lie on one side of a plane, the sink's too, have no switch: whatever the "
        "attention, ||ctx|| >= dist(0, conv{v_0 .. v_T})."};
    if (heads_.units() > 0) {
      heads_.conclude(sheet, conclusion);
    } else {
      conclusion.findings.push_back("--random checks the bounds of Theorem C on random heads.");
    }
    return conclusion;
  }

 private:
  static constexpr uint64_t kBelowPurpose = 1;

  static SheetRow margin_row(const store::SheetStore& sheet) {
    double off = 0, under = 0;
    for (const SheetRow& row : sheet.rows(kMarginTable)) {
      const auto value = [&](size_t c) { return std::get<double>(row.cells[c]); };
      off = std::max(off, std::abs(value(3) - value(2)));
      under = std::max(under, value(2) - value(4));
    }
    return check_row("attention from a lead: attained by softmax, never below",
                     fmt::format("within {}", kRounding),
                     fmt::format("{:.1e} off, {:.1e} below", off, std::max(0.0, under)),
                     off <= kRounding && under <= kRounding);
  }

  static SheetRow needed_row(const store::SheetStore& sheet) {
    double off = 0;
    for (const SheetRow& row : sheet.rows(kNeededTable)) {
      const auto value = [&](size_t c) { return std::get<double>(row.cells[c]); };
      off = std::max(off, std::abs(value(3) - (1 - value(1))));
    }
    return check_row("the lead needed gives attention 1 - epsilon",
                     fmt::format("within {}", kRounding), fmt::format("{:.1e} off", off),
                     off <= kRounding);
  }

  static SheetRow test_value_row() {
    struct TestValue {
      double others, epsilon, margin;
    };
    // method.md section 7, test values.
    constexpr TestValue kTestValues[] = {
        {63, 0.1, 6.3404}, {63, 0.3, 4.9904}, {63, 0.5, 4.1431}, {1023, 0.3, 7.7778}};
    double off = 0;
    for (const TestValue& value : kTestValues) {
      const double margin = theory::margin_needed(value.others, value.epsilon);
      off = std::max(off, std::abs(margin - value.margin));
    }
    return check_row("kappa for i = 63: 6.3404, 4.9904, 4.1431; i = 1023: 7.7778", "within 5e-5",
                     fmt::format("{:.1e} off at worst", off), off <= 5e-5);
  }

  SwitchOptions options_;
  uint64_t seed_;
  std::vector<int64_t> others_;
  RandomHeads heads_;
};

}  // namespace

std::unique_ptr<Calculator> make_switch(const TheoryOptions& options, Console&) {
  return std::make_unique<Switch>(options.attention_switch, options.seed);
}

}  // namespace sinkscope::app
