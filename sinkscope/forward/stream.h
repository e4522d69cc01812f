#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "sinkscope/forward/attention_sums.h"
#include "sinkscope/model/model_spec.h"

namespace sinkscope::forward {

/// One sequence that runs through the model: token ids, the pixels of an image, or rows of numbers.
/// Padding is cut away before a stream is made: what a mask hides is not in it. Streams of a pass
/// need not be equally long.
struct Stream {
  std::vector<int32_t> ids = {};
  std::vector<int32_t> token_types = {};  ///< [T] for encoders that have types; empty: all 0
  /// First positions of packed documents, ascending, the first 0; empty: one document. No attention
  /// crosses a document's start, and positions count from it.
  std::vector<int64_t> documents = {};
  at::Tensor pixels = {};   ///< float32 [channels, height, width], normalised; defined: an image
  at::Tensor vectors = {};  ///< float32 [T, D]; defined: rows that enter as they are
};

/// Rows and columns of patches; a remainder smaller than a patch is dropped.
struct PatchGrid {
  int64_t rows = 0, columns = 0;
};
PatchGrid grid_of(const model::ModelSpec& spec, const Stream& stream);

/// Tokens of the stream in the model: ids, rows of numbers, or prefix tokens and patches.
int64_t tokens_of(const model::ModelSpec& spec, const Stream& stream);

/// Bounds of the document of every position, for Visibility; empty for one document.
struct Documents {
  explicit Documents(const Stream& stream);
  std::vector<int64_t> first, end;
};

/// What the queries of a block see of a stream. `documents` must outlive it.
Visibility visibility_of(const model::ModelSpec& spec, int64_t layer, const Documents& documents);

/// Position of every token, counted from its document's start.
std::vector<int32_t> positions_of(const Stream& stream, int64_t tokens);

/// Throws kUsage naming the stream: of another kind than the model reads, empty, ids or types
/// outside the model's tables, rows of another width or not finite, longer than the position table,
/// pixels of another form, an image smaller than a patch.
void check_stream(const model::ModelSpec& spec, const Stream& stream, size_t index);

}  // namespace sinkscope::forward
