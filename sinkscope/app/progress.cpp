#include "sinkscope/app/progress.h"

#include <fmt/format.h>

namespace sinkscope::app {
namespace {

std::string duration(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace

Progress::Progress(Console& console, int64_t total, int64_t amount, const char* counted)
    : console_(console),
      total_(total),
      amount_(amount),
      counted_(counted),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

Progress::~Progress() {
  // Leaves the line free for what follows.
  if (drawn_ && console_.err_is_terminal) console_.err << "\r\033[K" << std::flush;
}

void Progress::update(int64_t done, const std::string& note) {
  if (console_.verbosity < 0) return;
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> since = now - last_, all = now - start_;
  const double interval = console_.err_is_terminal ? 0.1 : 10;
  if (since.count() < interval) return;
  last_ = now;
  write(static_cast<double>(done) / static_cast<double>(total_), all.count(), note);
}

void Progress::write(double share, double seconds, const std::string& note) {
  const bool newline = !console_.err_is_terminal;
  constexpr int kCells = 24;
  const int full = static_cast<int>(share * kCells);
  std::string bar;
  for (int i = 0; i < kCells; ++i) bar += i < full ? '#' : '.';
  const double rate = share * static_cast<double>(amount_) / seconds;
  const std::string line = fmt::format("[{}] {:3.0f} %  {:.{}f} {}/s  {} left{}{}", bar,
                                       share * 100, rate, rate < 10 ? 1 : 0, counted_,
                                       share > 0 ? duration(seconds * (1 - share) / share) : "?",
                                       note.empty() ? "" : "  ", note);
  console_.err << (newline ? "" : "\r\033[K") << line << (newline ? "\n" : "") << std::flush;
  drawn_ = true;
}

}  // namespace sinkscope::app
