#pragma once

#include <cstdint>

#include "sinkscope/io/gguf_cursor.h"
#include "sinkscope/io/gguf_header.h"

namespace sinkscope::io {

/// Reads `count` tensor descriptions into `header` and checks where their data lie.
void read_gguf_tensors(GgufCursor& cursor, uint64_t count, GgufHeader& header);

}  // namespace sinkscope::io
