#include "sinkscope/store/merge.h"

#include <algorithm>
#include <string>

#include "sinkscope/base/error.h"

namespace sinkscope::store {

namespace {

Error internal(const std::string& seen) { return {ErrorKind::kInternal, "store sequences", seen}; }

}  // namespace

void add_curve(Curve& sum, const Curve& more) {
  const size_t positions = static_cast<size_t>(more.positions);
  if (more.queries.size() != positions || more.mass.size() % positions != 0) {
    throw internal("curve with arrays that do not fit its " + std::to_string(positions) +
                   " positions");
  }
  const size_t heads = more.mass.size() / positions;
  if (sum.positions == 0) {
    sum = more;
    return;
  }
  if (sum.mass.size() / static_cast<size_t>(sum.positions) != heads)
    throw internal("curve of other heads");
  if (sum.positions < more.positions) {
    Curve longer{more.positions, std::vector<double>(heads * positions),
                 std::vector<double>(positions)};
    const size_t old = static_cast<size_t>(sum.positions);
    for (size_t h = 0; h < heads; ++h) {
      std::copy_n(sum.mass.begin() + static_cast<ptrdiff_t>(h * old), old,
                  longer.mass.begin() + static_cast<ptrdiff_t>(h * positions));
    }
    std::copy(sum.queries.begin(), sum.queries.end(), longer.queries.begin());
    sum = std::move(longer);
  }
  const size_t stride = static_cast<size_t>(sum.positions);
  for (size_t h = 0; h < heads; ++h) {
    for (size_t k = 0; k < positions; ++k) sum.mass[h * stride + k] += more.mass[h * positions + k];
  }
  for (size_t k = 0; k < positions; ++k) sum.queries[k] += more.queries[k];
}

void add_sum(std::vector<double>& sum, std::span<const double> more) {
  if (sum.size() < more.size()) sum.resize(more.size());
  for (size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

}  // namespace sinkscope::store
