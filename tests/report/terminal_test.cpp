#include "sinkscope/report/terminal.h"

#include <gtest/gtest.h>

#include <sstream>

#include "sinkscope/report/text.h"
#include "tests/report/golden.h"
#include "tests/report/sample_run.h"

namespace sinkscope::report {
namespace {

using test::Sample;
using test::Writer;

std::string terminal(const Sample& sample, TerminalOptions options = {}) {
  options.results = "run.db", options.page = "report.html",
  options.next = "sinkscope report run.db";
  std::ostringstream out;
  write_terminal(test::read_sample(sample), options, out);
  return out.str();
}

size_t widest(const std::string& text) {
  size_t width = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) width = std::max(width, text_width(line));
  return width;
}

TEST(Terminal, IsTheGoldenText) {
  test::expect_golden("terminal.txt", terminal({}));
  test::expect_golden("terminal_ascii.txt", terminal({}, {.ascii = true}));
  test::expect_golden("terminal_colour.txt", terminal({}, {.colour = true}));
}

TEST(Terminal, AsciiIsAscii) {
  for (const char c : terminal({}, {.ascii = true})) EXPECT_GE(c, 0);
}

TEST(Terminal, ManyLayersAndHeadsAreGroupedAndSaidSo) {
  Sample sample;
  sample.layers = 80, sample.heads = 64, sample.kv_heads = 8, sample.sequences = 1;
  const std::string text = terminal(sample, {.columns = 80, .rows = 20});
  test::expect_golden("terminal_grouped.txt", text);
  EXPECT_LE(widest(text), 80u);
  EXPECT_NE(text.find("4 layers x 2 heads a cell"), std::string::npos);
  EXPECT_EQ(terminal(sample, {.columns = 120, .rows = 80}).find("grouped"), std::string::npos);
}

TEST(Terminal, NoSinkIsSaid) {
  Sample sample;
  sample.change = [](int64_t, Writer& out) {
    for (int l = 2; l < 4; ++l) {
      for (int h = 0; h < 4; ++h) test::fill_head(out, l, h, 0, false);
      out.set("top_activations", l, 2, 4), out.set("resid_norm_p0", l, 0, 9);
    }
    out.set("alpha_sink", 1, 2, 0.28125);
  };
  test::expect_golden("terminal_no_sink.txt", terminal(sample));
}

TEST(Terminal, ShortInputsAndMissingLayersAreNotWeakSinks) {
  Sample sample;
  sample.change = [](int64_t, Writer& out) {
    for (int l = 0; l < 4; ++l) {
      for (int h = 0; h < 4; ++h) out.set("class", l, h, 4);
    }
  };
  const std::string text = terminal(sample);
  EXPECT_NE(text.find("layer    0  - - - -"), std::string::npos) << text;
  EXPECT_NE(text.find("too short to judge"), std::string::npos);
}

TEST(Terminal, ControlBytesOfNamesNeverReachTheTerminal) {
  Sample sample;
  sample.facts.model_path = "x\x1B[31m.gguf";
  sample.facts.warnings = {
      "a\x07"
      "b"};
  const std::string text = terminal(sample);
  EXPECT_EQ(text.find('\x1B'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
  EXPECT_NE(text.find("x\\x1B[31m"), std::string::npos);
}

TEST(Terminal, ImagesAreNoTokens) {
  Sample sample = test::image_sample();
  std::string text = terminal(sample);
  EXPECT_NE(text.find("4 heads  4 images of 2 x 3 patches  1.5 s\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("position 0"), std::string::npos) << text;
  sample.sequences = 1, sample.facts.patch_rows = 0, sample.facts.patch_columns = 0;
  text = terminal(sample);
  EXPECT_NE(text.find("4 heads  1 image  1.5 s\n"), std::string::npos) << text;
}

TEST(Terminal, EmptyRun) {
  Sample sample;
  sample.sequences = 0;
  EXPECT_NE(terminal(sample).find("nothing was measured"), std::string::npos);
}

TEST(Text, Numbers) {
  EXPECT_EQ(number_text(24900.4), "24,900");
  EXPECT_EQ(number_text(24949), "24,900");
  EXPECT_EQ(number_text(1234567), "1,230,000");
  EXPECT_EQ(number_text(-1234), "-1,230");
  EXPECT_EQ(number_text(999.7), "1,000");
  EXPECT_EQ(number_text(310.2), "310");
  EXPECT_EQ(number_text(3.14159), "3.14");
  EXPECT_EQ(number_text(3.1), "3.1");
  EXPECT_EQ(number_text(0.95078125), "0.951");
  EXPECT_EQ(number_text(0.0741233), "0.0741");
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(NAN), "-");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(count_text(-123), "-123");
}

TEST(Text, Shares) {
  EXPECT_EQ(percent_text(0.674), "67 %");
  EXPECT_EQ(percent_text(0.0621), "6.2 %");
  EXPECT_EQ(percent_text(0.0001), "under 0.1 %");
  EXPECT_EQ(percent_text(0), "0 %");
  EXPECT_EQ(percent_text(1), "100 %");
  EXPECT_EQ(percent_text(NAN), "-");
}

}  // namespace
}  // namespace sinkscope::report
