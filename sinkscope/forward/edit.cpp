#include "sinkscope/forward/edit.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "sinkscope/base/error.h"

namespace sinkscope::forward {
namespace {

constexpr const char* kOperation = "edit a stream";

void check_range(const char* what, int64_t value, int64_t end) {
  if (value >= 0 && value < end) return;
  throw Error(ErrorKind::kUsage, kOperation, fmt::format("{} {}", what, value),
              fmt::format("0 to {}", end - 1));
}

/// Undefined, or [K], or [T, K] where `tokens` is not 0.
void check_tensor(const at::Tensor& tensor, int64_t width, int64_t tokens) {
  if (!tensor.defined()) return;
  const bool shape = tensor.sizes() == at::IntArrayRef{width} ||
                     (tokens > 0 && tensor.sizes() == at::IntArrayRef{tokens, width});
  if (shape && tensor.scalar_type() == at::kFloat && tensor.is_contiguous()) return;
  throw Error(ErrorKind::kUsage, kOperation, "a vector of another size than the head",
              fmt::format("float32 of {} numbers", width));
}

/// One overload per kind of edit.
struct Checker {
  const model::ModelSpec& spec;
  int64_t tokens;

  void head(int64_t h) const { check_range("head", h, spec.heads); }
  void position(int64_t p) const { check_range("position", p, tokens); }

  void operator()(const ValueEdit& e) const {
    head(e.head), position(e.position);
    check_tensor(e.value, spec.head_width, 0);
  }
  void operator()(const ColumnEdit& e) const {
    if (e.head != kAllHeads) head(e.head);
    position(e.position);
  }
  void operator()(const HeadEdit& e) const {
    head(e.head);
    check_tensor(e.z, spec.head_width, tokens);
  }
  void operator()(const LocalEdit& e) const {
    head(e.head), position(e.sink);
    check_tensor(e.payload, spec.head_width, 0);
  }
  void operator()(const RowEdit& e) const { position(e.position); }
  void operator()(const WindowEdit& e) const {
    if (e.window >= 1 && spec.causal) return;
    throw Error(ErrorKind::kUsage, kOperation, fmt::format("a window of {} keys", e.window),
                "at least 1, in a causal model");
  }
  void operator()(const BranchEdit& e) const {
    position(e.position);
    if (e.branch == Branch::kAttention || spec.mlp) return;
    throw Error(ErrorKind::kUsage, kOperation, "an edit of the MLP",
                "blocks of this model are attention alone");
  }
  void operator()(const PathwayEdit& e) const {
    if (spec.pathway == 0) {
      throw Error(ErrorKind::kUsage, kOperation, "an edit of the global pathway",
                  "blocks of this model have none");
    }
    if (!e.message.defined() || e.message.sizes() == at::IntArrayRef{1, spec.pathway}) return;
    throw Error(ErrorKind::kUsage, kOperation, "a message of another size than the pathway",
                fmt::format("1 x {} numbers", spec.pathway));
  }
  void operator()(const ChannelEdit& e) const {
    if (e.position != -1) position(e.position);
    if (e.channels.size() != e.values.size()) {
      throw Error(ErrorKind::kInternal, kOperation,
                  fmt::format("{} channels and {} values", e.channels.size(), e.values.size()));
    }
    for (const int64_t channel : e.channels) check_range("channel", channel, spec.width);
  }
  void operator()(const SplitEdit& e) const {
    check_range("number of channels", e.channels, spec.width);
  }
};

}  // namespace

int64_t layer_of(const Edit& edit) {
  return std::visit([](const auto& e) { return e.layer; }, edit);
}

int64_t first_layer(const Fork& fork) {
  if (fork.edits.empty()) throw Error(ErrorKind::kInternal, kOperation, "a fork without edits");
  int64_t first = layer_of(fork.edits.front());
  for (const Edit& edit : fork.edits) first = std::min(first, layer_of(edit));
  return first;
}

void check_fork(const model::ModelSpec& spec, const Fork& fork, std::span<const Stream> streams) {
  check_range("sequence", fork.parent, std::ssize(streams));
  const Stream& stream = streams[static_cast<size_t>(fork.parent)];
  const Checker checker{spec, tokens_of(spec, stream)};
  first_layer(fork);
  for (const Edit& edit : fork.edits) {
    check_range("block", layer_of(edit), spec.layers);
    std::visit(checker, edit);
  }
}

}  // namespace sinkscope::forward
