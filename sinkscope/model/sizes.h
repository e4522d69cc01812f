#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sinkscope/io/config_json.h"
#include "sinkscope/io/gguf.h"
#include "sinkscope/model/model_spec.h"

namespace sinkscope::model {

// What the readers of sizes share.

/// No model has more; a larger number is damage, and every later product stays far from overflow.
inline constexpr int64_t kMaxSize = 1 << 24;

/// `value`; throws kBadFile naming `key` unless it lies in least..most.
int64_t check_size(int64_t value, const std::string& where, std::string_view key, int64_t least = 1,
                   int64_t most = kMaxSize);

/// Throws kBadFile naming `key` unless `value` is a positive finite number.
void check_positive(double value, const std::string& where, std::string_view key);

/// The name under which the file has the value; the usual one when it has none.
std::string present_name(const io::Config& config, io::Config::Names names);

/// attention_bias (of q, k, v and o) and mlp_bias, both false where they are absent.
void read_biases(const io::Config& config, ModelSpec& spec);
/// GGUF has no flag for these: a bias is on when its tensor is there.
void read_biases(const io::GgufFile& file, ModelSpec& spec);

/// A note for each outer key that inner_config did not take.
std::vector<std::string> overruled_notes(const io::Config& config);

}  // namespace sinkscope::model
