#pragma once

#include <cstdint>
#include <vector>

namespace sinkscope::forward {

/// Which keys a query may see: always one contiguous range. Padding is cut away before a stream
/// is made, so it needs no mask here.
struct Visibility {
  bool causal = true;
  int64_t window = 0;  ///< exactly this many keys, the query itself included; 0: no window
  /// First position of the document that holds each position, [T]; null: one document.
  const int64_t* document_first = nullptr;
  /// One past the last position of the document, [T]; used when not causal. Null with the above.
  const int64_t* document_end = nullptr;

  struct Range {
    int64_t first, last;  ///< keys [first, last)
  };
  Range keys_of(int64_t query, int64_t tokens) const;
  /// How many queries see each key, [T].
  std::vector<int64_t> queries_of_keys(int64_t tokens) const;
};

/// Row summaries of one head over one sequence, filled by an attention kernel while each block of
/// final softmax rows is still in cache. O(T) memory. Column sums are double, per-row numbers
/// float.
struct AttentionSums {
  // by key [T]
  std::vector<double> key_mass;     ///< sum_i A_ik
  std::vector<double> key_mass_sq;  ///< sum_i A_ik^2
  std::vector<int32_t> key_events;  ///< count of A_ik >= event_mass
  // by query [T]; a query without a visible key holds zeros
  std::vector<float> row_entropy;  ///< -sum_j A_ij log A_ij, nats (the missing share left out)
  std::vector<float> row_square;   ///< sum_j A_ij^2
  std::vector<float> row_self;     ///< A_ii
  std::vector<float> row_missing;  ///< mass on no token: the learned sink logit's or the extra
                                   ///< key's; empty without one

  void resize(int64_t tokens, bool missing);  ///< zero-filled
};

}  // namespace sinkscope::forward
