#pragma once

#include <cstdint>

#include "sinkscope/io/gguf_cursor.h"
#include "sinkscope/io/gguf_header.h"

namespace sinkscope::io {

/// Reads `count` keys with their values into `header`.
void read_gguf_keys(GgufCursor& cursor, uint64_t count, GgufHeader& header);

/// general.alignment, 32 when absent; refused when it is no power of two of at least 8.
uint64_t gguf_alignment(const GgufCursor& cursor, const GgufHeader& header);

}  // namespace sinkscope::io
