#include "sinkscope/stats/update_moments.h"

#include <ATen/ops/linalg_svdvals.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/stats/matrices.h"

namespace sinkscope::stats {
namespace {

UpdateValues update_of(const at::Tensor& context, const at::Tensor& gram) {
  UpdateMoments moments(context.size(1));
  moments.add(context);
  return moments.value(gram);
}

UpdateValues update_of(const at::Tensor& context) {
  return update_of(context, test::identity(context.size(1)));
}

void expect_near(const UpdateValues& got, const UpdateValues& expected, double relative) {
  EXPECT_NEAR(got.energy / expected.energy, 1, relative);
  EXPECT_NEAR(got.stable_rank / expected.stable_rank, 1, relative);
  EXPECT_NEAR(got.common_mode, expected.common_mode, relative);
}

/// The definitions of method.md section 3, on U itself.
UpdateValues of_matrix(const at::Tensor& u) {
  const at::Tensor sigma = at::linalg_svdvals(u);
  const double energy = sigma.square().sum().item<double>();
  const double mean = u.mean(0).square().sum().item<double>() * static_cast<double>(u.size(0));
  return {energy, energy / sigma.square().max().item<double>(), mean / energy};
}

TEST(UpdateMoments, DiagonalUpdate) {
  const UpdateValues values = update_of(test::matrix({{2, 0}, {0, 1}}));
  EXPECT_NEAR(values.energy, 5, 1e-12);
  EXPECT_NEAR(values.stable_rank, 1.25, 1e-12);
  EXPECT_NEAR(values.common_mode, 0.5, 1e-12);
}

TEST(UpdateMoments, IdentityHasFullRank) {
  for (const int64_t n : {1, 2, 7, 64}) {
    const UpdateValues values = update_of(test::identity(n));
    EXPECT_NEAR(values.stable_rank, static_cast<double>(n), 1e-10);
    EXPECT_NEAR(values.common_mode, 1 / static_cast<double>(n), 1e-12);
  }
}

TEST(UpdateMoments, EqualRowsAreOneDirection) {
  const UpdateValues values =
      update_of(test::matrix(std::vector<std::vector<double>>(9, {0.5, -2, 3})));
  EXPECT_NEAR(values.stable_rank, 1, 1e-10);
  EXPECT_NEAR(values.common_mode, 1, 1e-12);
}

TEST(UpdateMoments, RowsOfZeroMeanHaveNoCommonMode) {
  const UpdateValues values = update_of(test::matrix({{1, 2}, {-1, -2}, {3, -1}, {-3, 1}}));
  EXPECT_NEAR(values.common_mode, 0, 1e-12);
  EXPECT_GT(values.stable_rank, 1);
}

// A = (1 - a) I + a 1 e_0^T on orthonormal values, n = 64.
TEST(UpdateMoments, OrthonormalValues) {
  const auto mixed = [](double a) {
    std::vector<std::vector<double>> rows(64, std::vector<double>(64));
    for (size_t i = 0; i < 64; ++i) rows[i][i] += 1 - a, rows[i][0] += a;
    return update_of(test::matrix(rows));
  };
  EXPECT_NEAR(mixed(0.97).stable_rank, 1.000926, 1e-6);
  EXPECT_NEAR(mixed(0.97).common_mode, 0.999060, 1e-6);
  EXPECT_NEAR(mixed(0.5).stable_rank, 1.913421, 1e-6);
  EXPECT_NEAR(mixed(0.5).common_mode, 0.515385, 1e-6);
  EXPECT_NEAR(mixed(0.2).stable_rank, 10.96, 1e-2);
  EXPECT_NEAR(mixed(0.2).energy, 63 * (0.2 * 0.2 + 0.8 * 0.8) + 1, 1e-10);
}

TEST(UpdateMoments, ZeroUpdateHasNoValues) {
  const at::Tensor rows = test::random_tensor({5, 3}, 1);
  const at::Tensor none = at::zeros({3, 3}, at::kFloat);
  for (const UpdateValues& values :
       {update_of(at::zeros({5, 3}, at::kFloat)), update_of(rows, none),
        UpdateMoments(3).value(test::identity(3))}) {
    EXPECT_EQ(values.energy, 0);
    EXPECT_TRUE(std::isnan(values.stable_rank));
    EXPECT_TRUE(std::isnan(values.common_mode));
  }
  EXPECT_TRUE(std::isnan(update_of(rows.mul(1e-17)).stable_rank));  // energy below 1e-30
  EXPECT_FALSE(std::isnan(update_of(rows.mul(1e-10)).stable_rank));
}

TEST(UpdateMoments, GramStandsForTheOutputProjection) {
  for (const int64_t tokens : {3, 40, 300}) {  // fewer than K, and more than one block of rows
    const at::Tensor context = test::random_tensor({tokens, 8}, 2),
                     w_o = test::random_tensor({20, 8}, 3);
    const at::Tensor w = w_o.to(at::kDouble);
    const UpdateValues expected = of_matrix(at::matmul(context.to(at::kDouble), w.t()));
    expect_near(update_of(context, at::matmul(w.t(), w)), expected, 1e-10);
    expect_near(update_of(context, at::matmul(w_o.t(), w_o)), expected, 1e-5);  // a gram in float
  }
}

TEST(UpdateMoments, MergeEqualsOnePassInAnyOrder) {
  const at::Tensor context = test::random_tensor({200, 8}, 4), gram = test::identity(8);
  const UpdateValues whole = update_of(context, gram);
  UpdateMoments first(8), second(8), third(8);
  first.add(context.narrow(0, 0, 1));
  second.add(context.narrow(0, 1, 150));
  second.add(context.narrow(0, 151, 9));
  third.add(context.narrow(0, 160, 40));
  third.merge(first);
  third.merge(UpdateMoments(8));
  third.merge(second);
  expect_near(third.value(gram), whole, 1e-12);
}

TEST(UpdateMoments, CopiesAreIndependent) {
  const at::Tensor context = test::random_tensor({10, 4}, 5), gram = test::identity(4);
  UpdateMoments original(4);
  original.add(context);
  const UpdateValues before = original.value(gram);
  UpdateMoments copy = original;
  copy.add(context.mul(3));
  expect_near(original.value(gram), before, 0);
  EXPECT_GT(copy.value(gram).energy, 9 * before.energy);
}

}  // namespace
}  // namespace sinkscope::stats
