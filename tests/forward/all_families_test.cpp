// Walks the family table: what a new family must have is noticed here.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>

#include "sinkscope/base/error.h"
#include "sinkscope/forward/recorder.h"
#include "sinkscope/forward/runner.h"
#include "sinkscope/io/safetensors.h"
#include "tests/forward/lab_model.h"
#include "tests/support/paths.h"

namespace sinkscope::forward {
namespace {

namespace fs = std::filesystem;
using model::ExpectedTensor;
using model::Family;
using model::ModelSpec;

/// The golden case of a family in this repository, empty when it has none.
fs::path case_of(const Family& family) {
  const fs::path folder = sinkscope::test::data_path("families").value();
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path config = entry.path() / "config.json";
    if (!fs::exists(config) || !fs::exists(entry.path() / "golden.safetensors")) continue;
    if (&model::find_family(io::Config::load(config)) == &family) return entry.path();
  }
  return {};
}

/// Random weights for every row of the family's table.
class RandomModel {
 public:
  RandomModel(const Family& family, const fs::path& config_file, const std::string& name)
      : folder_(sinkscope::test::scratch_directory("family-" + name)) {
    fs::copy_file(config_file, folder_ / "config.json");
    spec_ = family.read_config(io::Config::load(config_file));
    weights_ = std::make_unique<test::RandomWeights>(family, spec_);
  }

  /// Returns the model's directory.
  std::string write() const {
    weights_->write(folder_);
    return folder_.string();
  }

  Stream stream() const {
    std::mt19937 random(8);
    Stream stream;
    if (spec_.is_vision()) {
      std::normal_distribution<float> normal;
      const model::Vision& v = spec_.vision;
      stream.pixels = at::empty({v.channels, v.image_height, v.image_width}, at::kFloat);
      for (int64_t i = 0; i < stream.pixels.numel(); ++i)
        stream.pixels.data_ptr<float>()[i] = normal(random);
      return stream;
    }
    return test::row_stream(spec_, 8);
  }

  const ModelSpec& spec() const { return spec_; }
  const std::vector<ExpectedTensor>& expected() const { return weights_->expected(); }
  const std::vector<float>& values(size_t i) const { return std::as_const(*weights_).values(i); }

 private:
  fs::path folder_;
  ModelSpec spec_;
  std::unique_ptr<test::RandomWeights> weights_;
};

class AllFamilies : public testing::TestWithParam<const Family*> {
 protected:
  RandomModel tiny() const {
    const Family& family = *GetParam();
    const fs::path folder = case_of(family);
    EXPECT_FALSE(folder.empty()) << "family " << family.name
                                 << " has no golden case in tests/data/families";
    return {family, folder / "config.json", std::string(family.name)};
  }
};

std::vector<const Family*> table() {
  return {model::all_families().begin(), model::all_families().end()};
}
INSTANTIATE_TEST_SUITE_P(Table, AllFamilies, testing::ValuesIn(table()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST_P(AllFamilies, HasAGoldenCaseInTheRepository) { EXPECT_FALSE(case_of(*GetParam()).empty()); }

TEST_P(AllFamilies, FileHoldsWhatWasWritten) {
  if (case_of(*GetParam()).empty()) FAIL();
  const RandomModel tiny = this->tiny();
  const auto source = io::open_safetensors(fs::path(tiny.write()));
  for (size_t i = 0; i < tiny.expected().size(); ++i) {
    const io::TensorInfo* tensor = source->find(tiny.expected()[i].name);
    ASSERT_NE(tensor, nullptr) << tiny.expected()[i].name;
    std::vector<float> read(tiny.values(i).size());
    io::read_floats(*source, *tensor, 0, read);
    EXPECT_EQ(read, tiny.values(i)) << tensor->name;
  }
}

TEST_P(AllFamilies, FastPathEqualsTheReferenceAndWatchingChangesNothing) {
  if (case_of(*GetParam()).empty()) FAIL();
  const RandomModel tiny = this->tiny();
  const auto model = model::Model::open(tiny.write());
  const Stream stream = tiny.stream();
  Recorder all, last({Tap::kFinalNorm});
  Observer *watching[] = {&all}, *plain[] = {&last};
  Runner(*model, {}).run({&stream, 1}, watching);
  Runner(*model, {}).run({&stream, 1}, plain);
  const std::string final_norm = tap_name(Tap::kFinalNorm, 0);
  EXPECT_TRUE(at::equal(all.stream(0).at(final_norm), last.stream(0).at(final_norm)));
  const Taps reference = run_reference(*model, stream, at::kDouble);
  EXPECT_EQ(reference.size(), all.stream(0).size());
  for (const auto& [name, expected] : reference) {
    ASSERT_TRUE(all.stream(0).contains(name)) << name;
    const double largest = std::max(expected.abs().max().item<double>(), 1e-6);
    const double difference = (all.stream(0).at(name) - expected).abs().max().item<double>();
    EXPECT_LE(difference, 1e-4 * largest) << name;  // method.md section 19
  }
}

/// A source without one of its tensors.
class Without : public io::TensorSource {
 public:
  Without(const io::TensorSource& whole, const std::string& name) : whole_(whole) {
    for (const io::TensorInfo& tensor : whole.tensors()) {
      if (tensor.name != name) tensors_.push_back(tensor);
    }
    index_tensors();
  }
  std::string_view format() const override { return whole_.format(); }
  const std::vector<io::TensorInfo>& tensors() const override { return tensors_; }
  const std::vector<fs::path>& files() const override { return whole_.files(); }
  const std::vector<std::string>& notes() const override { return whole_.notes(); }
  std::span<const std::byte> bytes(const io::TensorInfo& t) const override {
    return whole_.bytes(t);
  }
  void release(const io::TensorInfo& tensor) const override { whole_.release(tensor); }

 private:
  const io::TensorSource& whole_;
  std::vector<io::TensorInfo> tensors_;
};

TEST_P(AllFamilies, EveryMissingTensorIsNamed) {
  if (case_of(*GetParam()).empty()) FAIL();
  const RandomModel tiny = this->tiny();
  const auto whole = io::open_safetensors(fs::path(tiny.write()));
  for (const ExpectedTensor& tensor : tiny.expected()) {
    if (tensor.row->optional) continue;
    try {
      model::Weights(std::make_shared<Without>(*whole, tensor.name), *GetParam(), tiny.spec(), {});
      ADD_FAILURE() << tensor.name << " is not missed";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::kBadFile);
      EXPECT_NE(std::string(error.what()).find(tensor.name + " is missing"), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace sinkscope::forward
