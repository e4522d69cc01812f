#include "sinkscope/forward/stream.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "sinkscope/base/error.h"

namespace sinkscope::forward {
namespace {

[[noreturn]] void refuse(const std::string& seen, const std::string& hint = {}) {
  throw Error(ErrorKind::kUsage, "run the model", seen, hint);
}

void check_indices(const std::vector<int32_t>& values, int64_t count, size_t index,
                   const char* what, const char* table) {
  for (const int32_t value : values) {
    if (value >= 0 && value < count) continue;
    refuse(fmt::format("sequence {} holds {} {}, the {} is 0..{}", index, what, value, table,
                       count - 1));
  }
}

/// Tokens of a stream that is no image.
int64_t rows_of(const Stream& stream) {
  return stream.vectors.defined() ? stream.vectors.size(0)
                                  : static_cast<int64_t>(stream.ids.size());
}

/// Throws where the stream is of another kind than the model reads.
void check_kind(const model::ModelSpec& spec, const Stream& stream, size_t index) {
  const char* kind = stream.pixels.defined()    ? "an image"
                     : stream.vectors.defined() ? "rows of numbers"
                                                : "text";
  if (spec.is_vision() && !stream.pixels.defined()) {
    refuse(fmt::format("sequence {} is {}, {} reads images", index, kind, spec.family),
           "give --images or --pixels");
  }
  if (spec.is_vision()) return;
  if (stream.pixels.defined() || stream.vectors.defined() != spec.vectors ||
      (spec.vectors && !stream.ids.empty())) {
    refuse(fmt::format("sequence {} is {}, {} reads {}", index, stream.ids.empty() ? kind : "text",
                       spec.family, spec.vectors ? "rows of numbers" : "text"));
  }
}

void check_image(const model::ModelSpec& spec, const Stream& stream, size_t index) {
  const model::Vision& vision = spec.vision;
  const at::Tensor& p = stream.pixels;
  if (p.dim() != 3 || p.size(0) != vision.channels || p.size(1) < vision.patch ||
      p.size(2) < vision.patch) {
    refuse(
        fmt::format("image {} has {} channels of {} x {}, expected {} channels and at least one "
                    "patch of {} x {}",
                    index, p.dim() == 3 ? p.size(0) : 0, p.dim() == 3 ? p.size(1) : 0,
                    p.dim() == 3 ? p.size(2) : 0, vision.channels, vision.patch, vision.patch));
  }
}

void check_ids(const model::ModelSpec& spec, const Stream& stream, size_t index) {
  check_indices(stream.ids, spec.vocabulary, index, "id", "vocabulary");
  if (stream.token_types.empty()) return;
  check_indices(stream.token_types, spec.token_types, index, "token type", "model's range");
  if (stream.token_types.size() != stream.ids.size()) {
    refuse(fmt::format("sequence {} has {} ids and {} token types", index, stream.ids.size(),
                       stream.token_types.size()));
  }
}

void check_vectors(const model::ModelSpec& spec, const Stream& stream, size_t index) {
  const at::Tensor& rows = stream.vectors;
  if (rows.scalar_type() != at::kFloat || rows.size(1) != spec.width) {
    refuse(fmt::format("sequence {} has rows of {} {}, expected {} float32", index, rows.size(1),
                       c10::toString(rows.scalar_type()), spec.width));
  }
  if (!rows.isfinite().all().item<bool>()) {
    refuse(fmt::format("sequence {} holds numbers that are not finite", index));
  }
}

void check_rows(const model::ModelSpec& spec, const Stream& stream, size_t index) {
  if (spec.vectors && stream.vectors.dim() != 2) {
    refuse(fmt::format("sequence {} has {} dimensions, expected [tokens, {}]", index,
                       stream.vectors.dim(), spec.width));
  }
  const int64_t length = rows_of(stream);
  if (length == 0) refuse(fmt::format("sequence {} is empty", index));
  spec.vectors ? check_vectors(spec, stream, index) : check_ids(spec, stream, index);
  if (!stream.documents.empty() &&
      (stream.documents.front() != 0 || stream.documents.back() >= length ||
       !std::is_sorted(stream.documents.begin(), stream.documents.end(), std::less_equal<>()))) {
    refuse(fmt::format("documents of sequence {} do not start at 0 and ascend below its {} tokens",
                       index, length));
  }
  if (spec.positions != model::Positions::kLearned &&
      spec.positions != model::Positions::kFirstNorm) {
    return;
  }
  const std::vector<int32_t> positions = positions_of(stream, length);
  const int64_t last = *std::max_element(positions.begin(), positions.end());
  if (last >= spec.context) {
    refuse(fmt::format("sequence {} has {} tokens, the model has {} learned positions", index,
                       last + 1, spec.context),
           "shorten it with --seq-len");
  }
}

}  // namespace

PatchGrid grid_of(const model::ModelSpec& spec, const Stream& stream) {
  return {stream.pixels.size(1) / spec.vision.patch, stream.pixels.size(2) / spec.vision.patch};
}

int64_t tokens_of(const model::ModelSpec& spec, const Stream& stream) {
  if (!spec.is_vision()) return rows_of(stream);
  const PatchGrid grid = grid_of(spec, stream);
  return spec.vision.prefix() + grid.rows * grid.columns;
}

Documents::Documents(const Stream& stream) {
  if (stream.documents.size() < 2) return;
  const int64_t tokens = rows_of(stream);
  for (size_t d = 0; d < stream.documents.size(); ++d) {
    const int64_t begin = stream.documents[d],
                  last = d + 1 < stream.documents.size() ? stream.documents[d + 1] : tokens;
    first.insert(first.end(), static_cast<size_t>(last - begin), begin);
    end.insert(end.end(), static_cast<size_t>(last - begin), last);
  }
}

Visibility visibility_of(const model::ModelSpec& spec, int64_t layer, const Documents& documents) {
  Visibility visibility;
  visibility.causal = spec.causal;
  visibility.window = spec.blocks[static_cast<size_t>(layer)].window;
  if (!documents.first.empty()) {
    visibility.document_first = documents.first.data();
    visibility.document_end = documents.end.data();
  }
  return visibility;
}

std::vector<int32_t> positions_of(const Stream& stream, int64_t tokens) {
  std::vector<int32_t> positions(static_cast<size_t>(tokens));
  size_t next_document = 1;
  int64_t start = 0;
  for (int64_t t = 0; t < tokens; ++t) {
    if (next_document < stream.documents.size() && stream.documents[next_document] == t)
      start = stream.documents[next_document++];
    positions[static_cast<size_t>(t)] = static_cast<int32_t>(t - start);
  }
  return positions;
}

void check_stream(const model::ModelSpec& spec, const Stream& stream, size_t index) {
  check_kind(spec, stream, index);
  spec.is_vision() ? check_image(spec, stream, index) : check_rows(spec, stream, index);
}

}  // namespace sinkscope::forward
