#include "sinkscope/app/theory/calculator.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "sinkscope/app/theory/make.h"
#include "sinkscope/base/error.h"
#include "sinkscope/base/mix.h"

namespace sinkscope::app {
namespace {

constexpr std::array kCalculators = {
    CalculatorInfo{"geometry", "is there any W_QK that makes a sink of these tokens",
                   make_geometry},
    CalculatorInfo{"cost", "the least W_QK for a sink, a diagonal, a copy, with certified bounds",
                   make_cost},
    CalculatorInfo{"smoothing", "does denser attention make tokens more alike", make_smoothing},
    CalculatorInfo{"cone", "why does the first position of a causal model stand out", make_cone},
    CalculatorInfo{"switch", "is a head that outputs nothing one that attends to a sink",
                   make_switch},
};

constexpr size_t kMostNumbers = 100000;

[[noreturn]] void refuse(std::string_view flag, std::string_view text, std::string_view part,
                         int64_t least, int64_t most) {
  throw Error(
      ErrorKind::kUsage, "read flags",
      fmt::format("{} {}: \"{}\" is no number or range of {} to {}", flag, text, part, least, most),
      "2:48, 8:64:8, 64:1024:x2 or 8,16,32");
}

}  // namespace

std::span<const CalculatorInfo> calculators() { return kCalculators; }

store::SheetTable checks_table() {
  return {std::string(store::kChecksTable),
          "Checks",
          {{"check", "", "what must hold"},
           {"expected", "", "the value or relation by theory"},
           {"measured", "", "what was found"},
           {"holds", "", "1: it does"}}};
}

store::SheetRow check_row(std::string check, std::string expected, std::string measured,
                          bool holds) {
  return {std::string(store::kChecksTable),
          {std::move(check), std::move(expected), std::move(measured), holds ? 1.0 : 0.0}};
}

uint64_t unit_seed(uint64_t seed, int64_t unit, uint64_t purpose) {
  return mix(seed, {static_cast<uint64_t>(unit), purpose});
}

std::vector<int64_t> read_numbers(std::string_view text, std::string_view flag, int64_t least,
                                  int64_t most) {
  std::vector<int64_t> numbers;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    std::array<int64_t, 3> values{};
    size_t count = 0;
    bool factor = false;
    for (size_t at = 0; at <= part.size();) {
      const size_t stop = std::min(part.find(':', at), part.size());
      std::string_view number = part.substr(at, stop - at);
      if (count == 2 && number.starts_with('x')) factor = true, number.remove_prefix(1);
      if (count == 3) refuse(flag, text, part, least, most);
      const auto [last, error] =
          std::from_chars(number.data(), number.data() + number.size(), values[count]);
      if (error != std::errc() || last != number.data() + number.size() || number.empty()) {
        refuse(flag, text, part, least, most);
      }
      ++count;
      at = stop + 1;
    }
    const int64_t first = values[0], final = count > 1 ? values[1] : first,
                  step = count > 2 ? values[2] : 1;
    if (first < least || final > most || final < first || step < (factor ? 2 : 1)) {
      refuse(flag, text, part, least, most);
    }
    for (int64_t n = first; n <= final; n = factor ? n * step : n + step) {
      if (numbers.size() == kMostNumbers) refuse(flag, text, part, least, most);
      numbers.push_back(n);
      if (factor ? n > final / step : n > final - step) break;
    }
    begin = end + 1;
  }
  return numbers;
}

}  // namespace sinkscope::app
