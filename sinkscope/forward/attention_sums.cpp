#include "sinkscope/forward/attention_sums.h"

#include <algorithm>

namespace sinkscope::forward {

Visibility::Range Visibility::keys_of(int64_t query, int64_t tokens) const {
  int64_t first = document_first ? document_first[query] : 0;
  int64_t last = causal ? query + 1 : (document_end ? document_end[query] : tokens);
  if (window > 0) {
    first = std::max(first, query - window + 1);
    if (!causal) last = std::min(last, query + window);
  }
  return {first, last};
}

std::vector<int64_t> Visibility::queries_of_keys(int64_t tokens) const {
  // A difference array: adding 1 to every key of every query one by one would be T^2.
  std::vector<int64_t> queries(static_cast<size_t>(tokens) + 1);
  for (int64_t i = 0; i < tokens; ++i) {
    const auto [first, last] = keys_of(i, tokens);
    if (first >= last) continue;
    queries[static_cast<size_t>(first)] += 1, queries[static_cast<size_t>(last)] -= 1;
  }
  for (size_t k = 1; k < queries.size(); ++k) queries[k] += queries[k - 1];
  queries.pop_back();
  return queries;
}

void AttentionSums::resize(int64_t tokens, bool missing) {
  const size_t n = static_cast<size_t>(tokens);
  key_mass.assign(n, 0);
  key_mass_sq.assign(n, 0);
  key_events.assign(n, 0);
  row_entropy.assign(n, 0);
  row_square.assign(n, 0);
  row_self.assign(n, 0);
  row_missing.assign(missing ? n : 0, 0);
}

}  // namespace sinkscope::forward
