#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "sinkscope/forward/kernels/attention_block.h"
#include "sinkscope/forward/kernels/attention_check.h"
#include "sinkscope/forward/kernels/attention_scratch.h"

namespace sinkscope::forward::kernels {
namespace {

// Scores of one block, rows x keys, at most this: half of a 512 KiB second-level cache. Longer rows
// get fewer tiles, and from about 10,000 keys on a single one that no longer fits.
constexpr int64_t kBlockBytes = 256 * 1024;
// Chunks of one head; with their column sums they bound both the balance and the memory.
constexpr int64_t kMaxChunks = 16;
constexpr int64_t kMinChunkPairs = 4096;  // (query, key) pairs below which a chunk does not pay
// Packed keys, values and column sums in flight; more heads wait for the next wave.
constexpr int64_t kWaveBytes = 32 * 1024 * 1024;

/// Grows and is never shrunk: fresh pages for every layer would cost as much as a small layer.
class Memory {
 public:
  std::byte* at_least(int64_t bytes) {
    if (bytes > size_) {
      data_.reset();
      data_.reset(static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), kAlign)));
      size_ = bytes;
    }
    return data_.get();
  }

 private:
  static constexpr std::align_val_t kAlign{64};
  struct Free {
    void operator()(std::byte* data) const { ::operator delete(data, kAlign); }
  };
  std::unique_ptr<std::byte, Free> data_;
  int64_t size_ = 0;
};

int64_t rounded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// What the heads of one problem share: who sees what, and where the rows are cut. Depends on the
/// problem alone, never on the number of threads.
struct StreamPlan {
  std::vector<Visibility::Range> visible;
  std::vector<RowChunk> chunks;  ///< of one head; head, packed and columns are filled in later
  int64_t column_keys = 0;       ///< sum over the chunks
};

std::vector<Visibility::Range> visible_keys(const AttentionProblem& problem) {
  std::vector<Visibility::Range> visible(static_cast<size_t>(problem.tokens));
  for (int64_t i = 0; i < problem.tokens; ++i) {
    const Visibility::Range range = problem.visibility.keys_of(i, problem.tokens);
    visible[i] = {std::max<int64_t>(range.first, 0), std::min(range.last, problem.tokens)};
  }
  return visible;
}

void set_panels(RowChunk& chunk, const PanelShape& shape) {
  int64_t begin = chunk.problem->tokens, end = 0;
  for (int64_t i = chunk.first_row; i < chunk.last_row; ++i) {
    if (chunk.visible[i].first >= chunk.visible[i].last) continue;
    begin = std::min(begin, chunk.visible[i].first);
    end = std::max(end, chunk.visible[i].last);
  }
  chunk.first_panel = begin < end ? begin / shape.keys : 0;
  chunk.last_panel = shape.panels(end);
}

StreamPlan plan_stream(const AttentionProblem& problem, const PanelShape& shape) {
  StreamPlan plan;
  plan.visible = visible_keys(problem);
  int64_t pairs = 0, widest = 1;
  for (const auto& range : plan.visible) {
    const int64_t keys = std::max<int64_t>(range.last - range.first, 0);
    pairs += keys;
    widest = std::max(widest, keys);
  }
  const int64_t tile_bytes = widest * kTileRows * static_cast<int64_t>(sizeof(float));
  const int64_t tiles = std::clamp<int64_t>(kBlockBytes / tile_bytes, 1, kMaxTiles);
  const int64_t target = std::max(kMinChunkPairs, (pairs + kMaxChunks - 1) / kMaxChunks);

  RowChunk chunk;
  chunk.problem = &problem;
  chunk.visible = plan.visible.data();
  chunk.tiles = tiles;
  int64_t chunk_pairs = 0;
  for (int64_t row = 0; row < problem.tokens; ++row) {
    chunk_pairs += std::max<int64_t>(plan.visible[row].last - plan.visible[row].first, 0);
    chunk.last_row = row + 1;
    const bool whole_blocks = (chunk.last_row - chunk.first_row) % (tiles * kTileRows) == 0;
    if ((chunk_pairs < target || !whole_blocks) && chunk.last_row < problem.tokens) continue;
    set_panels(chunk, shape);
    plan.column_keys += (chunk.last_panel - chunk.first_panel) * shape.keys;
    plan.chunks.push_back(chunk);
    chunk.first_row = chunk.last_row;
    chunk_pairs = 0;
  }
  return plan;
}

/// One key/value head with the query heads that read it.
struct Group {
  const AttentionProblem* problem = nullptr;
  const StreamPlan* plan = nullptr;
  int64_t kv_head = 0;
  PackedHead packed;

  int64_t heads() const { return problem->heads / problem->kv_heads; }
  int64_t key_bytes(const PanelShape& shape) const {
    return rounded(shape.panels(problem->tokens) * shape.keys * problem->width * sizeof(float));
  }
  int64_t value_bytes(const PanelShape& shape) const {
    const int64_t padded = shape.padded_width(problem->width);
    return rounded(shape.panels(problem->tokens) * shape.keys * padded * sizeof(float));
  }
  int64_t column_bytes() const {  // with room to round each array up
    const int64_t keys = problem->sums ? heads() * plan->column_keys : 0;
    return rounded(keys * (2 * sizeof(double) + sizeof(int32_t)) +
                   heads() * static_cast<int64_t>(plan->chunks.size()) * 3 * 64);
  }
};

/// Keys [panels][K][N] and values [panels * N][padded], zeros beyond the last token and channel.
void pack_panel(const Group& group, int64_t panel, const PanelShape& shape) {
  const AttentionProblem& problem = *group.problem;
  const int64_t width = problem.width, padded = shape.padded_width(width);
  float* keys = group.packed.keys + panel * shape.keys * width;
  float* values = group.packed.values + panel * shape.keys * padded;
  const int64_t first = panel * shape.keys;
  const int64_t count = std::min(shape.keys, problem.tokens - first);
  if (count < shape.keys) {
    std::fill_n(keys, shape.keys * width, 0.0f);
    std::fill_n(values, shape.keys * padded, 0.0f);
  }
  for (int64_t n = 0; n < count; ++n) {
    const float* k = problem.k + (first + n) * problem.k_stride + group.kv_head * width;
    const float* v = problem.v + (first + n) * problem.v_stride + group.kv_head * width;
    for (int64_t c = 0; c < width; ++c) keys[c * shape.keys + n] = k[c];
    std::copy_n(v, width, values + n * padded);
    std::fill_n(values + n * padded + width, padded - width, 0.0f);
  }
}

/// Groups that are worked on together: pack, run the chunks, add up the columns.
class Wave {
 public:
  Wave(const PanelShape& shape, Memory& memory, Memory& scratch)
      : shape_(shape), memory_(memory), scratch_(scratch) {}

  int64_t bytes_of(const Group& group) const {
    return group.key_bytes(shape_) + group.value_bytes(shape_) + group.column_bytes();
  }
  bool has_room_for(const Group& group) const {
    return groups_.empty() || bytes_ + bytes_of(group) <= kWaveBytes;
  }
  void add(const Group& group) {
    groups_.push_back(group);
    bytes_ += bytes_of(group);
  }

  void run(int threads) {
    if (groups_.empty()) return;
    place();
    pack(threads);
    run_chunks(threads);
    merge_columns(threads);
    groups_.clear();
    bytes_ = 0;
  }

 private:
  void place() {
    std::byte* next = memory_.at_least(bytes_);
    const auto take = [&next](int64_t bytes) {
      std::byte* taken = next;
      next += rounded(bytes);
      return taken;
    };
    chunks_.clear();
    summed_heads_.clear();
    for (Group& group : groups_) {
      group.packed.keys = reinterpret_cast<float*>(take(group.key_bytes(shape_)));
      group.packed.values = reinterpret_cast<float*>(take(group.value_bytes(shape_)));
      for (int64_t h = 0; h < group.heads(); ++h) {
        const size_t first = chunks_.size();
        for (RowChunk chunk : group.plan->chunks) {
          chunk.head = group.kv_head * group.heads() + h;
          chunk.packed = group.packed;
          if (group.problem->sums) {
            const int64_t keys = (chunk.last_panel - chunk.first_panel) * shape_.keys;
            chunk.columns.mass = reinterpret_cast<double*>(take(keys * sizeof(double)));
            chunk.columns.mass_sq = reinterpret_cast<double*>(take(keys * sizeof(double)));
            chunk.columns.events = reinterpret_cast<int32_t*>(take(keys * sizeof(int32_t)));
          }
          chunks_.push_back(chunk);
        }
        if (group.problem->sums) summed_heads_.push_back({first, chunks_.size()});
      }
    }
  }

  void pack(int threads) {
    struct Panel {
      const Group* group;
      int64_t index;
    };
    std::vector<Panel> panels;
    for (const Group& group : groups_) {
      for (int64_t p = 0; p < shape_.panels(group.problem->tokens); ++p) {
        panels.push_back({&group, p});
      }
    }
    const auto count = static_cast<int64_t>(panels.size());
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < count; ++i) pack_panel(*panels[i].group, panels[i].index, shape_);
  }

  void run_chunks(int threads) {
    int64_t floats = 0;
    for (const RowChunk& chunk : chunks_) floats = std::max(floats, Scratch::size(chunk, shape_));
    const auto count = static_cast<int64_t>(chunks_.size());
    threads = static_cast<int>(std::min<int64_t>(threads, count));
    const int64_t stride = rounded(floats * sizeof(float));
    std::byte* scratch = scratch_.at_least(stride * threads);
#pragma omp parallel num_threads(threads)
    {
      auto* mine = reinterpret_cast<float*>(scratch + stride * omp_get_thread_num());
#pragma omp for schedule(dynamic, 1)
      for (int64_t i = 0; i < count; ++i) run_chunk(chunks_[i], mine);
    }
  }

  /// In the order of the rows, whoever computed them.
  void merge_columns(int threads) {
    const auto count = static_cast<int64_t>(summed_heads_.size());
    if (count == 0) return;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t h = 0; h < count; ++h) {
      const auto [first, last] = summed_heads_[h];
      for (size_t i = first; i < last; ++i) add_to_sums(chunks_[i]);
    }
  }

  void add_to_sums(const RowChunk& chunk) const {
    AttentionSums& sums = chunk.problem->sums[chunk.head];
    const int64_t first = chunk.first_panel * shape_.keys;
    const int64_t last = std::min(chunk.last_panel * shape_.keys, chunk.problem->tokens);
    for (int64_t key = first; key < last; ++key) {
      sums.key_mass[key] += chunk.columns.mass[key - first];
      sums.key_mass_sq[key] += chunk.columns.mass_sq[key - first];
      sums.key_events[key] += chunk.columns.events[key - first];
    }
  }

  PanelShape shape_;
  Memory& memory_;
  Memory& scratch_;
  std::vector<Group> groups_;
  int64_t bytes_ = 0;
  std::vector<RowChunk> chunks_;                         ///< head by head
  std::vector<std::pair<size_t, size_t>> summed_heads_;  ///< ranges of chunks_ with statistics
};

}  // namespace

void attention_cpu(const AttentionProblem* problems, int64_t count, int threads) {
  const auto is_softmax = [](const AttentionProblem& p) {
    return p.scores.kind == model::ScoreKind::kSoftmax;
  };
  if (!std::all_of(problems, problems + count, is_softmax)) {
    return attention_aten(problems, count, threads);  // they are of one layer, hence of one form
  }
  threads = std::max(threads, 1);
  const PanelShape shape = panel_shape();
  std::vector<StreamPlan> plans(static_cast<size_t>(count));
  for (int64_t p = 0; p < count; ++p) {
    check_problem(problems[p]);
    plans[p] = plan_stream(problems[p], shape);
  }
  // Long streams first: what is left at the end is small. Equal ones keep their order.
  std::vector<int64_t> order(plans.size());
  for (size_t p = 0; p < order.size(); ++p) order[p] = static_cast<int64_t>(p);
  std::stable_sort(order.begin(), order.end(), [problems](int64_t a, int64_t b) {
    return problems[a].tokens > problems[b].tokens;
  });

  thread_local Memory memory, scratch;
  Wave wave(shape, memory, scratch);
  for (const int64_t p : order) {
    for (int64_t g = 0; g < problems[p].kv_heads; ++g) {
      const Group group{&problems[p], &plans[p], g, {}};
      if (!wave.has_room_for(group)) wave.run(threads);
      wave.add(group);
    }
  }
  wave.run(threads);
}

}  // namespace sinkscope::forward::kernels
