#pragma once

#include "sinkscope/train/task.h"

namespace sinkscope::train {

// The tasks, a file each: the rows of the table in task.cpp.
std::unique_ptr<Task> make_conditional_damping(const io::Config& settings);
TrainerOptions conditional_damping_recipe(bool paper);
std::unique_ptr<Task> make_global_broadcast(const io::Config& settings);
TrainerOptions global_broadcast_recipe(bool paper);
std::unique_ptr<Task> make_bigram_backcopy(const io::Config& settings);
TrainerOptions bigram_backcopy_recipe(bool paper);
std::unique_ptr<Task> make_copy_paste(const io::Config& settings);
TrainerOptions copy_paste_recipe(bool paper);

inline constexpr TaskInfo kConditionalDamping{
    "conditional-damping",
    "keep some tokens, change others: a head that must be able to do nothing",
    make_conditional_damping, conditional_damping_recipe};
inline constexpr TaskInfo kGlobalBroadcast{
    "global-broadcast", "tell every token about one of them: a head that sends one message to all",
    make_global_broadcast, global_broadcast_recipe};
inline constexpr TaskInfo kBigramBackcopy{
    "bigram-backcopy", "copy after a trigger, else follow a bigram: an active and a dormant phase",
    make_bigram_backcopy, bigram_backcopy_recipe};
inline constexpr TaskInfo kCopyPaste{"copy-paste",
                                     "some positions fetch an earlier token, the others nothing",
                                     make_copy_paste, copy_paste_recipe};

/// Counted number from `least` to `most` under `key`; kUsage otherwise.
int64_t read_setting(const io::Config& settings, std::string_view key, int64_t fallback,
                     int64_t least, int64_t most);
double read_setting(const io::Config& settings, std::string_view key, double fallback, double least,
                    double most);
/// One of `words`, the first where the key is absent.
std::string read_setting(const io::Config& settings, std::string_view key,
                         std::initializer_list<std::string_view> words);

/// What the models of all tasks share: `heads` heads of width D / heads, learned positions.
model::ModelSpec lab_spec(int64_t layers, int64_t heads, int64_t width, int64_t tokens);

}  // namespace sinkscope::train
