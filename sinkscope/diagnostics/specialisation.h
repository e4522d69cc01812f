#pragma once

#include <cstdint>
#include <span>

namespace sinkscope::diagnostics {

/// Is an event a habit of the head (method.md section 14)? Codes of the metric "habit".
enum class Habit { kIdle = 0, kContingent = 1, kSpecialist = 2, kTooFew = 3 };

/// Specialist from 80 % of the inputs on, idle up to 5 %, judged from 30 inputs on.
Habit head_habit(int64_t events, int64_t inputs);

/// Spearman's rank correlation of two equally long lists; equal values share their mean rank. NaN
/// where one of them does not vary.
double rank_correlation(std::span<const double> x, std::span<const double> y);

/// Which of two random halves a sequence belongs to, by a hash of its id.
bool in_second_half(int64_t sequence);

/// First layer in which at most half of the events fall on first tokens, where the same holds in
/// every deeper one; layers with fewer than 20 events are passed over. -1: none. By layer:
/// `first_share` of the events, and their number.
int transition_layer(std::span<const double> first_share, std::span<const int64_t> events);

}  // namespace sinkscope::diagnostics
