#pragma once

#include <vector>

#include "sinkscope/io/config_json.h"
#include "sinkscope/text/pre_tokenizer.h"
#include "sinkscope/text/rewrite.h"

namespace sinkscope::text {

/// The key `normalizer` of tokenizer.json; nothing when absent. Throws kUnsupported naming a
/// construct that we do not read, kBadFile for a damaged one.
std::vector<Rewrite> read_normalizer(const io::Config& tokenizer);

struct PreTokenizerSteps {
  PreTokenizer pre_tokenizer;
  bool byte_level = false;  ///< the model works on bytes, its vocabulary is spelt in byte letters
};

/// The key `pre_tokenizer`; refuses as read_normalizer does.
PreTokenizerSteps read_pre_tokenizer(const io::Config& tokenizer);

}  // namespace sinkscope::text
