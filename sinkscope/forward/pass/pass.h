#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sinkscope/forward/edit.h"
#include "sinkscope/forward/pattern.h"
#include "sinkscope/forward/runner.h"
#include "sinkscope/forward/stream.h"

namespace sinkscope::forward {

/// cos and sin of the rotation of every position of a stream, [T, width / 2].
struct RotaryTable {
  int64_t half = 0;
  bool interleaved = false;
  std::vector<float> cos, sin;
};

/// The state of one call of Runner::run(): the batch of streams and the buffers of a layer. One
/// file per stage: input, attention, branches, readout; forks and their edits have their own.
class Pass {
 public:
  Pass(const model::Model& model, const RunOptions& options, std::span<const Stream> streams,
       std::span<const Fork> forks, std::span<Observer* const> observers);
  void run();

 private:
  // pass.cpp
  at::ScalarType weight_type() const { return options_.bfloat16 ? at::kBFloat16 : at::kFloat; }
  bool wanted(Tap tap, int layer) const;
  /// The parts of the streams that lie in rows [first, first + count), counted from `first`.
  std::vector<Segment> segments_of(int64_t first, int64_t count) const;
  void offer(Tap tap, int layer, const at::Tensor& tensor, int64_t first) const;
  void offer(Tap tap, int layer, const at::Tensor& tensor, std::span<const Segment> segments) const;
  void report_progress(int step) const;
  void check_finite(int layer) const;
  void finish_layer(int layer, const at::Tensor& resid_pre);
  /// Calls body(first, count) for the rows in chunks.
  template <class Body>
  void for_chunks(Body body) const {
    for (int64_t first = 0; first < rows_; first += options_.chunk_rows) {
      body(first, std::min(options_.chunk_rows, rows_ - first));
    }
  }
  at::Tensor normed(const at::Tensor& x, const model::NormWeights& norm) const;

  // pass_forks.cpp
  void join_forks(int layer);
  void make_buffers();
  /// The stream of the input that a stream is, or is a fork of.
  int64_t base_of(int64_t stream) const;
  const Segment& segment_of(int64_t stream) const;
  /// Calls visit(edit, segment) for every edit of type E at `layer`; `segment`: the fork's rows.
  template <class E, class Visit>
  void for_edits(int layer, Visit visit) const;
  void edit_residual(int layer);
  void edit_attention(int layer);
  void attend_edited(int layer, const Segment& rows, int64_t head, std::span<const Edit> edits);
  void divide_by_floor(const Segment& rows, int64_t head, const ColumnEdit& edit);
  void edit_rows(int layer);
  const PathwayEdit* pathway_edit(int layer, int64_t stream) const;
  void edit_branch(int layer, Branch branch, at::Tensor& out, int64_t first) const;
  at::Tensor before_norm(int layer, const at::Tensor& x, int64_t first) const;

  // pass_input.cpp
  void lay_out();
  void embed();
  at::Tensor embed_rows() const;     ///< of ids or of the rows that are given
  at::Tensor position_rows() const;  ///< [N, D] what positions add to each row
  at::Tensor embed_image(const Stream& stream) const;
  at::Tensor grid_positions(PatchGrid grid) const;  ///< [prefix_positions + patches, D]

  // pass_rotary.cpp
  void make_rotary();
  std::shared_ptr<const RotaryTable> text_rotary(const model::Rope& rope,
                                                 const Stream& stream) const;
  std::shared_ptr<const RotaryTable> patch_rotary(const Stream& stream) const;
  const RotaryTable* rotary_of(int layer, int64_t stream) const;

  // pass_attention.cpp
  at::Tensor attention_input(int layer, int64_t first, int64_t count) const;
  void apply_gates(const at::Tensor& x, int64_t first, int64_t count);
  void project_qkv(int layer);
  void norm_heads(const at::Tensor& heads, const model::NormWeights& norm) const;
  void rotate_rows(int layer, int64_t first, int64_t count);
  void prepare_scores(int layer);
  void attend(int layer);
  kernels::AttentionProblem problem_of(const Segment& rows) const;
  /// Calls body(first, count) for the rows of a pattern that may be held at once.
  template <class Body>
  static void for_pattern_rows(const Segment& stream, Body body) {
    constexpr int64_t kRows = 128;
    for (int64_t first = 0; first < stream.rows; first += kRows) {
      body(first, std::min(kRows, stream.rows - first));
    }
  }
  void offer_pattern(int layer) const;
  /// [H, count, T] rows of the pattern of a whole stream.
  at::Tensor pattern_of(const Segment& stream, int64_t first, int64_t count,
                        at::Tensor* missing = nullptr) const;
  ScoreRule score_rule(int64_t stream) const;
  void gather_pathway(int layer);
  at::Tensor relative_bias(int layer, PatchGrid grid) const;
  at::Tensor rounded_alibi(const Stream& stream) const;

  // pass_branches.cpp
  void add_branches(int layer);
  void add_experts_branch(int layer);
  at::Tensor attention_branch(int layer, int64_t first, int64_t count) const;
  at::Tensor mlp_branch(int layer, const at::Tensor& in, int64_t first) const;
  at::Tensor end_of_branch(at::Tensor x, const model::NormWeights& norm,
                           const at::Tensor& scale) const;
  at::Tensor mlp(const at::Tensor& x, const model::Linear& up, const model::Linear& down,
                 bool gated) const;
  at::Tensor experts(int layer, const at::Tensor& x) const;

  // pass_readout.cpp
  void read_out();
  void read_tokens(const model::NormWeights& norm);
  template <class Body>
  void for_readout(Body body) const;
  void read_pooled(const model::NormWeights& norm);

  at::Tensor heads_view(const at::Tensor& t, int64_t first_column, int64_t heads) const;
  at::Tensor q_view() const { return heads_view(qkv_, 0, spec_.heads); }
  at::Tensor k_view() const { return heads_view(qkv_, spec_.query_width(), spec_.kv_heads); }
  at::Tensor v_view() const {
    return heads_view(qkv_, spec_.query_width() + spec_.key_width(), spec_.kv_heads);
  }
  /// Factor on z, [count, H, K]; undefined where the model has none.
  at::Tensor gate_rows(int64_t first, int64_t count) const;
  /// [G, K] of a vector [G K]; undefined stays undefined.
  at::Tensor by_group(const at::Tensor& vector) const {
    return vector.defined() ? vector.view({spec_.kv_heads, spec_.head_width}) : vector;
  }

  const model::Model& model_;
  const RunOptions& options_;
  std::span<const Stream> streams_;
  std::span<const Fork> forks_;
  std::span<Observer* const> observers_;
  const model::ModelSpec& spec_;

  std::vector<Segment> whole_;  // rows of each stream, then of the forks that have left theirs
  std::vector<Documents> documents_;  // by stream
  int64_t rows_ = 0;                  // N
  at::Tensor resid_;                  // [N, D]
  at::Tensor first_norm_positions_;   // [N of the streams, D]; of Positions::kFirstNorm
  at::Tensor qkv_;                    // [N, qkv_width]
  at::Tensor z_;                      // [N, H K]
  at::Tensor gate_;                   // [N, H or H K]; of models with an output gate
  at::Tensor pathway_;  // [N, D]; of models with a pathway: what it reads, then what it adds
  model::BlockWeights weights_;
  std::vector<Visibility> visibility_;            // by stream and fork, of the layer in progress
  std::vector<std::vector<AttentionSums>> sums_;  // [stream or fork][head]
  std::vector<std::vector<std::shared_ptr<const RotaryTable>>> rotary_;  // [rope][stream]
  at::Tensor slopes_;                                                    // [H]
  std::vector<at::Tensor> bias_;  // by stream, [H, T or 1, T rounded up]
};

}  // namespace sinkscope::forward
