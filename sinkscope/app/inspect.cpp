#include "sinkscope/app/inspect.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sinkscope/app/inputs.h"
#include "sinkscope/app/memory.h"
#include "sinkscope/base/error.h"
#include "sinkscope/forward/runner.h"
#include "sinkscope/io/safetensors.h"
#include "sinkscope/report/json.h"
#include "sinkscope/report/text.h"

namespace sinkscope::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// NaN and infinite entries of one tensor.
struct BadNumbers {
  int64_t nan = 0, infinite = 0, first = -1;
};

BadNumbers count_bad(const io::TensorSource& source, const io::TensorInfo& tensor) {
  const int64_t elements = tensor.elements(), block = io::block_elements(tensor.dtype);
  const int64_t piece = (int64_t{1} << 16) / block * block;
  BadNumbers bad;
  std::vector<float> values;
  for (int64_t first = 0; first < elements; first += piece) {
    values.resize(static_cast<size_t>(std::min(piece, elements - first)));
    io::read_floats(source, tensor, first, values);
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i])) continue;
      (std::isnan(values[i]) ? bad.nan : bad.infinite) += 1;
      if (bad.first < 0) bad.first = first + static_cast<int64_t>(i);
    }
  }
  source.release(tensor);
  return bad;
}

std::vector<BadNumbers> count_all(const io::TensorSource& source) {
  std::vector<BadNumbers> bad(source.tensors().size());
  at::parallel_for(0, static_cast<int64_t>(bad.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      bad[static_cast<size_t>(t)] = count_bad(source, source.tensors()[static_cast<size_t>(t)]);
    }
  });
  return bad;
}

/// What is known of the file, whether or not it can be measured.
struct Opened {
  std::unique_ptr<model::Model> model;          ///< null when it cannot be measured
  std::string reason;                           ///< why not
  std::shared_ptr<const io::TensorSource> own;  ///< without a model
  const io::TensorSource* source = nullptr;
  const io::GgufFile* gguf = nullptr;
  std::string family;
};

Opened open_any(const std::string& argument) {
  Opened opened;
  const fs::path path = model::resolve_model(argument);
  if (fs::is_directory(path) || path.extension() != ".safetensors") {
    try {
      opened.model = model::Model::open(argument);
      opened.source = &opened.model->source();
      opened.gguf = opened.model->gguf();
      opened.family = opened.model->spec().family;
      return opened;
    } catch (const Error& error) {
      // A family that is not measured can still be listed; damage cannot.
      const bool lists = error.kind == ErrorKind::kUnsupported ||
                         (error.kind == ErrorKind::kBadFile && error.operation == "open model");
      if (!lists) throw;
      opened.reason = error.seen;
    }
  } else {
    opened.reason = "weights without config.json";
  }
  if (fs::is_directory(path) || path.extension() == ".safetensors") {
    opened.own = io::open_safetensors(path);
  } else {
    std::shared_ptr<io::GgufFile> file = io::GgufFile::open(path);
    opened.gguf = file.get();
    opened.family = file->text("general.architecture", "");
    opened.own = file;
  }
  opened.source = opened.own.get();
  return opened;
}

ordered_json model_json(const Opened& opened) {
  ordered_json model;
  model["path"] = opened.source->files().front().string();
  model["format"] = std::string(opened.source->format());
  model["family"] = opened.family.empty() ? ordered_json() : ordered_json(opened.family);
  model["measurable"] = opened.model != nullptr;
  if (!opened.model) {
    model["reason"] = opened.reason;
    return model;
  }
  const model::ModelSpec& spec = opened.model->spec();
  model["layers"] = spec.layers, model["heads"] = spec.heads, model["kv_heads"] = spec.kv_heads;
  model["head_dim"] = spec.head_width, model["d_model"] = spec.width, model["mlp"] = spec.mlp_width;
  if (spec.is_vision()) {
    model["image"] = {spec.vision.image_height, spec.vision.image_width};
    model["patch"] = spec.vision.patch, model["prefix_tokens"] = spec.vision.prefix();
  } else {
    model["vocab"] = spec.vocabulary, model["context"] = spec.context;
  }
  model["parameters"] = opened.model->weights().parameters();
  model["tied_head"] = spec.tied_head;
  model["weights"] = opened.model->weight_types();
  return model;
}

/// Of the memory plan: what was asked for, or the tokens of an image of the model's own size.
int64_t sequence_length(const model::ModelSpec& spec, int64_t seq_len) {
  if (!spec.is_vision()) return seq_len;
  const model::Vision& v = spec.vision;
  return v.prefix() + (v.image_height / v.patch) * (v.image_width / v.patch);
}

ordered_json tokenizer_json(const Opened& opened) {
  std::unique_ptr<text::Tokenizer> tokenizer;
  if (opened.model) {
    tokenizer = open_tokenizer(*opened.model);
  } else if (opened.gguf && opened.gguf->has("tokenizer.ggml.model")) {
    tokenizer = text::open_tokenizer(*opened.gguf);
  }
  if (!tokenizer) return nullptr;
  ordered_json json;
  json["kind"] = tokenizer->kind();
  json["vocabulary"] = tokenizer->vocabulary_size();
  json["bos_id"] = tokenizer->bos_id() ? ordered_json(*tokenizer->bos_id()) : ordered_json();
  json["adds_bos"] = tokenizer->adds_bos();
  json["closing_ids"] = tokenizer->closing_ids();
  return json;
}

ordered_json tensors_json(const io::TensorSource& source) {
  const std::vector<BadNumbers> bad = count_all(source);
  ordered_json list = ordered_json::array();
  for (size_t t = 0; t < bad.size(); ++t) {
    const io::TensorInfo& tensor = source.tensors()[t];
    ordered_json row;
    row["name"] = tensor.name;
    row["dtype"] = std::string(io::dtype_name(tensor.dtype));
    row["shape"] = tensor.shape;
    row["bytes"] = tensor.bytes;
    row["nan"] = bad[t].nan, row["infinite"] = bad[t].infinite;
    row["first_bad"] = bad[t].first < 0 ? ordered_json() : ordered_json(bad[t].first);
    list.push_back(std::move(row));
  }
  return list;
}

std::string text_of(const ordered_json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_integer()) return report::count_text(value.get<int64_t>());
  return value.dump();
}

void write_table(const ordered_json& document, std::ostream& out) {
  for (const char* part : {"model", "tokenizer", "memory"}) {
    out << part << "\n";
    if (document[part].is_null()) out << "  none in these files\n";
    for (const auto& [key, value] : document[part].items())
      out << fmt::format("  {:<12} {}\n", key, text_of(value));
  }
  const ordered_json& tensors = document["tensors"];
  out << (tensors.empty() ? "no tensors\n" : fmt::format("tensors ({})\n", tensors.size()));
  for (const ordered_json& t : tensors) {
    out << fmt::format("  {:<48} {:<8} {:<18} {:>14}", t["name"].get<std::string>(),
                       t["dtype"].get<std::string>(),
                       fmt::format("[{}]", fmt::join(t["shape"].get<std::vector<int64_t>>(), ", ")),
                       report::count_text(t["bytes"].get<int64_t>()));
    if (!t["first_bad"].is_null()) {
      out << fmt::format("  {} NaN, {} infinite, first at element {}", t["nan"].get<int64_t>(),
                         t["infinite"].get<int64_t>(), t["first_bad"].get<int64_t>());
    }
    out << "\n";
  }
  for (const auto& note : document["notes"]) out << "note: " << note.get<std::string>() << "\n";
}

}  // namespace

int inspect(const InspectOptions& options, Console& console) {
  const Opened opened = open_any(options.model);
  ordered_json document;
  document["schema"] = "sinkscope.inspect/1";
  document["model"] = model_json(opened);
  document["tokenizer"] = tokenizer_json(opened);
  document["memory"] = nullptr;
  if (opened.model) {
    const forward::Runner runner(*opened.model, {});
    const int64_t length = sequence_length(opened.model->spec(), options.seq_len);
    const std::vector<int64_t> lengths(static_cast<size_t>(options.max_seqs), length);
    document["memory"] = {{"planned_bytes", runner.planned_bytes(lengths)},
                          {"sequences", options.max_seqs},
                          {"seq_len", length}};
  }
  document["tensors"] = tensors_json(*opened.source);
  document["notes"] = opened.model ? opened.model->notes() : opened.source->notes();
  if (options.format == "json") {
    report::write_document(document, console.out);
  } else {
    write_table(document, console.out);
  }
  return 0;
}

}  // namespace sinkscope::app
