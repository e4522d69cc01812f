#include "sinkscope/app/task_inputs.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <limits>

#include "sinkscope/base/error.h"
#include "sinkscope/base/sha256.h"

namespace sinkscope::app {
namespace {

std::vector<std::string> kind_labels(const train::Task& task, const train::Batch& batch,
                                     int64_t index) {
  const std::vector<train::QueryKind> kinds = task.kinds();
  std::vector<std::string> labels;
  const at::Tensor row = batch.kinds[index].contiguous();
  for (int64_t t = 0; t < row.numel(); ++t) {
    const uint8_t kind = row.data_ptr<uint8_t>()[t];
    labels.push_back(fmt::format(
        "{} {}", kind < kinds.size() ? kinds[kind].name : std::string_view("extra"), t));
  }
  return labels;
}

std::string hash_of(const at::Tensor& tensor) {
  const at::Tensor whole = tensor.contiguous();
  return sha256_bytes({static_cast<const std::byte*>(whole.data_ptr()), whole.nbytes()});
}

at::Tensor row_losses(const train::Batch& batch, int64_t sequence, int64_t first,
                      const at::Tensor& rows) {
  const auto part = [&](const at::Tensor& whole) {
    return whole[sequence].narrow(0, first, rows.size(0));
  };
  train::Batch own;
  own.vectors = part(batch.vectors), own.target = part(batch.target);
  return train::token_losses(own, rows.to(at::kDouble))
      .masked_fill(part(batch.kinds).eq(train::kNotCounted),
                   std::numeric_limits<double>::quiet_NaN());
}

at::Tensor message_of(const train::Batch& batch, int64_t sequence) {
  const at::Tensor counted = batch.kinds[sequence].ne(train::kNotCounted).nonzero().squeeze(1);
  const at::Tensor updates =
      batch.target[sequence].to(at::kDouble).sub(batch.vectors[sequence]).index_select(0, counted);
  const at::Tensor mean = updates.mean(0, true);
  // Targets are float32 sums: what one update leaves of rounding is a few parts in 10^7.
  constexpr double kRounding = 1e-5;
  const double size = updates.norm().item<double>();
  const bool shared = size > 0 && (updates - mean).norm().item<double>() <= kRounding * size;
  return shared ? mean.squeeze(0) : at::Tensor();
}

}  // namespace

Inputs task_inputs(const train::Task& task, std::shared_ptr<const train::Batch> batch) {
  const int64_t count = batch->kinds.size(0);
  const bool vectors = batch->vectors.defined();
  Inputs inputs;
  inputs.kind = "task";
  inputs.available = count;
  inputs.sha256 = hash_of(vectors ? batch->vectors : batch->ids);
  for (int64_t i = 0; i < count; ++i) {
    store::SequenceInfo sequence;
    sequence.id = i;
    sequence.source = fmt::format("{} {}", task.name(), i);
    forward::Stream stream = train::stream_of(*batch, i);
    sequence.ids = std::move(stream.ids);
    if (vectors) sequence.rows = batch->vectors.size(1);
    inputs.sequences.push_back(std::move(sequence));
  }
  inputs.stream = [batch](const store::SequenceInfo& sequence) {
    return train::stream_of(*batch, sequence.id);
  };
  if (vectors) {
    inputs.row_losses = [batch](const store::SequenceInfo& sequence, int64_t first,
                                const at::Tensor& rows) {
      return row_losses(*batch, sequence.id, first, rows);
    };
    inputs.message = [batch](const store::SequenceInfo& sequence) {
      return message_of(*batch, sequence.id);
    };
  }
  std::vector<std::vector<std::string>> labels;
  for (const store::SequenceInfo& sequence : inputs.sequences) {
    std::vector<std::string>& own = labels.emplace_back();
    for (const int32_t id : sequence.ids) own.push_back(task.label(id));
    if (vectors) own = kind_labels(task, *batch, sequence.id);
  }
  inputs.labels = [labels](const store::SequenceInfo& sequence) {
    return labels[static_cast<size_t>(sequence.id)];
  };
  return inputs;
}

bool names_nothing(const InputOptions& options) {
  return options.files.empty() && options.prompts.empty() && options.tokens.empty() &&
         options.images.empty() && options.pixels.empty();
}

Inputs read_task_inputs(const InputOptions& options, const model::Model& model) {
  const io::Config config = io::Config::load(model.path() / "config.json");
  const std::unique_ptr<train::Task> task = train::task_of_model(config);
  if (!task) {
    throw Error(ErrorKind::kUsage, "read inputs", config.where() + ": the model names no task",
                "only models that `sinkscope train` made bring inputs of their own");
  }
  if (options.max_seqs < 1) {
    throw Error(ErrorKind::kUsage, "read inputs",
                fmt::format("--max-seqs {}: at least 1", options.max_seqs));
  }
  return task_inputs(*task, std::make_shared<const train::Batch>(
                                task->batch(train::Purpose::kEvaluation,
                                            static_cast<int64_t>(options.seed), options.max_seqs)));
}

}  // namespace sinkscope::app
