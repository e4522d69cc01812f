#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sinkscope/forward/stream.h"
#include "sinkscope/io/config_json.h"
#include "sinkscope/model/model_spec.h"
#include "sinkscope/train/options.h"
#include "sinkscope/train/random.h"

namespace sinkscope::train {

/// Kind of a token that no loss counts.
inline constexpr uint8_t kNotCounted = 255;

/// Sequences of a task and what is wanted of them. One of `vectors` and `ids` is defined.
struct Batch {
  at::Tensor vectors;  ///< float32 [B, T, D]
  at::Tensor ids;      ///< int64 [B, T]
  at::Tensor target;  ///< vectors: float32 [B, T, D], of the output; ids: int64 [B, T], the next id
  at::Tensor kinds;   ///< uint8 [B, T]: place in Task::kinds(), or kNotCounted
  at::Tensor keys;    ///< int64 [B]: position that the task expects queries to attend to
};

/// How the papers split a task's loss and its attention: by what a query has to do.
struct QueryKind {
  std::string_view name;
  std::string_view definition;
  double oracle = 0;  ///< loss of the best possible model; 0 where nothing is random
};

/// A task that makes sinks (method.md section 16): data without end, a loss, a small model.
class Task {
 public:
  virtual ~Task() = default;

  virtual std::string_view name() const = 0;
  /// What make_task() makes this very task of, without its name. Stands in a trained model's
  /// config.json, so that every command finds inputs for it.
  virtual nlohmann::ordered_json settings() const = 0;
  /// The model of the recipe, without variants.
  virtual model::ModelSpec spec() const = 0;
  virtual std::vector<QueryKind> kinds() const = 0;
  /// Batch `number` of a purpose, kTraining or kEvaluation. Its first sequences do not depend on
  /// `sequences`.
  virtual Batch batch(Purpose purpose, int64_t number, int64_t sequences) const = 0;
  /// Names of ids; empty where there are none.
  virtual std::string label(int64_t id) const { return std::to_string(id); }
};

/// Loss of every token, [B, T]: mean squared error over channels, or the negative log likelihood of
/// the next id in nats. `output` [B, T, D] is what leaves the last block, or logits [B, T, V].
at::Tensor token_losses(const Batch& batch, const at::Tensor& output);
/// Mean over the counted tokens.
at::Tensor mean_loss(const Batch& batch, const at::Tensor& token_losses);
/// By kind; NaN for a kind that does not occur.
std::vector<double> losses_by_kind(const Batch& batch, const at::Tensor& token_losses,
                                   size_t kinds);

/// Sequence `index` of a batch, as it runs through a model.
forward::Stream stream_of(const Batch& batch, int64_t index);

/// One row of the table of tasks.
struct TaskInfo {
  std::string_view name;
  std::string_view question;  ///< shown by --help
  /// `settings`: an object as Task::settings() gives it; what is absent has its default, that of
  /// the scaled-down recipe, or with "paper": true that of the published one. Throws kUsage naming
  /// the key and the range allowed.
  std::unique_ptr<Task> (*make)(const io::Config& settings);
  /// How it is trained: scaled down to minutes on two cores, or as published (method.md section
  /// 16).
  TrainerOptions (*recipe)(bool paper);
};
std::span<const TaskInfo> all_tasks();
/// Throws kUsage listing the names.
const TaskInfo& find_task(std::string_view name);

/// A task of the table, with the registers that "registers" asks for.
std::unique_ptr<Task> make_task(std::string_view name, const io::Config& settings);
/// The task of a lab model's config.json ("task": {"name": ..., settings}); null: it has none.
std::unique_ptr<Task> task_of_model(const io::Config& config);

}  // namespace sinkscope::train
