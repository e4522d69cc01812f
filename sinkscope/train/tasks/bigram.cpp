#include "sinkscope/train/tasks/bigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sinkscope/base/error.h"
#include "sinkscope/base/mix.h"
#include "sinkscope/text/utf8.h"

namespace sinkscope::train {
namespace {

constexpr int64_t kMostSymbols = 1024;

double unit(uint64_t key, std::initializer_list<uint64_t> parts) {
  return static_cast<double>(mix(key, parts) >> 11) * 0x1p-53;
}

std::vector<uint32_t> code_points(std::string_view text, std::string_view where) {
  std::vector<uint32_t> points;
  for (size_t at = 0; at < text.size();) {
    const size_t length = text::utf8_length(text, at);
    if (length == 0) {
      throw Error(ErrorKind::kUsage, "read the text of the bigram table",
                  fmt::format("{}: byte {} is no UTF-8", where, at));
    }
    points.push_back(text::utf8_decode(text.substr(at, length)));
    at += length;
  }
  return points;
}

Bigram of_counts(std::vector<uint32_t> characters, std::vector<std::vector<int64_t>> counts) {
  Bigram bigram;
  double all = 0;
  for (const std::vector<int64_t>& row : counts) {
    const auto total = static_cast<double>(std::accumulate(row.begin(), row.end(), int64_t{0}));
    all += total;
    bigram.unigram.push_back(total);
    std::vector<double>& shares = bigram.next.emplace_back();
    for (const int64_t count : row) shares.push_back(static_cast<double>(count) / total);
  }
  for (double& share : bigram.unigram) share /= all;
  bigram.characters = std::move(characters);
  bigram.counts = std::move(counts);
  return bigram;
}

}  // namespace

double Bigram::entropy_after(int64_t symbol) const {
  double entropy = 0;
  for (const double p : next[static_cast<size_t>(symbol)]) {
    if (p > 0) entropy -= p * std::log(p);
  }
  return entropy;
}

Bigram random_bigram(int64_t symbols, int64_t successors, uint64_t key) {
  const auto count = static_cast<size_t>(symbols);
  Bigram bigram;
  for (size_t x = 0; x < count; ++x) {
    // The successors are the symbols of the largest random numbers.
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return mix(key, {x, a, 1}) > mix(key, {x, b, 1});
    });
    std::vector<double>& row = bigram.next.emplace_back(count, 0.0);
    for (size_t s = 0; s < static_cast<size_t>(successors); ++s)
      row[order[s]] = 0.1 + unit(key, {x, order[s], 2});
    const double total = std::accumulate(row.begin(), row.end(), 0.0);
    for (double& share : row) share /= total;
  }
  std::vector<double> pi(count, 1.0 / static_cast<double>(count));
  for (int step = 0; step < 1000; ++step) {
    std::vector<double> after(count, 0.0);
    for (size_t x = 0; x < count; ++x) {
      for (size_t y = 0; y < count; ++y) after[y] += pi[x] * bigram.next[x][y];
    }
    pi = std::move(after);
  }
  bigram.unigram = std::move(pi);
  return bigram;
}

Bigram text_bigram(std::string_view text, std::string_view where) {
  const std::vector<uint32_t> points = code_points(text, where);
  std::map<uint32_t, size_t> place;
  for (const uint32_t point : points) place[point] = 0;
  std::vector<uint32_t> characters;
  for (auto& [point, index] : place) {
    index = characters.size();
    characters.push_back(point);
  }
  const auto count = static_cast<int64_t>(characters.size());
  if (count < 4 || count > kMostSymbols) {
    throw Error(ErrorKind::kUsage, "read the text of the bigram table",
                fmt::format("{} has {} different characters", where, count),
                fmt::format("from 4 to {}", kMostSymbols));
  }
  std::vector<std::vector<int64_t>> counts(characters.size(),
                                           std::vector<int64_t>(characters.size(), 0));
  for (size_t i = 0; i < points.size(); ++i) {
    ++counts[place[points[i]]][place[points[(i + 1) % points.size()]]];
  }
  return of_counts(std::move(characters), std::move(counts));
}

Bigram stored_bigram(const io::Config& settings) {
  std::vector<uint32_t> characters;
  for (const int64_t point : settings.integers("characters")) {
    characters.push_back(static_cast<uint32_t>(point));
  }
  std::vector<std::vector<int64_t>> counts;
  try {
    counts = settings.json().at("counts").get<std::vector<std::vector<int64_t>>>();
  } catch (const nlohmann::json::exception&) {
    counts.clear();
  }
  const bool sound =
      !counts.empty() && std::ssize(counts) <= kMostSymbols && counts.size() == characters.size() &&
      std::all_of(counts.begin(), counts.end(), [&](const std::vector<int64_t>& row) {
        return row.size() == counts.size() &&
               std::all_of(row.begin(), row.end(),
                           [](int64_t n) { return n >= 0 && n < (int64_t{1} << 40); }) &&
               std::any_of(row.begin(), row.end(), [](int64_t n) { return n > 0; });
      });
  if (!sound) {
    throw Error(ErrorKind::kBadFile, "read the bigram table",
                settings.where() + ": characters and counts do not belong together");
  }
  return of_counts(std::move(characters), std::move(counts));
}

}  // namespace sinkscope::train
