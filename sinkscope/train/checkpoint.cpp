// Files of a Trainer: the model for every other command, and all of a run for going on.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/io/pending_file.h"
#include "sinkscope/io/safetensors.h"
#include "sinkscope/model/families/lab.h"
#include "sinkscope/train/trainer.h"

namespace sinkscope::train {
namespace {

std::span<const std::byte> bytes_of(const at::Tensor& values, int64_t first, int64_t count) {
  const auto* data = reinterpret_cast<const std::byte*>(values.data_ptr<float>() + first);
  return {data, static_cast<size_t>(count) * sizeof(float)};
}

io::TensorToWrite vector_of(const char* name, const at::Tensor& values) {
  return {name, io::DType::kF32, {values.numel()}, bytes_of(values, 0, values.numel())};
}

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& seen) {
  throw Error(ErrorKind::kBadFile, "go on with a training run", file.string() + ": " + seen,
              "another -o, or --overwrite, starts anew");
}

}  // namespace

void Trainer::write_model(const std::filesystem::path& directory) const {
  std::filesystem::create_directories(directory);
  std::vector<io::TensorToWrite> tensors;
  for (const Parameters::Entry& entry : parameters_.entries()) {
    tensors.push_back({entry.file_name, io::DType::kF32, entry.shape,
                       bytes_of(parameters_.values(), entry.first, entry.elements)});
  }
  io::write_safetensors(directory / "model.safetensors", tensors, {{"format", "pt"}});
  nlohmann::ordered_json config = model::lab_config(spec_);
  config["task"] = task_.settings();
  config["task"]["name"] = task_.name();
  config["trained_steps"] = done_;
  io::write_file(directory / "config.json", config.dump(1) + "\n", "write a model");
}

std::string identity_of(const Task& task, const model::ModelSpec& spec,
                        const TrainerOptions& options) {
  const OptimiserOptions& o = options.optimiser;
  nlohmann::ordered_json json = {{"task", task.name()},
                                 {"settings", task.settings()},
                                 {"model", model::lab_config(spec)},
                                 {"steps", options.steps},
                                 {"batch", options.batch},
                                 {"seed", options.seed},
                                 {"optimiser", o.name},
                                 {"rate", o.rate},
                                 {"weight_decay", o.weight_decay},
                                 {"beta1", o.beta1},
                                 {"beta2", o.beta2},
                                 {"momentum", o.momentum},
                                 {"schedule", o.schedule},
                                 {"rate_end", o.rate_end},
                                 {"warmup", o.warmup},
                                 {"clip", o.clip},
                                 {"penalty", options.penalty},
                                 {"gate_bias", options.gate_bias},
                                 {"embedding_deviation", options.embedding_deviation},
                                 {"freeze_sinks", options.freeze_sinks},
                                 {"skip_first_loss", options.skip_first_loss}};
  return json.dump();
}

void Trainer::save(const std::filesystem::path& file) const {
  const std::string identity = identity_of(task_, spec_, options_);
  const std::array<double, 2> progress = {static_cast<double>(done_), running_loss_};
  const std::vector<io::TensorToWrite> tensors = {
      vector_of("values", parameters_.values()),
      vector_of("first_moment", optimiser_.first()),
      vector_of("second_moment", optimiser_.second()),
      {"progress", io::DType::kF64, {2}, std::as_bytes(std::span(progress))},
      {"identity",
       io::DType::kU8,
       {static_cast<int64_t>(identity.size())},
       std::as_bytes(std::span(identity))}};
  io::write_safetensors(file, tensors);
}

void Trainer::load(const std::filesystem::path& file) {
  const std::unique_ptr<io::TensorSource> source = io::open_safetensors(file);
  const auto bytes = [&](const char* name, io::DType type) {
    const io::TensorInfo* tensor = source->find(name);
    if (!tensor || tensor->dtype != type) refuse(file, fmt::format("no tensor \"{}\"", name));
    return source->bytes(*tensor);
  };
  const std::span<const std::byte> identity = bytes("identity", io::DType::kU8);
  check_identity(file, {reinterpret_cast<const char*>(identity.data()), identity.size()});
  const std::pair<const char*, at::Tensor> kVectors[] = {{"values", parameters_.values()},
                                                         {"first_moment", optimiser_.first()},
                                                         {"second_moment", optimiser_.second()}};
  for (const auto& [name, into] : kVectors) {
    const std::span<const std::byte> from = bytes(name, io::DType::kF32);
    if (from.size() != into.nbytes()) {
      refuse(file, fmt::format("{} has {} bytes, expected {}", name, from.size(), into.nbytes()));
    }
    std::memcpy(into.data_ptr<float>(), from.data(), from.size());
  }
  std::array<double, 2> progress{};
  const std::span<const std::byte> from = bytes("progress", io::DType::kF64);
  if (from.size() != sizeof(progress)) refuse(file, "progress is not two numbers");
  std::memcpy(progress.data(), from.data(), from.size());
  if (!(progress[0] >= 0 && progress[0] <= static_cast<double>(options_.steps))) {
    refuse(file, fmt::format("{} steps done of {}", progress[0], options_.steps));
  }
  done_ = static_cast<int64_t>(progress[0]);
  running_loss_ = progress[1];
}

void Trainer::check_identity(const std::filesystem::path& file, std::string_view found) const {
  const std::string ours = identity_of(task_, spec_, options_);
  if (found == ours) return;
  const nlohmann::json theirs = nlohmann::json::parse(found, nullptr, false),
                       wanted = nlohmann::json::parse(ours);
  for (const auto& [key, value] : wanted.items()) {
    if (!theirs.is_object() || !theirs.contains(key)) refuse(file, "not of a training run");
    if (theirs[key] != value) {
      refuse(file, fmt::format("{} differs: {} there, {} asked for", key, theirs[key].dump(),
                               value.dump()));
    }
  }
  refuse(file, "of another run");
}

}  // namespace sinkscope::train
