#include "sinkscope/train/task.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <limits>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/train/tasks/registers.h"
#include "sinkscope/train/tasks/tasks.h"

namespace sinkscope::train {
namespace {

constexpr TaskInfo kTasks[] = {kConditionalDamping, kGlobalBroadcast, kBigramBackcopy, kCopyPaste};

}  // namespace

at::Tensor token_losses(const Batch& batch, const at::Tensor& output) {
  if (batch.vectors.defined()) return (output - batch.target).square().mean(-1);
  const at::Tensor rows = at::log_softmax(output, -1);
  return rows.gather(-1, batch.target.unsqueeze(-1)).squeeze(-1).neg();
}

at::Tensor mean_loss(const Batch& batch, const at::Tensor& losses) {
  const at::Tensor counted = batch.kinds.ne(kNotCounted).to(losses.scalar_type());
  return (losses * counted).sum() / counted.sum();
}

std::vector<double> losses_by_kind(const Batch& batch, const at::Tensor& losses, size_t kinds) {
  std::vector<double> by_kind;
  for (size_t k = 0; k < kinds; ++k) {
    const at::Tensor chosen = losses.masked_select(batch.kinds.eq(static_cast<int64_t>(k)));
    by_kind.push_back(chosen.numel() > 0 ? chosen.to(at::kDouble).mean().item<double>()
                                         : std::numeric_limits<double>::quiet_NaN());
  }
  return by_kind;
}

forward::Stream stream_of(const Batch& batch, int64_t index) {
  forward::Stream stream;
  if (batch.vectors.defined()) {
    stream.vectors = batch.vectors[index].contiguous();
    return stream;
  }
  const at::Tensor ids = batch.ids[index].to(at::kInt).contiguous();
  stream.ids.assign(ids.data_ptr<int32_t>(), ids.data_ptr<int32_t>() + ids.numel());
  return stream;
}

std::span<const TaskInfo> all_tasks() { return kTasks; }

const TaskInfo& find_task(std::string_view name) {
  std::string known;
  for (const TaskInfo& task : kTasks) {
    if (task.name == name) return task;
    known += (known.empty() ? "" : ", ") + std::string(task.name);
  }
  throw Error(ErrorKind::kUsage, "choose the task", fmt::format("\"{}\"", io::printable(name)),
              known);
}

std::unique_ptr<Task> make_task(std::string_view name, const io::Config& settings) {
  return with_registers(find_task(name).make(settings),
                        read_setting(settings, "registers", int64_t{0}, 0, 64));
}

std::unique_ptr<Task> task_of_model(const io::Config& config) {
  const std::optional<io::Config> settings = config.child("task");
  if (!settings) return nullptr;
  return make_task(settings->text({"name"}), *settings);
}

}  // namespace sinkscope::train
