#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace sinkscope::report {

/// Three significant digits and thousands separators: 0.0741, 3.1, 24,900; "-" for no data.
std::string number_text(double value);
/// A count with thousands separators.
std::string count_text(int64_t value);
/// A share as "67 %", below 10 % with one digit more, above 0 never "0 %"; "-" for no data.
std::string percent_text(double share);
/// "L5H3".
std::string head_text(int layer, int head);

/// `text` as data for a terminal: control bytes as \x1B.
std::string terminal_text(std::string_view text);
/// Number of code points.
size_t text_width(std::string_view text);
/// Lines of at most `width` code points, broken at spaces; a longer word keeps its own line.
std::vector<std::string> wrap_text(std::string_view text, size_t width);

/// A field of a CSV line, quoted where it must be.
std::string csv_field(std::string_view text);

/// Title and indented paragraphs, wrapped to the terminal; nothing without paragraphs.
void write_paragraphs(const char* title, const std::vector<std::string>& paragraphs, int columns,
                      std::ostream& out);

/// The JSON key of a metric; the CSV column and the npz array have the same name.
std::string metric_key(std::string_view metric);

}  // namespace sinkscope::report
