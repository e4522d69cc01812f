#include "sinkscope/app/theory/step_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sinkscope/app/theory/array.h"
#include "sinkscope/app/theory/calculator.h"
#include "sinkscope/app/theory/named.h"
#include "sinkscope/base/error.h"
#include "sinkscope/base/sha256.h"

namespace sinkscope::app {
namespace {

constexpr int64_t kMostWidth = 1024;    // matrix products and eigenvalues cost d^3
constexpr int64_t kDefaultWidth = 128;  // method.md section 9, Monte Carlo
constexpr double kAsymmetry = 1e-6;     // of the largest entry: a covariance kept in float32
constexpr uint64_t kMapPurpose = 1;     // of random numbers: apart from the tokens'
constexpr const char* kFileMap = "file";

/// A word without a dot is a misspelt kind, not a file.
template <typename Kinds>
Matrix read_file(const std::string& place, const std::string& flag, Kinds kinds) {
  if (place.find('.') == std::string::npos) {
    throw Error(ErrorKind::kUsage, "read flags", fmt::format("{} {}", flag, place),
                fmt::format("{}, a .npy file or FILE.safetensors:NAME", names_of(kinds)));
  }
  Matrix matrix = read_matrix(place, flag);
  if (matrix.rows != matrix.columns || matrix.rows > kMostWidth) {
    throw Error(ErrorKind::kUsage, "read a matrix",
                fmt::format("{} {}: {} x {}", flag, place, matrix.rows, matrix.columns),
                fmt::format("a square matrix of at most {} rows is wanted", kMostWidth));
  }
  return matrix;
}

void check_symmetric(const Matrix& matrix, const std::string& place) {
  const auto n = static_cast<size_t>(matrix.rows);
  double most = 0;
  for (const double entry : matrix.entries) most = std::max(most, std::abs(entry));
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double here = matrix.entries[i * n + j], there = matrix.entries[j * n + i];
      if (std::abs(here - there) <= kAsymmetry * most) continue;
      throw Error(ErrorKind::kUsage, "read a covariance",
                  fmt::format("{}: entry ({}, {}) is {}, entry ({}, {}) is {}", place, i, j, here,
                              j, i, there),
                  "a covariance is symmetric");
    }
  }
}

void check_finite(double value, const char* flag) {
  if (std::isfinite(value) && std::abs(value) <= 1e6) return;
  throw Error(ErrorKind::kUsage, "read flags", fmt::format("{} {}", flag, value),
              "a number between -1e6 and 1e6 is wanted");
}

int64_t common_width(const SmoothingOptions& options, int64_t map, int64_t covariance) {
  const int64_t file = std::max(map, covariance);
  const int64_t width = options.width > 0 ? options.width : file > 0 ? file : kDefaultWidth;
  for (const auto& [size, flag] : {std::pair{map, "--value-map"}, {covariance, "--covariance"}}) {
    if (size == 0 || size == width) continue;
    throw Error(ErrorKind::kUsage, "make an attention step",
                fmt::format("{}: the matrix has {} rows, d is {}", flag, size, width),
                "value map, covariance and --d must have the same width");
  }
  if (width < 1 || width > kMostWidth) {
    throw Error(ErrorKind::kUsage, "read flags", fmt::format("--d {}", options.width),
                fmt::format("1 to {}", kMostWidth));
  }
  return width;
}

}  // namespace

StepSource::StepSource(const SmoothingOptions& options, uint64_t seed)
    : options_(options), seed_(seed) {
  check_finite(options.scale, "--scale");
  check_finite(options.beta, "--beta");
  for (const double mean : options.means) check_finite(mean, "--mean");
  Matrix map, covariance;
  map_name_ = options.value_map;
  if (!find_named(theory::map_kinds(), options.value_map)) {
    map = read_file(options.value_map, "--value-map", theory::map_kinds());
    map_name_ = kFileMap;
  }
  const theory::CovarianceKind* kind = find_named(theory::covariance_kinds(), options.covariance);
  if (!kind) {
    covariance = read_file(options.covariance, "--covariance", theory::covariance_kinds());
    check_symmetric(covariance, options.covariance);
  }
  width_ = common_width(options, map.rows, covariance.rows);
  file_map_ = std::move(map.entries);
  if (kind) {
    const std::vector<double> eigenvalues = kind->eigenvalues(width_, options.rank);
    const size_t d = eigenvalues.size();
    covariance_.assign(d * d, 0);
    for (size_t c = 0; c < d; ++c) covariance_[c * d + c] = eigenvalues[c];
  } else {
    theory::covariance_root(covariance.entries, width_);  // refuses negative eigenvalues
    covariance_ = std::move(covariance.entries);
  }
}

double StepSource::spread() const {
  double sum = 0;
  for (size_t at = 0; at < covariance_.size(); at += static_cast<size_t>(width_) + 1) {
    sum += covariance_[at];
  }
  return sum;
}

bool StepSource::is_random(std::string_view map) const {
  const theory::MapKind* kind = find_named(theory::map_kinds(), map);
  return kind && kind->random;
}

theory::StepModel StepSource::model(std::string_view map, double factor, double mean,
                                    int64_t draw) const {
  theory::StepModel model;
  model.width = width_;
  if (const theory::MapKind* kind = find_named(theory::map_kinds(), map)) {
    std::mt19937_64 random(unit_seed(seed_, draw, kMapPurpose));
    model.map = kind->make(width_, options_.rank, random);
  } else {
    model.map = file_map_;
  }
  for (double& entry : model.map) entry *= factor;
  model.covariance = covariance_;
  model.mean.assign(static_cast<size_t>(width_), 0);
  model.mean[0] = mean;
  model.skip = !options_.no_skip;
  model.centred = options_.norm == "layer";
  return model;
}

store::Facts StepSource::settings() const {
  const auto text = [](const auto& value) { return nlohmann::json(value).dump(); };
  store::Facts facts = {{"d", std::to_string(width_)},
                        {"value_map", text(options_.value_map)},
                        {"covariance", text(options_.covariance)},
                        {"rank", std::to_string(options_.rank)},
                        {"scale", text(options_.scale)},
                        {"beta", text(options_.beta)},
                        {"mean", text(options_.means)},
                        {"skip", text(!options_.no_skip)},
                        {"norm", text(options_.norm)},
                        {"mc", std::to_string(options_.draws)}};
  const auto hash = [&](const std::vector<double>& entries) {
    return text(sha256_bytes(std::as_bytes(std::span(entries))));
  };
  if (!file_map_.empty()) facts["value_map.sha256"] = hash(file_map_);
  if (!find_named(theory::covariance_kinds(), options_.covariance))
    facts["covariance.sha256"] = hash(covariance_);
  return facts;
}

}  // namespace sinkscope::app
