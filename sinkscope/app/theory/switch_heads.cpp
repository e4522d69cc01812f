#include "sinkscope/app/theory/switch_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "sinkscope/theory/attention_switch.h"
#include "sinkscope/theory/clouds.h"

namespace sinkscope::app {
namespace {

using store::SheetRow;
using theory::Cloud;

constexpr const char* kTable = "random_heads";
constexpr const char* kBoundsTable = "bounds";
constexpr double kSlack = 1e-6;         // relative; method.md section 10
constexpr double kAttained = 1 - 1e-6;  // ratio of a bound that is tight
constexpr int64_t kBlock = 2000;        // heads of a unit
constexpr std::array<int64_t, 3> kWidths = {2, 8, 32};

struct Bound {
  const char* name;
  const char* statement;
  double theory::SwitchBounds::*side;
  bool upper;
};
constexpr Bound kBounds[] = {
    {"half-space", "gV (1 - A_is) <= ||ctx||, where gV > 0 and w.v_s >= 0",
     &theory::SwitchBounds::half_space, false},
    {"independent",
     "sigma_min (1 - A_is) / sqrt(i) <= ||ctx||, where v_1..v_i are independent, v_s = 0",
     &theory::SwitchBounds::independent, false},
    {"no switch", "dist(0, conv{v_0..v_T}) <= ||ctx||, where a half-space holds all values",
     &theory::SwitchBounds::all_apart, false},
    {"converse", "||ctx|| <= A_is ||v_s|| + (1 - A_is) max ||v_j||, always",
     &theory::SwitchBounds::upper, true},
};

/// How the values of a head are drawn.
struct Kind {
  const char* name;
  const char* definition;
  double shift;      // along the first axis, times sqrt(width)
  bool zero_sink;    // v_s = 0
  bool orthonormal;  // v_1..v_T are axes
};
constexpr Kind kKinds[] = {
    {"isotropic", "normal entries, v_s too", 0, false, false},
    {"isotropic, zero sink", "normal entries, v_s = 0", 0, true, false},
    {"one side", "a common part, v_s too", 1, false, false},
    {"one side, zero sink", "a common part, v_s = 0", 1, true, false},
    {"orthonormal, zero sink", "v_j = e_j, v_s = 0", 0, true, true},
};

Cloud draw_values(const Kind& kind, int64_t width, std::mt19937_64& random) {
  const int64_t most = kind.orthonormal ? width : 24;
  const int64_t others = std::uniform_int_distribution<int64_t>(1, most)(random);
  std::normal_distribution<double> normal;
  Cloud values{std::vector<double>(static_cast<size_t>((others + 1) * width)), width};
  const double shift = kind.shift * std::sqrt(static_cast<double>(width));
  for (int64_t j = kind.zero_sink ? 1 : 0; j <= others; ++j) {
    const std::span<double> v =
        std::span(values.entries)
            .subspan(static_cast<size_t>(j * width), static_cast<size_t>(width));
    if (kind.orthonormal) {
      v[static_cast<size_t>(j - 1)] = 1;
      continue;
    }
    for (double& entry : v) entry = normal(random);
    v[0] += shift;
  }
  return values;
}

/// `rest` over the other keys scaled to leave `sink` to key 0.
std::vector<double> with_sink(double sink, std::vector<double> rest) {
  for (double& weight : rest) weight *= 1 - sink;
  rest.insert(rest.begin(), sink);
  return rest;
}

/// Random queries from diffuse to sharp, and the ones at which bounds are attained: the shortest
/// mixtures, all on the longest value, the uniform one.
std::vector<std::vector<double>> draw_queries(const theory::SwitchPremises& premises,
                                              const Cloud& values, std::mt19937_64& random) {
  const auto others = static_cast<size_t>(values.count() - 1);
  std::uniform_real_distribution<double> unit(0, 1);
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> queries;
  for (const double sharpness : {0.3, 1.0, 3.0, 10.0}) {
    std::vector<double> logits(others + 1);
    for (double& logit : logits) logit = sharpness * normal(random);
    queries.push_back(theory::softmax(logits));
  }
  const double near = 1 - std::pow(10, -6 * unit(random));  // 1 - A_is from 1 down to 1e-6
  queries.push_back(with_sink(near, premises.shortest));
  queries.push_back(premises.shortest_all);
  queries.push_back(
      with_sink(unit(random), std::vector<double>(others, 1 / static_cast<double>(others))));
  std::vector<double> longest(others);
  double most = -1;
  size_t at = 0;
  for (size_t j = 0; j < others; ++j) {
    double square = 0;
    for (const double entry : values.token(static_cast<int64_t>(j) + 1)) square += entry * entry;
    if (square > most) most = square, at = j;
  }
  longest[at] = 1;
  queries.push_back(with_sink(unit(random), longest));
  return queries;
}

struct Tally {
  double heads = 0, queries = 0, violations = 0, tightest = 0;
};

}  // namespace

RandomHeads::RandomHeads(int64_t heads, uint64_t seed) : seed_(seed) {
  const auto groups = static_cast<int64_t>(std::size(kKinds) * kWidths.size());
  const int64_t each = (heads + groups - 1) / groups;
  for (size_t kind = 0; heads > 0 && kind < std::size(kKinds); ++kind) {
    for (const int64_t width : kWidths) {
      for (int64_t done = 0; done < each; done += kBlock) {
        units_.push_back({kind, width, std::min(kBlock, each - done)});
      }
    }
  }
}

store::SheetTable RandomHeads::table() {
  return {kTable,
          "Random heads: Theorem C by kind of values",
          {{"values", "", "how v_s and v_1 .. v_T are drawn, T from 1 to 24"},
           {"d", "", "width of the values"},
           {"bound", "", "of the table of bounds"},
           {"heads", "", "heads drawn that meet its premise"},
           {"queries", "", "rows of attention tested: random ones and those at which it is tight"},
           {"violations", "", "queries that break it by more than 1e-6 relative"},
           {"tightest", "", "largest ratio of the smaller side to the larger; 1: attained"}}};
}

store::SheetTable RandomHeads::bounds_table() {
  return {kBoundsTable,
          "Theorem C of method.md section 10 on all random heads",
          {{"bound", "", "name"},
           {"statement", "", "what must hold"},
           {"heads", "", "heads that meet its premise"},
           {"queries", "", "rows of attention tested"},
           {"violations", "", "queries that break it by more than 1e-6 relative"},
           {"tightest", "", "largest ratio of the smaller side to the larger; 1: attained"}}};
}

std::vector<SheetRow> RandomHeads::run(int64_t index) const {
  const Unit& unit = units_[static_cast<size_t>(index)];
  const Kind& kind = kKinds[unit.kind];
  std::mt19937_64 random(unit_seed(seed_, index));
  std::array<Tally, std::size(kBounds)> tallies{};
  for (int64_t head = 0; head < unit.heads; ++head) {
    const Cloud values = draw_values(kind, unit.width, random);
    const theory::SwitchPremises premises = theory::switch_premises(values);
    std::array<bool, std::size(kBounds)> met{};
    for (const std::vector<double>& attention : draw_queries(premises, values, random)) {
      const theory::SwitchOutput output = theory::switch_output(values, attention);
      const theory::SwitchBounds bounds =
          theory::switch_bounds(premises, values.count() - 1, output);
      for (size_t b = 0; b < std::size(kBounds); ++b) {
        const double side = bounds.*kBounds[b].side;
        if (std::isnan(side)) continue;
        const double least = kBounds[b].upper ? output.norm : side,
                     most = kBounds[b].upper ? side : output.norm;
        met[b] = true;
        ++tallies[b].queries;
        tallies[b].violations += least > most * (1 + kSlack);
        if (most > 0) tallies[b].tightest = std::max(tallies[b].tightest, least / most);
      }
    }
    for (size_t b = 0; b < met.size(); ++b) tallies[b].heads += met[b];
  }
  std::vector<SheetRow> rows;
  for (size_t b = 0; b < tallies.size(); ++b) {
    const Tally& tally = tallies[b];
    if (tally.queries == 0) continue;
    rows.push_back({kTable,
                    {kind.name, static_cast<double>(unit.width), kBounds[b].name, tally.heads,
                     tally.queries, tally.violations, tally.tightest}});
  }
  return rows;
}

void RandomHeads::conclude(const store::SheetStore& sheet,
                           Calculator::Conclusion& conclusion) const {
  std::array<Tally, std::size(kBounds)> totals{};
  for (const SheetRow& row : sheet.rows(kTable)) {
    const auto value = [&](size_t c) { return std::get<double>(row.cells[c]); };
    for (size_t b = 0; b < std::size(kBounds); ++b) {
      if (std::get<std::string>(row.cells[2]) != kBounds[b].name) continue;
      totals[b].heads += value(3), totals[b].queries += value(4), totals[b].violations += value(5);
      totals[b].tightest = std::max(totals[b].tightest, value(6));
    }
  }
  double queries = 0, violations = 0, least_tight = 1;
  for (size_t b = 0; b < totals.size(); ++b) {
    const Tally& total = totals[b];
    conclusion.rows.push_back({kBoundsTable,
                               {kBounds[b].name, kBounds[b].statement, total.heads, total.queries,
                                total.violations, total.tightest}});
    queries += total.queries, violations += total.violations;
    if (total.queries > 0) least_tight = std::min(least_tight, total.tightest);
  }
  conclusion.rows.push_back(check_row("Theorem C on random heads", "0 violations",
                                      fmt::format("{} of {} bounds tested", violations, queries),
                                      violations == 0));
  conclusion.rows.push_back(check_row("each of its bounds is attained", "ratio 1",
                                      fmt::format("{:.9f}", least_tight),
                                      least_tight >= kAttained));
  conclusion.findings.push_back(fmt::format(
      "{} in {} tests on random heads. Where the values lie in a half-space or are independent, "
      "and the sink's value is 0, an output near zero is attention on the sink.",
      violations == 0 ? "No bound of Theorem C is broken" : "A bound of Theorem C is broken",
      queries));
}

}  // namespace sinkscope::app
