#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sinkscope/app/theory/cone_checks.h"
#include "sinkscope/base/error.h"
#include "sinkscope/theory/cone.h"

namespace sinkscope::app {
namespace {

using store::SheetRow;

constexpr const char* kTable = "norm_stability";
constexpr double kChannels = 4;       // as in the test value of method.md section 12
constexpr double kFirstOrder = 0.05;  // claims.md C8

theory::Turn turn(double norm, double step) {
  return theory::turn_of(norm * norm, norm * step, kChannels * step * step);
}

void check_numbers(const std::vector<double>& numbers, const char* flag, double least) {
  for (const double number : numbers) {
    if (number >= least && number <= 1e9) continue;
    throw Error(ErrorKind::kUsage, "read flags", fmt::format("{} {}", flag, number),
                fmt::format("numbers from {} to 1e9", least));
  }
}

/// x lies along the first channel, dx has the same size in each of four.
class NormStability : public Calculator {
 public:
  explicit NormStability(const ConeOptions& options) : options_(options) {
    check_numbers(options.norms, "--x-norm", 1e-9);
    check_numbers(options.steps, "--dx", 1e-9);
  }

  store::Facts settings() const override {
    return {{"norm_stability", "true"},
            {"x_norm", nlohmann::json(options_.norms).dump()},
            {"dx", nlohmann::json(options_.steps).dump()}};
  }

  std::vector<store::SheetTable> tables() const override {
    return {{kTable,
             "How far an update dx turns a normed vector: x along one of 4 channels",
             {{"x_norm", "", "||x|| before the update"},
              {"dx", "", "size of the update in each channel"},
              {"change", "", "||Norm(x + dx) - Norm(x)||, unit norm; RMSNorm: sqrt(d) times that"},
              {"first_order", "", "||dx_perp|| / ||x|| (2603.06591 v2)"},
              {"error", "", "||Norm(x + dx) - Norm(x) - dx_perp / ||x|| ||"},
              {"relative_error", "share", "error / change"},
              {"holds", "", "yes: the first order is right to 5 %"}}},
            checks_table()};
  }

  std::vector<store::SheetPlot> plots() const override {
    return {{"log-log",
             kTable,
             "An update turns a longer vector less",
             "x_norm",
             "change",
             {"dx"},
             "",
             "",
             "",
             ""}};
  }

  int64_t units() const override { return std::ssize(options_.steps); }

  std::vector<SheetRow> run(int64_t unit) const override {
    const double step = options_.steps[static_cast<size_t>(unit)];
    std::vector<SheetRow> rows;
    for (const double norm : options_.norms) {
      const theory::Turn t = turn(norm, step);
      const double share = t.error / t.size;
      rows.push_back(
          {kTable,
           {norm, step, t.size, t.first, t.error, share, share <= kFirstOrder ? "yes" : "no"}});
    }
    return rows;
  }

  Conclusion conclude(const store::SheetStore& sheet) const override {
    const theory::Turn known = turn(100, 0.5);
    Conclusion conclusion;
    conclusion.rows = {
        check_row("x = (100, 0, 0, 0), dx = 0.5 in each channel", "change 9e-3, error 6e-5",
                  fmt::format("change {:.2e}, error {:.1e}", known.size, known.error),
                  std::abs(known.size - 9e-3) <= 5e-4 && std::abs(known.error - 6e-5) <= 5e-6),
        check_row("there the first order is right", "to 5 %",
                  fmt::format("{:.2g} %", 100 * known.error / known.size),
                  known.error <= kFirstOrder * known.size)};
    int64_t holds = 0, all = 0;
    double longest_off = 0;
    for (const SheetRow& row : sheet.rows(kTable)) {
      ++all;
      if (std::get<std::string>(row.cells[6]) == "yes") {
        ++holds;
      } else {
        longest_off =
            std::max(longest_off, std::get<double>(row.cells[0]) / std::get<double>(row.cells[1]));
      }
    }
    conclusion.findings = {
        "The turn falls as 1 / ||x||: the same update moves a massive position's direction less "
        "than a typical one's.",
        fmt::format("dx_perp / ||x|| is right to 5 % in {} of {} cases{}.", holds, all,
                    holds == all
                        ? ""
                        : fmt::format("; with ||x|| above {:.3g} dx it always is", longest_off))};
    return conclusion;
  }

 private:
  ConeOptions options_;
};

}  // namespace

std::unique_ptr<Calculator> make_norm_stability(const ConeOptions& options) {
  return std::make_unique<NormStability>(options);
}

}  // namespace sinkscope::app
