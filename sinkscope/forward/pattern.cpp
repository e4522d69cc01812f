#include "sinkscope/forward/pattern.h"

#include <ATen/ATen.h>

#include <limits>

namespace sinkscope::forward {

at::Tensor pattern_rows(const at::Tensor& q, const at::Tensor& k, double scale,
                        const Visibility& visibility, int64_t first, int64_t count) {
  const int64_t tokens = k.size(0), group = q.size(1) / k.size(1);
  const at::Tensor queries = q.narrow(0, first, count).transpose(0, 1);  // [H, R, K]
  const at::Tensor keys =
      k.transpose(0, 1).repeat_interleave(group, 0).transpose(1, 2);  // [H, K, T]
  at::Tensor hidden = at::ones({count, tokens}, at::kBool);
  bool* mask = hidden.data_ptr<bool>();
  for (int64_t r = 0; r < count; ++r) {
    const Visibility::Range range = visibility.keys_of(first + r, tokens);
    std::fill(mask + r * tokens + range.first,
              mask + r * tokens + std::max(range.first, range.last), false);
  }
  const at::Tensor scores = at::matmul(queries, keys)
                                .mul_(scale)
                                .masked_fill_(hidden, -std::numeric_limits<double>::infinity());
  // A query that sees no key gets a row of zeros, not NaN.
  return at::softmax(scores, -1).masked_fill_(hidden, 0);
}

}  // namespace sinkscope::forward
