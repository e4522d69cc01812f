#include "sinkscope/app/theory/cost_conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "sinkscope/theory/log_log.h"

namespace sinkscope::app {
namespace {

using store::SheetRow;

constexpr const char* kFits = "exponents";
constexpr const char* kWinners = "winners";
constexpr size_t kSpokenFits = 4;

/// A row of the cost table, read back.
struct Row {
  std::string tokens, pattern, norm;
  double context = 0, width = 0, sine = 0, active = 0;
  double lower = 0, upper = 0;  ///< of the whole: of a task with W_VO
  bool impossible = false;

  double middle() const { return std::sqrt(lower * upper); }
  bool known() const { return std::isfinite(lower) && std::isfinite(upper); }
};

std::vector<Row> read_rows(const store::SheetStore& sheet, bool task) {
  std::vector<Row> rows;
  for (const SheetRow& stored : sheet.rows(kCostTable)) {
    const auto number = [&](size_t c) { return std::get<double>(stored.cells[c]); };
    const auto text = [&](size_t c) { return std::get<std::string>(stored.cells[c]); };
    Row row{text(0), text(4), text(6), number(1), number(2), number(3), number(5)};
    row.impossible = text(10) == "impossible";
    row.lower = number(task ? 15 : 7), row.upper = number(task ? 16 : 8);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The larger half of the T of a line, by number, at least three of them.
std::vector<const Row*> upper_half(std::vector<const Row*> rows) {
  std::sort(rows.begin(), rows.end(),
            [](const Row* a, const Row* b) { return a->context < b->context; });
  const size_t kept = std::min(rows.size(), std::max<size_t>(3, (rows.size() + 1) / 2));
  rows.erase(rows.begin(), rows.end() - static_cast<std::ptrdiff_t>(kept));
  return rows;
}

/// Exponents over that half, of every line with three points.
void add_fits(const std::vector<Row>& rows, std::vector<SheetRow>& out,
              std::vector<std::string>& findings) {
  using Line = std::tuple<std::string, std::string, double, std::string>;
  std::map<Line, std::vector<const Row*>> lines;
  for (const Row& row : rows) {
    if (row.known()) lines[{row.tokens, row.pattern, row.active, row.norm}].push_back(&row);
  }
  std::string sentence;
  const size_t fitted = out.size();
  for (const auto& [line, members] : lines) {
    std::vector<double> x, y;
    for (const Row* row : upper_half(members))
      x.push_back(row->context), y.push_back(row->middle());
    if (x.size() < 3) continue;
    const theory::PowerLaw law = theory::fit_power_law(x, y);
    const auto& [tokens, pattern, active, norm] = line;
    out.push_back({kFits,
                   {tokens, pattern, active, norm, law.exponent, law.error, law.factor, x.front(),
                    x.back(), static_cast<double>(x.size())}});
    if (!sentence.empty()) sentence += "; ";
    sentence += fmt::format("{} {}, {} norm: T^{:.3f}", tokens, pattern, norm, law.exponent);
  }
  // More lines are read from the table.
  if (!sentence.empty() && out.size() - fitted <= kSpokenFits) {
    findings.push_back(fmt::format("Growth over the upper half of T: {}.", sentence));
  }
}

std::string winner_of(const Row& sink, const Row& diagonal) {
  if (sink.impossible && diagonal.impossible) return "neither";
  if (sink.impossible) return "diagonal";
  if (diagonal.impossible) return "sink";
  if (sink.upper < diagonal.lower) return "sink";
  if (diagonal.upper < sink.lower) return "diagonal";
  if (!sink.known() || !diagonal.known()) return "undecided";
  // Brackets that overlap and are both narrow are one value.
  const double widest = std::max(sink.upper / sink.lower, diagonal.upper / diagonal.lower) - 1;
  return widest <= 0.01 ? "tie" : "undecided";
}

void add_winners(const std::vector<Row>& rows, std::vector<SheetRow>& out,
                 std::vector<std::string>& findings) {
  using Place = std::tuple<std::string, double, double, std::string>;
  std::map<Place, std::pair<const Row*, const Row*>> pairs;
  std::vector<Place> order;
  for (const Row& row : rows) {
    const Place place{row.tokens, row.context, row.active, row.norm};
    const auto [found, fresh] = pairs.try_emplace(place);
    if (fresh) order.push_back(place);
    (row.pattern.ends_with("diagonal") ? found->second.second : found->second.first) = &row;
  }
  std::map<std::string, std::map<std::string, int64_t>> counts;  // norm, winner
  for (const Place& place : order) {
    const auto [sink, diagonal] = pairs.at(place);
    if (!sink || !diagonal) continue;
    const std::string winner = winner_of(*sink, *diagonal);
    const double ratio = std::log10(diagonal->middle() / sink->middle());
    out.push_back({kWinners,
                   {sink->tokens, sink->context, sink->width, sink->sine, sink->active, sink->norm,
                    sink->middle(), diagonal->middle(), ratio, winner}});
    ++counts[sink->norm][winner];
  }
  for (const auto& [norm, winners] : counts) {
    std::string sentence;
    int64_t cells = 0;
    for (const auto& [winner, count] : winners) {
      if (!sentence.empty()) sentence += ", ";
      sentence += fmt::format("{} in {}", winner, count);
      cells += count;
    }
    findings.push_back(
        fmt::format("Cheaper in the {} norm, of {} cells: {}.", norm, cells, sentence));
  }
  const auto frobenius = counts.find("frobenius");
  if (frobenius != counts.end() && frobenius->second.size() == 1 &&
      frobenius->second.begin()->first == "tie") {
    findings.emplace_back(
        "The Frobenius norm of W_QK does not separate the patterns here: it is the control, the "
        "nuclear norm (the l2 cost of the factors W_Q and W_K) is the headline.");
  }
}

}  // namespace

std::vector<store::SheetTable> cost_tables(bool task) {
  std::vector<store::SheetColumn> columns = {
      {"tokens", "", "which tokens"},
      {"T", "", "context tokens beside the sink"},
      {"d", "", "their width"},
      {"sine", "", "cross-polytope: lift of the tokens, sin(phi)"},
      {"pattern", "", "which key each query must prefer"},
      {"active", "share", "queries that copy from another token; 0: none"},
      {"norm", "",
       "nuclear: least l2 cost of the factors, min (|W_Q|^2 + |W_K|^2) / 2; frobenius: of W_QK "
       "itself"},
      {"lower", "", "certified lower bound of the least norm (method.md 8)"},
      {"upper", "", "certified upper bound, by a W that makes the pattern"},
      {"gap", "share", "(upper - lower) / upper"},
      {"verdict", "", "bounded; impossible: no W makes the pattern; or which bound is missing"},
      {"method", "", "what gave the bounds"},
      {"iterations", "", "steps of the program; 0: it was not needed"},
      {"rank", "", "of the program's W: singular values above 1e-3 of the largest"}};
  if (task) {
    columns.push_back({"value_output", "", "least nuclear norm of W_VO = Y pinv(Z) (method.md 8)"});
    columns.push_back({"total_lower", "",
                       "2 (|W_QK|_* + |W_VO|_*), the l2 cost of all four factors, lower bound"});
    columns.push_back({"total_upper", "", "its upper bound"});
  }
  return {
      {kCostTable, "Least W_QK by pattern", std::move(columns)},
      {kFits,
       "Growth with T",
       {{"tokens", "", "which tokens"},
        {"pattern", "", "which pattern"},
        {"active", "share", "queries that copy"},
        {"norm", "", "which norm"},
        {"exponent", "", "slope of log cost over log T, upper half of the T, least squares"},
        {"error", "", "half width of its 95 % interval"},
        {"factor", "", "cost ~ factor T^exponent"},
        {"from", "", "least T of the fit"},
        {"to", "", "largest T"},
        {"points", "", "how many T"}}},
      {kWinners,
       "Sink against diagonal",
       {{"tokens", "", "which tokens"},
        {"T", "", "context tokens"},
        {"d", "", "their width"},
        {"sine", "", "lift of a cross-polytope"},
        {"active", "share", "queries that copy"},
        {"norm", "", "which norm"},
        {"sink", "", "cost of the sink, middle of its bounds"},
        {"diagonal", "", "cost of the diagonal, middle of its bounds"},
        {"log_ratio", "", "log10(diagonal / sink): above 0 the sink is cheaper"},
        {"winner", "", "by the certified bounds; tie: they overlap and are narrower than 1 %"}}}};
}

std::vector<store::SheetPlot> cost_plots(const std::string& axis, bool task) {
  const std::vector<std::string> lines = {"tokens", "pattern", "active", "norm"};
  store::SheetPlot curves{"log-log", kCostTable, "Least cost by number of tokens",
                          "T",       "upper",    lines};
  if (task) curves.y = "total_upper", curves.title = "Least cost of the task by number of tokens";
  curves.lower = task ? "total_lower" : "lower", curves.upper = curves.y;
  curves.fit = kFits;
  store::SheetPlot winner{"map", kWinners, "Which pattern is cheaper",
                          "T",   axis,     {"norm", "active"}};
  store::SheetPlot ratio = winner;
  winner.value = "winner";
  ratio.title = "How much cheaper: above 0 the sink, below 0 the diagonal";
  ratio.value = "log_ratio";
  return {curves, winner, ratio};
}

Calculator::Conclusion conclude_cost(const store::SheetStore& sheet, bool task) {
  const std::vector<Row> rows = read_rows(sheet, task);
  Calculator::Conclusion conclusion;
  add_winners(rows, conclusion.rows, conclusion.findings);
  add_fits(rows, conclusion.rows, conclusion.findings);
  double worst = 0;
  for (const Row& row : rows) {
    if (row.known()) worst = std::max(worst, (row.upper - row.lower) / row.upper);
  }
  conclusion.findings.push_back(
      fmt::format("Widest certified bracket: {:.2g} of its upper bound.", worst));
  return conclusion;
}

}  // namespace sinkscope::app
