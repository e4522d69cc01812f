#include <fmt/format.h>

#include <cmath>

#include "sinkscope/app/theory/switch_heads.h"
#include "sinkscope/theory/attention_switch.h"
#include "sinkscope/theory/clouds.h"

namespace sinkscope::app {
namespace {

using store::SheetRow;

constexpr const char* kTable = "examples";

/// Two-dimensional values, the sink's first; the last key is the query itself.
struct Example {
  const char* name;
  std::vector<double> values, attention;
  const char* reading;
};

std::vector<Example> examples() {
  return {
      {"sink", {0, 0, 0.8, 0.6, 0.8, -0.6}, {1, 0, 0}, "the switch itself: nothing is broken"},
      {"near sink",
       {0, 0, 0.8, 0.6, 0.8, -0.6},
       {0.95, 0.025, 0.025},
       "nothing is broken: the bound is attained"},
      {"mixture",
       {0, 0, 1, 0, -1, 0},
       {0, 0.5, 0.5},
       "gV > 0: no half-space holds the values, and they are dependent"},
      {"self with zero value",
       {0, 0, 1, 0, 0, 0},
       {0, 0, 1},
       "v_i = 0: a key that active queries attend to has a value; gV = 0"},
      {"opposed sink",
       {-1, 0, 1, 0, 1, 0},
       {0.5, 0.25, 0.25},
       "w.v_s >= 0: the sink's value cancels the others'"},
      {"half-space without switch",
       {0.5, 0, 0.8, 0.6, 0.8, -0.6},
       {1, 0, 0},
       "nothing: all values lie on one side, so no attention makes 0"},
  };
}

std::string vector_text(std::span<const double> v) {
  return fmt::format("({:g}, {:g})", v[0], v[1]);
}

struct Numbers {
  theory::SwitchPremises premises;
  theory::SwitchOutput output;
  theory::SwitchBounds bounds;
};

Numbers numbers_of(const Example& example) {
  const theory::PointSet values{example.values, 2};
  Numbers numbers{
      theory::switch_premises(values), theory::switch_output(values, example.attention), {}};
  numbers.bounds = theory::switch_bounds(numbers.premises, values.count() - 1, numbers.output);
  return numbers;
}

double cancellation(const theory::SwitchOutput& output) {
  return output.uncancelled > 0 ? output.norm / output.uncancelled : diagnostics::kNoData;
}

}  // namespace

store::SheetTable switch_examples_table() {
  return {kTable,
          "Outputs at or near zero, and the premise that each breaks",
          {{"case", "", "name"},
           {"values", "", "v_s, then v_1, v_2; key 2 is the query itself"},
           {"attention", "", "A_is, A_i1, A_i2"},
           {"ctx", "", "||sum_j A_ij v_j||"},
           {"off", "", "ctx / mean of ||v_1||, ||v_2||; dormant: <= 0.1"},
           {"A_sink", "", "attention on the sink"},
           {"A_self", "", "attention on the query itself"},
           {"rho", "", "ctx / sum_j A_ij ||v_j||: 1 where nothing cancels"},
           {"gV", "", "dist(0, conv{v_1, v_2}); 0: no half-space holds them"},
           {"g_all", "", "dist(0, conv{v_s, v_1, v_2}); > 0: no attention gives 0"},
           {"bound", "", "gV (1 - A_is) <= ctx, where the premise holds"},
           {"premise", "", "of Theorem C that it breaks"}}};
}

std::vector<SheetRow> switch_examples() {
  std::vector<SheetRow> rows;
  for (const Example& example : examples()) {
    const auto [premises, output, bounds] = numbers_of(example);
    const theory::PointSet values{example.values, 2};
    rows.push_back({kTable,
                    {example.name,
                     fmt::format("{} {} {}", vector_text(values.point(0)),
                                 vector_text(values.point(1)), vector_text(values.point(2))),
                     fmt::format("{:g}", fmt::join(example.attention, ", ")), output.norm,
                     output.off, output.sink, example.attention.back(), cancellation(output),
                     premises.half_space, premises.all_apart, bounds.half_space, example.reading}});
  }
  return rows;
}

std::vector<SheetRow> switch_example_checks() {
  const std::vector<Example> all = examples();
  const auto find = [&](std::string_view name) {
    for (const Example& example : all) {
      if (example.name == name) return numbers_of(example);
    }
    return Numbers{};
  };
  const Numbers near = find("near sink"), mixture = find("mixture"),
                self = find("self with zero value"), apart = find("half-space without switch");
  return {check_row("mixture of values: ctx = 0 without the sink", "rho 0, gV 0",
                    fmt::format("rho {:g}, gV {:g}", cancellation(mixture.output),
                                mixture.premises.half_space),
                    mixture.output.norm == 0 && mixture.premises.half_space == 0),
          check_row("self with zero value: ctx = 0 without the sink", "ctx 0, gV 0",
                    fmt::format("ctx {:g}, gV {:g}", self.output.norm, self.premises.half_space),
                    self.output.norm == 0 && self.premises.half_space == 0),
          check_row("A_is = 0.95, unit values at x_1 >= 0.8", "off from 0.04 to 0.05",
                    fmt::format("{:.9g}", near.output.off),
                    near.output.off >= 0.04 - 1e-12 && near.output.off <= 0.05),
          check_row("all values on one side: no switch", "dist(0, conv) = 0.5",
                    fmt::format("{:.9g}", apart.premises.all_apart),
                    std::abs(apart.premises.all_apart - 0.5) <= 1e-12)};
}

}  // namespace sinkscope::app
