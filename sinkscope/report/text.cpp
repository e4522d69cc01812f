#include "sinkscope/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sinkscope::report {
namespace {

std::string grouped(std::string digits) {
  const size_t sign = digits.starts_with('-') ? 1 : 0;
  for (size_t at = digits.size(); at > sign + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

/// No "2.50": trailing zeros say nothing about the precision here.
std::string without_zeros(std::string digits) {
  if (digits.find('.') == std::string::npos) return digits;
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return digits;
}

}  // namespace

std::string number_text(double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 1e15 || size < 1e-4) return fmt::format("{:.2e}", value);
  const int digits = 2 - static_cast<int>(std::floor(std::log10(size)));
  if (digits > 0) return without_zeros(fmt::format("{:.{}f}", value, digits));
  const double unit = std::pow(10.0, -digits);
  return grouped(fmt::format("{:.0f}", std::round(value / unit) * unit));
}

std::string count_text(int64_t value) { return grouped(std::to_string(value)); }

std::string percent_text(double share) {
  if (!std::isfinite(share)) return "-";
  const double percent = 100 * share;
  if (percent >= 9.95 || percent == 0) return fmt::format("{:.0f} %", percent);
  if (percent < 0.05) return "under 0.1 %";
  return without_zeros(fmt::format("{:.1f}", percent)) + " %";
}

std::string head_text(int layer, int head) { return fmt::format("L{}H{}", layer, head); }

std::string terminal_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      safe += fmt::format("\\x{:02X}", byte);
    } else {
      safe += c;
    }
  }
  return safe;
}

size_t text_width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::vector<std::string> wrap_text(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(text.size(), space + 1));
    if (!line.empty() && text_width(line) + 1 + text_width(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string metric_key(std::string_view metric) {
  // These are 0 or 1 for one sequence; over a run they are shares (product.md).
  for (const std::string_view flag : {"sink", "event", "conditional", "too_short"}) {
    if (metric == flag) return std::string(metric) + "_share";
  }
  return std::string(metric);
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

void write_paragraphs(const char* title, const std::vector<std::string>& paragraphs, int columns,
                      std::ostream& out) {
  if (paragraphs.empty()) return;
  out << '\n' << title << '\n';
  const size_t width = static_cast<size_t>(std::max(40, columns)) - 4;
  for (const std::string& paragraph : paragraphs) {
    const char* indent = "  ";
    for (const std::string& line : wrap_text(paragraph, width)) {
      out << indent << line << '\n';
      indent = "    ";
    }
  }
}

}  // namespace sinkscope::report
