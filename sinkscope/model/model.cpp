#include "sinkscope/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "sinkscope/base/error.h"
#include "sinkscope/io/safetensors.h"

namespace sinkscope::model {
namespace fs = std::filesystem;
namespace {

/// Newest-named snapshot of "owner/name" in the hub cache, or empty.
fs::path hub_snapshot(std::string_view id) {
  const char* home = std::getenv("HF_HOME");
  const char* user = std::getenv("HOME");
  fs::path hub =
      home ? fs::path(home) / "hub" : fs::path(user ? user : "") / ".cache/huggingface/hub";
  std::string folder = "models--" + std::string(id);
  for (size_t slash; (slash = folder.find('/')) != std::string::npos;)
    folder.replace(slash, 1, "--");
  hub /= folder;
  if (!fs::is_directory(hub)) return {};
  std::string revision;
  std::ifstream(hub / "refs/main") >> revision;
  if (!revision.empty() && fs::is_directory(hub / "snapshots" / revision))
    return hub / "snapshots" / revision;
  fs::path found;
  if (fs::is_directory(hub / "snapshots")) {
    for (const auto& entry : fs::directory_iterator(hub / "snapshots")) {
      if (entry.is_directory() && entry.path() > found) found = entry.path();
    }
  }
  return found;
}

void check_not_empty(const io::TensorSource& source, const fs::path& path,
                     std::string_view wanted) {
  if (!source.tensors().empty()) return;
  throw Error(ErrorKind::kBadFile, "open model",
              fmt::format("{} holds no tensors: {} is missing", path.string(), wanted),
              "it may be a vocabulary-only file");
}

}  // namespace

fs::path resolve_model(std::string_view argument) {
  const fs::path path(argument);
  std::error_code ignored;
  if (fs::exists(path, ignored)) return path;
  const bool could_be_id = std::count(argument.begin(), argument.end(), '/') == 1 &&
                           argument.front() != '/' && argument.front() != '.' &&
                           !argument.ends_with(".gguf");
  if (could_be_id) {
    if (const fs::path snapshot = hub_snapshot(argument); !snapshot.empty()) return snapshot;
    throw Error(ErrorKind::kUsage, "open model",
                fmt::format("no file, directory or cached model \"{}\"", argument),
                fmt::format("`hf download {}` brings it into the local hub cache", argument));
  }
  throw Error(ErrorKind::kUsage, "open model", fmt::format("no file or directory \"{}\"", argument),
              "give a .gguf file, a directory with config.json and safetensors, or owner/name of a "
              "cached model");
}

std::unique_ptr<Model> Model::open(std::string_view argument, Weights::Options options) {
  std::unique_ptr<Model> model(new Model);
  model->path_ = resolve_model(argument);
  const Family* family = nullptr;
  if (fs::is_directory(model->path_)) {
    io::Config config = io::Config::load(model->path_ / "config.json");
    if (!is_known(config) && config.has("text_config"))
      config = inner_config(config, "text_config");
    family = &find_family(config);
    model->spec_ = family->read_config(config);
    model->source_ = io::open_safetensors(model->path_);
    check_not_empty(*model->source_, model->path_, family->weights.front().safetensors);
  } else if (model->path_.extension() == ".safetensors") {
    throw Error(ErrorKind::kUsage, "open model",
                model->path_.string() + ": weights without config.json",
                "give the directory that holds config.json and the weights");
  } else {
    std::shared_ptr<io::GgufFile> file = io::GgufFile::open(model->path_);
    family = &find_family(*file);
    check_not_empty(*file, model->path_, family->weights.front().gguf);
    model->spec_ = family->read_gguf(*file);
    model->gguf_ = file.get();
    model->source_ = std::move(file);
  }
  model->weights_ = std::make_unique<Weights>(model->source_, *family, model->spec_, options);
  return model;
}

std::string Model::weight_types() const {
  std::map<std::string_view, int> counts;
  for (const io::TensorInfo& tensor : source_->tensors()) {
    if (tensor.shape.size() >= 2) ++counts[io::dtype_name(tensor.dtype)];
  }
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} x{}", text.empty() ? "" : ", ", name, count);
  return text;
}

std::vector<std::string> Model::notes() const {
  std::vector<std::string> notes = source_->notes();
  notes.insert(notes.end(), spec_.notes.begin(), spec_.notes.end());
  notes.insert(notes.end(), weights_->notes().begin(), weights_->notes().end());
  return notes;
}

}  // namespace sinkscope::model
