#pragma once

#include "sinkscope/io/config_json.h"
#include "sinkscope/text/json_entries.h"
#include "sinkscope/text/tokenizer.h"

namespace sinkscope::text {

/// What the `post_processor` of tokenizer.json puts around a single text.
struct Surroundings {
  Ids front;
  Ids back;
};

/// Throws kUnsupported naming a construct that we do not read, kBadFile for a damaged one.
Surroundings read_surroundings(const io::Config& processor, const JsonEntries& entries);

}  // namespace sinkscope::text
