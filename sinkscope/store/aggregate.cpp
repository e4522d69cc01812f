#include "sinkscope/store/aggregate.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sinkscope::store {
namespace {

using diagnostics::HeadClass;
using diagnostics::kNoData;
using Column = std::vector<double>;  ///< the values of one entry that are data, by sequence

using Row = const std::vector<double>*;

/// The row of `layer` of each sequence of `values`; null where it has none.
std::vector<Row> rows_of_layer(const SequenceValues& values, size_t layer) {
  std::vector<Row> rows;
  for (const auto& entry : values) {
    const auto& layers = entry.second;
    rows.push_back(layer < layers.size() ? &layers[layer] : nullptr);
  }
  return rows;
}

/// The flags of the same sequences, in the same order.
std::vector<Row> flags_of_layer(const SequenceValues& values, const Mask* mask, size_t layer) {
  std::vector<Row> rows;
  for (auto entry = values.begin(); mask && entry != values.end(); ++entry) {
    const auto found = mask->flags.find(entry->first);
    const bool there = found != mask->flags.end() && layer < found->second.size();
    rows.push_back(there ? &found->second[layer] : nullptr);
  }
  return rows;
}

bool flagged(Row flags, size_t head) {
  return flags && head < flags->size() && (*flags)[head] == 1;
}

/// Calls `reduce(column)` for every layer and entry.
template <typename Reduce>
Aggregated reduce_columns(const SequenceValues& values, const Mask* mask, Reduce reduce) {
  Aggregated result;
  size_t layers = 0;
  for (const auto& [id, rows] : values) layers = std::max(layers, rows.size());
  result.value.resize(layers), result.count.resize(layers);
  Column column;
  for (size_t layer = 0; layer < layers; ++layer) {
    const std::vector<Row> rows = rows_of_layer(values, layer);
    const std::vector<Row> flags = flags_of_layer(values, mask, layer);
    size_t entries = 0;
    for (const Row row : rows) entries = std::max(entries, row ? row->size() : 0);
    for (size_t entry = 0; entry < entries; ++entry) {
      column.clear();
      for (size_t i = 0; i < rows.size(); ++i) {
        if (!rows[i] || entry >= rows[i]->size() || !std::isfinite((*rows[i])[entry])) continue;
        if (!mask || flagged(flags[i], entry / mask->width)) column.push_back((*rows[i])[entry]);
      }
      result.count[layer].push_back(static_cast<int64_t>(column.size()));
      result.value[layer].push_back(column.empty() ? kNoData : reduce(column));
    }
  }
  return result;
}

double sum(const Column& column) {
  double total = 0;
  for (const double value : column) total += value;
  return total;
}

/// The most frequent value and how often it occurs; ties to the lowest.
std::pair<double, size_t> mode(Column& column) {
  std::sort(column.begin(), column.end());
  std::pair<double, size_t> best{column.front(), 0};
  for (auto first = column.begin(); first != column.end();) {
    const auto last = std::upper_bound(first, column.end(), *first);
    const size_t times = static_cast<size_t>(last - first);
    if (times > best.second) best = {*first, times};
    first = last;
  }
  return best;
}

double majority(const Column& codes) {
  const auto times = [&codes](HeadClass c) {
    return std::count(codes.begin(), codes.end(), static_cast<double>(c));
  };
  if (times(HeadClass::kTooShort) == std::ssize(codes))
    return static_cast<double>(HeadClass::kTooShort);
  HeadClass best = HeadClass::kNone;
  std::ptrdiff_t most = 0;
  for (const HeadClass c : {HeadClass::kNop, HeadClass::kBroadcast, HeadClass::kOther}) {
    if (times(c) > most) best = c, most = times(c);
  }
  return static_cast<double>(best);
}

struct Place {
  double channel = 0, position = 0, sum_abs = 0, sum = 0;
  int64_t times = 0;
};

std::vector<Place> places_of_layer(const SequenceValues& values, size_t layer) {
  std::map<std::pair<double, double>, Place> places;
  for (const auto& [id, rows] : values) {
    if (layer >= rows.size()) continue;
    for (size_t i = 0; i + 2 < rows[layer].size(); i += 3) {
      const double channel = rows[layer][i], position = rows[layer][i + 1],
                   value = rows[layer][i + 2];
      if (!std::isfinite(channel) || !std::isfinite(position) || !std::isfinite(value)) continue;
      Place& place = places[{channel, position}];
      place.channel = channel, place.position = position;
      place.sum_abs += std::abs(value), place.sum += value, ++place.times;
    }
  }
  std::vector<Place> sorted;
  for (const auto& entry : places) sorted.push_back(entry.second);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Place& a, const Place& b) { return a.sum_abs > b.sum_abs; });
  return sorted;
}

}  // namespace

Aggregated aggregate(const SequenceValues& values, diagnostics::Aggregate rule, const Mask* mask) {
  return reduce_columns(values, mask, [rule](Column& column) {
    switch (rule) {
      case diagnostics::Aggregate::kMean: return sum(column) / static_cast<double>(column.size());
      case diagnostics::Aggregate::kMode: return mode(column).first;
      case diagnostics::Aggregate::kSum: return sum(column);
      case diagnostics::Aggregate::kMax: return *std::max_element(column.begin(), column.end());
    }
    return kNoData;
  });
}

Aggregated mode_share(const SequenceValues& values) {
  return reduce_columns(values, nullptr, [](Column& column) {
    return static_cast<double>(mode(column).second) / static_cast<double>(column.size());
  });
}

Aggregated majority_class(const SequenceValues& values) {
  return reduce_columns(values, nullptr, [](Column& column) { return majority(column); });
}

Aggregated class_counts(const SequenceValues& values) {
  SequenceValues flags;
  for (const auto& [id, rows] : values) {
    auto& out = flags[id];
    for (const auto& row : rows) {
      auto& flag = out.emplace_back();
      for (const double code : row) {
        for (const auto c : {HeadClass::kNop, HeadClass::kBroadcast, HeadClass::kOther}) {
          flag.push_back(std::isnan(code) ? kNoData : code == static_cast<double>(c));
        }
      }
    }
  }
  return aggregate(flags, diagnostics::Aggregate::kSum);
}

Aggregated top_places(const SequenceValues& values) {
  // Shape and counts as for any metric; the values are replaced.
  Aggregated result = aggregate(values, diagnostics::Aggregate::kMean);
  for (size_t layer = 0; layer < result.value.size(); ++layer) {
    const std::vector<Place> places = places_of_layer(values, layer);
    auto& row = result.value[layer];
    std::fill(row.begin(), row.end(), kNoData);
    std::fill(result.count[layer].begin(), result.count[layer].end(), 0);
    for (size_t i = 0; i < places.size() && 3 * i + 2 < row.size(); ++i) {
      row[3 * i] = places[i].channel;
      row[3 * i + 1] = places[i].position;
      row[3 * i + 2] = places[i].sum / static_cast<double>(places[i].times);
      std::fill_n(result.count[layer].begin() + static_cast<std::ptrdiff_t>(3 * i), 3,
                  places[i].times);
    }
  }
  return result;
}

}  // namespace sinkscope::store
