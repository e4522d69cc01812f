// Every diagnostic on every family that ships with the tests, at lengths where little is left to
// measure: nothing crashes, and no number is infinite.

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "sinkscope/app/measure.h"
#include "sinkscope/diagnostics/summary.h"
#include "sinkscope/forward/runner.h"
#include "tests/support/paths.h"

namespace sinkscope::app {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> family_cases() {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(sinkscope::test::data_path("families").value())) {
    if (fs::exists(entry.path() / "config.json")) cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

struct Inputs {
  std::vector<store::SequenceInfo> sequences;
  std::vector<forward::Stream> streams;
};

Inputs texts(const model::ModelSpec& spec) {
  Inputs inputs;
  for (const int64_t tokens : {1, 2, 3, 16, 24}) {
    if (spec.context > 0 && tokens > spec.context) continue;
    store::SequenceInfo sequence;
    sequence.id = std::ssize(inputs.sequences);
    // The first token comes again, and the last stretch is one token over and over.
    for (int64_t i = 0; i < tokens; ++i) {
      const int64_t id = (i * 7 + 3) % std::min<int64_t>(30, spec.vocabulary);
      sequence.ids.push_back(static_cast<int32_t>(i > 11 ? 5 : id));
    }
    inputs.streams.push_back({sequence.ids});
    inputs.sequences.push_back(sequence);
  }
  return inputs;
}

/// One flat image and one ramp of the model's own size.
Inputs images(const model::ModelSpec& spec) {
  Inputs inputs;
  const model::Vision& vision = spec.vision;
  const std::vector<int64_t> shape = {vision.channels, vision.image_height, vision.image_width};
  for (const at::Tensor& pixels :
       {at::zeros(shape),
        at::linspace(-1, 1, vision.channels * vision.image_height * vision.image_width)
            .view(shape)}) {
    forward::Stream stream;
    stream.pixels = pixels.contiguous();
    store::SequenceInfo sequence;
    sequence.id = std::ssize(inputs.sequences);
    sequence.rows = forward::tokens_of(spec, stream);
    inputs.sequences.push_back(sequence);
    inputs.streams.push_back(std::move(stream));
  }
  return inputs;
}

/// Rows of numbers, the last stretch one row over and over.
Inputs rows(const model::ModelSpec& spec) {
  Inputs inputs;
  for (const int64_t tokens : {1, 2, 3, 16}) {
    if (spec.context > 0 && tokens > spec.context) continue;
    forward::Stream stream;
    stream.vectors = at::linspace(-1, 1, tokens * spec.width).mul(37).sin().view({tokens, -1});
    if (tokens > 12) stream.vectors.slice(0, 12).copy_(stream.vectors[5].expand({tokens - 12, -1}));
    store::SequenceInfo sequence;
    sequence.id = std::ssize(inputs.sequences);
    sequence.rows = tokens;
    inputs.sequences.push_back(sequence);
    inputs.streams.push_back(std::move(stream));
  }
  return inputs;
}

void expect_no_infinity(const diagnostics::Record& record, const std::string& where) {
  for (const auto& [metric, layers] : record.all()) {
    for (size_t l = 0; l < layers.size(); ++l) {
      for (const double value : layers[l]) {
        EXPECT_FALSE(std::isinf(value)) << where << ": " << metric << " of layer " << l;
      }
    }
  }
}

TEST(AllDiagnostics, MeasureEveryFamilyAtEveryLength) {
  const std::string names[] = {"all"};
  for (const fs::path& folder : family_cases()) {
    const auto model = model::Model::open(folder.string());
    const model::ModelSpec& spec = model->spec();
    const Inputs inputs = spec.is_vision() ? images(spec) : spec.vectors ? rows(spec) : texts(spec);
    MeasureOptions options;
    options.diagnostics = diagnostics::select_diagnostics(names);
    for (int l = 0; l < static_cast<int>(spec.layers); ++l) options.layers.insert(l);
    std::vector<const store::SequenceInfo*> sequences;
    for (const store::SequenceInfo& s : inputs.sequences) sequences.push_back(&s);
    Measure measure(spec, options, sequences);
    forward::Observer* observers[] = {&measure};
    forward::Runner(*model, {}).run(inputs.streams, observers);
    measure.finish();
    const std::string name = folder.filename().string();
    for (size_t s = 0; s < sequences.size(); ++s) {
      const diagnostics::Record& record = measure.record(s);
      expect_no_infinity(record, fmt::format("{} {} tokens", name, sequences[s]->tokens()));
      EXPECT_FALSE(record.find("class", 0).empty()) << name;
      // Every chosen diagnostic says something of the last sequence, be it that it has no data.
      for (const diagnostics::Diagnostic* d : options.diagnostics) {
        EXPECT_FALSE(record.find(d->metrics[0].name, 0).empty()) << name << ": " << d->name;
      }
    }
  }
}

}  // namespace
}  // namespace sinkscope::app
