#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace sinkscope::stats::test {

/// Standard normal entries, the same on every machine up to the library's normal distribution.
inline at::Tensor random_tensor(std::initializer_list<int64_t> shape, uint64_t seed) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.data_ptr<float>()[i] = normal(random);
  return tensor;
}

inline at::Tensor matrix(const std::vector<std::vector<double>>& rows) {
  at::Tensor tensor = at::empty(
      {static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows.at(0).size())}, at::kDouble);
  double* entry = tensor.data_ptr<double>();
  for (const auto& row : rows) {
    for (const double value : row) *entry++ = value;
  }
  return tensor;
}

inline at::Tensor identity(int64_t width) {
  std::vector<std::vector<double>> rows(static_cast<size_t>(width),
                                        std::vector<double>(static_cast<size_t>(width)));
  for (size_t i = 0; i < rows.size(); ++i) rows[i][i] = 1;
  return matrix(rows);
}

}  // namespace sinkscope::stats::test
