#include "sinkscope/train/tasks/registers.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace sinkscope::train {
namespace {

class Registers : public Task {
 public:
  Registers(std::unique_ptr<Task> task, int64_t count) : task_(std::move(task)), count_(count) {}

  std::string_view name() const override { return task_->name(); }

  nlohmann::ordered_json settings() const override {
    nlohmann::ordered_json json = task_->settings();
    json["registers"] = count_;
    return json;
  }

  model::ModelSpec spec() const override {
    model::ModelSpec spec = task_->spec();
    spec.context += count_;
    if (!spec.vectors) spec.vocabulary += count_;
    return spec;
  }

  std::vector<QueryKind> kinds() const override { return task_->kinds(); }

  Batch batch(Purpose purpose, int64_t number, int64_t sequences) const override {
    Batch batch = task_->batch(purpose, number, sequences);
    const auto before = [&](const at::Tensor& rest, const at::Tensor& rows) {
      return at::cat({rows.to(rest.scalar_type()), rest}, 1);
    };
    if (batch.vectors.defined()) {
      const at::Tensor zeros = at::zeros({sequences, count_, batch.vectors.size(2)});
      batch.vectors = before(batch.vectors, zeros);
      batch.target = before(batch.target, zeros);
    } else {
      const at::Tensor own =
          (at::arange(count_) + task_->spec().vocabulary).expand({sequences, count_});
      batch.ids = before(batch.ids, own);
      batch.target = before(batch.target, at::zeros({sequences, count_}));
    }
    batch.kinds = before(batch.kinds, at::full({sequences, count_}, kNotCounted, at::kByte));
    batch.keys = batch.keys + count_;
    return batch;
  }

  std::string label(int64_t id) const override {
    const int64_t first = task_->spec().vocabulary;
    return id < first ? task_->label(id) : fmt::format("<register {}>", id - first);
  }

 private:
  std::unique_ptr<Task> task_;
  int64_t count_;
};

}  // namespace

std::unique_ptr<Task> with_registers(std::unique_ptr<Task> task, int64_t count) {
  if (count == 0) return task;
  return std::make_unique<Registers>(std::move(task), count);
}

}  // namespace sinkscope::train
