#include "sinkscope/theory/cone.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sinkscope/app/theory/array.h"
#include "sinkscope/app/theory/cone_checks.h"
#include "sinkscope/app/theory/make.h"
#include "sinkscope/base/error.h"
#include "sinkscope/base/sha256.h"
#include "sinkscope/theory/cone_draws.h"

namespace sinkscope::app {
namespace {

using store::SheetRow;

constexpr const char* kPositions = "positions";
constexpr const char* kAsymmetry = "asymmetry";
constexpr int64_t kMostPositions = 1024;  // a draw costs T^2 d
constexpr int64_t kMostWidth = 4096;
constexpr int64_t kAllShown = 64;  // more positions: those up to 4, powers of two and the last
constexpr double kErrors = 5;      // standard errors that a measured mean may be off
constexpr double kRowSum = 1e-3;   // of a row of weights: float16 rounding
constexpr uint64_t kIdentityPurpose = 1;

/// p_t of every position as rows [T, T].
struct Attention {
  std::string name;
  std::vector<double> weights;
  int64_t positions = 0;
  bool causal = true;
};

[[noreturn]] void refuse_attention(const std::string& text) {
  throw Error(ErrorKind::kUsage, "read flags", fmt::format("--attention {}", text),
              "uniform, local:W with W >= 1, sink:A with A from 0 to 1, a .npy file or "
              "FILE.safetensors:NAME with rows of weights [T, T]");
}

double number_after(const std::string& text, size_t at, double least, double most) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data() + at, end, value);
  if (error != std::errc() || last != end || !(value >= least && value <= most)) {
    refuse_attention(text);
  }
  return value;
}

Attention read_attention(const std::string& place) {
  Matrix matrix = read_matrix(place, "--attention");
  if (matrix.rows != matrix.columns || matrix.rows > kMostPositions) {
    throw Error(ErrorKind::kUsage, "read attention weights",
                fmt::format("{}: {} x {}", place, matrix.rows, matrix.columns),
                fmt::format("a square matrix of at most {} rows is wanted", kMostPositions));
  }
  Attention attention{place, std::move(matrix.entries), matrix.rows, true};
  const auto n = static_cast<size_t>(matrix.rows);
  for (size_t t = 0; t < n; ++t) {
    const std::span<double> row = std::span(attention.weights).subspan(t * n, n);
    double sum = 0;
    for (size_t j = 0; j < n; ++j) {
      if (row[j] < 0) {
        throw Error(ErrorKind::kUsage, "read attention weights",
                    fmt::format("{}: row {}, column {} is {}", place, t, j, row[j]),
                    "weights are not negative");
      }
      if (row[j] > 0 && j > t) attention.causal = false;
      sum += row[j];
    }
    if (std::abs(sum - 1) > kRowSum) {
      throw Error(ErrorKind::kUsage, "read attention weights",
                  fmt::format("{}: row {} sums to {:.6g}", place, t, sum),
                  "every row holds the weights of one query and sums to 1");
    }
    for (double& weight : row) weight /= sum;
  }
  return attention;
}

/// Row t of the weights that the words describe.
void fill_row(std::span<double> row, size_t t, const std::string& text) {
  const auto keys = static_cast<double>(t + 1);
  if (text.starts_with("local:")) {
    const double window = std::floor(number_after(text, 6, 1, 1e9));
    const double seen = std::min(window, keys);
    for (double back = 0; back < seen; ++back) row[t - static_cast<size_t>(back)] = 1 / seen;
  } else if (text.starts_with("sink:")) {
    const double share = number_after(text, 5, 0, 1);
    for (size_t j = 1; j <= t; ++j) row[j] = (1 - share) / (keys - 1);
    row[0] = t == 0 ? 1 : share;
  } else {
    std::fill_n(row.begin(), t + 1, 1 / keys);
  }
}

Attention attention_of(const ConeOptions& options) {
  const std::string& text = options.attention;
  const bool words = text == "uniform" || text.starts_with("local:") || text.starts_with("sink:");
  if (!words && text.find('.') == std::string::npos) refuse_attention(text);
  if (!words) return read_attention(text);
  const std::vector<int64_t> positions = read_numbers(options.tokens, "--T", 1, kMostPositions);
  if (positions.size() != 1) {
    throw Error(ErrorKind::kUsage, "read flags", fmt::format("--T {}", options.tokens),
                "one number of positions; every position up to it is computed");
  }
  const auto n = static_cast<size_t>(positions[0]);
  Attention attention{text, std::vector<double>(n * n), positions[0], true};
  for (size_t t = 0; t < n; ++t) {
    fill_row(std::span(attention.weights).subspan(t * n, n), t, text);
  }
  return attention;
}

bool is_shown(int64_t position, int64_t positions) {
  return positions <= kAllShown || position < 4 || (position & (position - 1)) == 0 ||
         position == positions - 1;
}

class Cone : public Calculator {
 public:
  Cone(const ConeOptions& options, uint64_t seed)
      : options_(options), seed_(seed), attention_(attention_of(options)) {
    if (options.width < 2 || options.width > kMostWidth) {
      throw Error(ErrorKind::kUsage, "read flags", fmt::format("--d {}", options.width),
                  fmt::format("2 to {}: a cone has directions across its axis", kMostWidth));
    }
    for (const double alpha : options.alphas) {
      if (alpha >= 0 && alpha <= 1) continue;
      throw Error(ErrorKind::kUsage, "read flags", fmt::format("--alpha {}", alpha),
                  "a cosine from 0 to 1");
    }
  }

  store::Facts settings() const override {
    store::Facts facts = {{"d", std::to_string(options_.width)},
                          {"T", std::to_string(attention_.positions)},
                          {"alpha", nlohmann::json(options_.alphas).dump()},
                          {"attention", nlohmann::json(options_.attention).dump()},
                          {"mc", std::to_string(options_.draws)}};
    facts["attention.sha256"] =
        nlohmann::json(sha256_bytes(std::as_bytes(std::span(attention_.weights)))).dump();
    return facts;
  }

  std::vector<store::SheetTable> tables() const override {
    return {{kPositions,
             fmt::format("Attention output o of unit values in a cone, {} attention, by position",
                         attention_.name),
             {{"alpha", "", "cosine of every value with the cone's axis"},
              {"position", "", "query, counted from 0"},
              {"sum_p2", "", "sum of its squared attention weights"},
              {"square", "", "E ||o||^2 = alpha^2 + (1 - alpha^2) sum_p2 (2603.06591 v2, Eq. 6)"},
              {"direction", "",
               "length of the mean direction of o over inputs: alpha / sqrt(square), a ratio of "
               "expectations (method.md section 12)"},
              {"excess", "", "square of position 0 minus this one"},
              {"square_mc", "", "mean of ||o||^2 over draws"},
              {"square_low", "", "that less 2 standard errors"},
              {"square_high", "", "and 2 more"},
              {"direction_mc", "", "mean over draws of the cosine of o with the axis"},
              {"direction_low", "", "that less 2 standard errors"},
              {"direction_high", "", "and 2 more"}}},
            {kAsymmetry,
             "What sets position 0 apart",
             {{"alpha", "", "cosine of every value with the cone's axis"},
              {"square_0", "", "E ||o||^2 at position 0"},
              {"square_rest", "", "the largest of any other position"},
              {"square_last", "", "that of the last position"},
              {"length_ratio", "", "sqrt(square_0 / square_last)"},
              {"direction_0", "", "length of the mean direction at position 0"},
              {"direction_least", "", "the least of any other position"},
              {"direction_last", "", "at the last position"},
              {"verdict", "", "by which of the two position 0 can be told from the others"}}},
            checks_table()};
  }

  std::vector<store::SheetPlot> plots() const override {
    const bool drawn = options_.draws > 0;
    return {{"lines",
             kPositions,
             "Squared length of the attention output: position 0 is longest",
             "position",
             "square",
             {"alpha"},
             drawn ? "square_low" : "",
             drawn ? "square_high" : "",
             "",
             ""},
            {"lines",
             kPositions,
             "Consistency of its direction over inputs: lowest at position 0",
             "position",
             "direction",
             {"alpha"},
             drawn ? "direction_low" : "",
             drawn ? "direction_high" : "",
             "",
             ""}};
  }

  int64_t units() const override { return std::ssize(options_.alphas); }

  std::vector<SheetRow> run(int64_t unit) const override {
    const double alpha = options_.alphas[static_cast<size_t>(unit)];
    const int64_t positions = attention_.positions;
    std::vector<theory::ConePosition> measured;
    if (options_.draws > 1) {
      std::mt19937_64 random(unit_seed(seed_, unit));
      measured = theory::measure_cone(alpha, attention_.weights, positions, options_.width,
                                      options_.draws, random);
    }
    const double none = diagnostics::kNoData;
    std::vector<SheetRow> rows;
    const double first = square_at(alpha, 0);
    double rest = none, least = none;
    for (int64_t t = 0; t < positions; ++t) {
      const double square = square_at(alpha, t);
      if (t > 0 && !(square <= rest)) rest = square;
      if (t > 0 && !(direction_at(alpha, t) >= least)) least = direction_at(alpha, t);
      if (!is_shown(t, positions)) continue;
      const theory::ConePosition at = measured.empty()
                                          ? theory::ConePosition{none, none, none, none}
                                          : measured[static_cast<size_t>(t)];
      rows.push_back({kPositions,
                      {alpha, static_cast<double>(t), theory::cone_square(0, row(t)), square,
                       direction_at(alpha, t), first - square, at.square,
                       at.square - 2 * at.square_error, at.square + 2 * at.square_error, at.along,
                       at.along - 2 * at.along_error, at.along + 2 * at.along_error}});
    }
    rows.push_back(asymmetry_row(alpha, rest, least));
    return rows;
  }

  Conclusion conclude(const store::SheetStore& sheet) const override {
    Conclusion conclusion;
    conclusion.rows = cone_test_values();
    std::mt19937_64 random(unit_seed(seed_, 0, kIdentityPurpose));
    const double residual = cone_identity_residual(attention_.positions, options_.width, random);
    conclusion.rows.push_back(check_row("||mean of t unit vectors||^2 = c + (1 - c) / t, exactly",
                                        fmt::format("within {}", kIdentityTolerance),
                                        fmt::format("{:.1e}", residual),
                                        residual <= kIdentityTolerance));
    if (options_.draws > 1) conclusion.rows.push_back(measured_row(sheet));
    describe(sheet, conclusion.findings);
    return conclusion;
  }

 private:
  std::span<const double> row(int64_t t) const {
    const auto n = static_cast<size_t>(attention_.positions);
    return std::span(attention_.weights).subspan(static_cast<size_t>(t) * n, n);
  }
  double square_at(double alpha, int64_t t) const { return theory::cone_square(alpha, row(t)); }
  double direction_at(double alpha, int64_t t) const {
    return theory::cone_direction(alpha, 1 / theory::cone_square(0, row(t)));
  }

  SheetRow asymmetry_row(double alpha, double rest, double least) const {
    const int64_t last = attention_.positions - 1;
    const double first = square_at(alpha, 0), at_last = square_at(alpha, last);
    const double here = direction_at(alpha, 0), there = direction_at(alpha, last);
    const char* verdict = last == 0               ? "one position"
                          : first <= rest + 1e-12 ? "not by length"
                                                  : "length";
    return {kAsymmetry,
            {alpha, first, rest, at_last, std::sqrt(first / at_last), here, least, there, verdict}};
  }

  /// Lengths have exact expectations. Directions are a ratio of expectations: to second order its
  /// relative error is below 1 / (d - 1), since Var ||o||^2 <= 2 (sum p^2)^2 / (d - 1).
  SheetRow measured_row(const store::SheetStore& sheet) const {
    double square = 0, direction = 0;
    bool holds = true;
    const double bias = 1 / static_cast<double>(options_.width - 1);
    for (const SheetRow& row : sheet.rows(kPositions)) {
      const auto value = [&](size_t c) { return std::get<double>(row.cells[c]); };
      const double off = std::abs(value(6) - value(3)), turned = std::abs(value(9) - value(4));
      const double off_error = (value(8) - value(7)) / 4,
                   turned_error = (value(11) - value(10)) / 4;
      square = std::max(square, off), direction = std::max(direction, turned);
      // Rounding alone where nothing varies: position 0, alpha = 1.
      holds = holds && off <= kErrors * off_error + 1e-12 &&
              turned <= kErrors * turned_error + bias * value(4) + 1e-12;
    }
    return check_row(
        "Monte Carlo against prediction, every position",
        fmt::format("within {} standard errors, directions 1/(d - 1) more", kErrors),
        fmt::format("squares {:.1e}, directions {:.1e} off at worst", square, direction), holds);
  }

  void describe(const store::SheetStore& sheet, std::vector<std::string>& findings) const {
    if (!attention_.causal) {
      findings.push_back(fmt::format(
          "{} gives weight to later positions: position 0 is not forced to attend to itself.",
          attention_.name));
    }
    bool below = false, above = false;  // the direction of position 0, of any other's
    for (const SheetRow& row : sheet.rows(kAsymmetry)) {
      const auto value = [&](size_t c) { return std::get<double>(row.cells[c]); };
      const auto& verdict = std::get<std::string>(row.cells[8]);
      below = below || value(5) < value(6) - 1e-12;
      above = above || value(5) > value(6) + 1e-12;
      if (verdict == "length") {
        findings.push_back(fmt::format(
            "alpha = {}: position 0 has the longest output, {:.2f} times as long as the last "
            "position's. The consistency of its direction over inputs is {:.3f}, at the last "
            "position {:.3f}.",
            value(0), value(4), value(5), value(7)));
      } else if (verdict == "not by length") {
        findings.push_back(fmt::format(
            "alpha = {}: some other position has an output as long as position 0's, no length "
            "tells it apart.",
            value(0)));
      }
    }
    if (attention_.positions < 2) {
      findings.push_back("One position: there is nothing to compare it with.");
    } else if (above) {
      findings.push_back(
          "With this attention some other position has a less consistent direction than position "
          "0: its weights are more concentrated.");
    } else if (below) {
      findings.push_back(
          "In this model the direction of the attention output is least consistent at position 0. "
          "A more consistent one there can only come from the MLPs that follow, or from values "
          "that are no cone: `sinkscope scan --diag circuit` measures it.");
    } else {
      findings.push_back("The direction is as consistent at position 0 as at any other.");
    }
  }

  ConeOptions options_;
  uint64_t seed_;
  Attention attention_;
};

}  // namespace

std::unique_ptr<Calculator> make_cone(const TheoryOptions& options, Console&) {
  if (options.cone.norm_stability) return make_norm_stability(options.cone);
  return std::make_unique<Cone>(options.cone, options.seed);
}

}  // namespace sinkscope::app
