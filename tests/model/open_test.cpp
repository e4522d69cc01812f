#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "tests/model/models.h"

namespace sinkscope::model {
namespace {

namespace fs = std::filesystem;

/// Sets an environment variable for the length of a test.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Setting() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(HubCache, MainRevisionIsTheOneOpened) {
  const fs::path home = test::scratch_directory("hub_main"),
                 model = home / "hub/models--owner--small";
  fs::create_directories(model / "snapshots/aaaa");
  fs::create_directories(model / "snapshots/bbbb");
  fs::create_directories(model / "refs");
  test::write_file(model / "refs/main", "aaaa\n");
  const Setting hf_home("HF_HOME", home.string());
  EXPECT_EQ(resolve_model("owner/small"), model / "snapshots/aaaa");
}

TEST(HubCache, WithoutThatRevisionTheLastSnapshotByName) {
  const fs::path home = test::scratch_directory("hub_last"),
                 model = home / "hub/models--owner--small";
  fs::create_directories(model / "snapshots/aaaa");
  fs::create_directories(model / "snapshots/bbbb");
  const Setting hf_home("HF_HOME", home.string());
  EXPECT_EQ(resolve_model("owner/small"), model / "snapshots/bbbb");
  fs::create_directories(model / "refs");
  test::write_file(model / "refs/main", "cccc");  // a revision that was never fetched whole
  EXPECT_EQ(resolve_model("owner/small"), model / "snapshots/bbbb");
}

TEST(HubCache, WithoutHfHomeItLiesInTheUsersCache) {
  const fs::path home = test::scratch_directory("hub_home");
  const fs::path snapshot = home / ".cache/huggingface/hub/models--owner--small/snapshots/aaaa";
  fs::create_directories(snapshot);
  const Setting user("HOME", home.string()), hf_home("HF_HOME", "");
  unsetenv("HF_HOME");
  EXPECT_EQ(resolve_model("owner/small"), snapshot);
}

TEST(HubCache, ModelThatIsNotThereNamesTheCommandThatBringsIt) {
  const fs::path home = test::scratch_directory("hub_empty");
  const Setting hf_home("HF_HOME", home.string());
  const auto refused = [] {
    test::expect_error(ErrorKind::kUsage, {"\"owner/small\"", "hf download owner/small"},
                       [] { resolve_model("owner/small"); });
  };
  refused();
  fs::create_directories(home /
                         "hub/models--owner--small/snapshots");  // a download that was stopped
  refused();
}

TEST(HubCache, SnapshotOpensAsAModel) {
  SINKSCOPE_DATA_OR_SKIP(folder, "gguf/malformed/safetensors/dir-ok");
  const fs::path home = test::scratch_directory("hub_open");
  fs::create_directories(home / "hub/models--owner--small/snapshots");
  fs::copy(folder, home / "hub/models--owner--small/snapshots/aaaa", fs::copy_options::recursive);
  const Setting hf_home("HF_HOME", home.string());
  const auto model = Model::open("owner/small");
  EXPECT_EQ(model->spec().layers, 1);
  EXPECT_EQ(model->gguf(), nullptr);
  EXPECT_EQ(model->path().filename(), "aaaa");
}

TEST(Open, PathsThatNameNoModel) {
  const fs::path folder = test::scratch_directory("paths");
  for (const std::string& argument :
       {std::string(), std::string("no-such-model"), std::string("./owner/small"),
        std::string("a/b/c"), std::string("folder/file.gguf"), (folder / "absent").string()}) {
    test::expect_error(ErrorKind::kUsage,
                       {"no file or directory \"" + argument + "\"", ".gguf file"},
                       [&] { Model::open(argument); });
  }
  test::write_file(folder / "model.safetensors", "");
  test::expect_error(ErrorKind::kUsage, {"model.safetensors", "without config.json", "directory"},
                     [&] { Model::open((folder / "model.safetensors").string()); });
  test::expect_error(ErrorKind::kBadFile, {"config.json"}, [&] { Model::open(folder.string()); });
}

// Case FIL-2, first line: a valid file without tensors is no model.
TEST(Open, FileWithoutTensorsIsNoModel) {
  SINKSCOPE_DATA_OR_SKIP(config, "gguf/malformed/safetensors/dir-ok/config.json");
  const fs::path folder = test::scratch_directory("no_tensors");
  fs::copy_file(config, folder / "config.json");
  std::string header = R"({"__metadata__":{"crc":"12"}})";
  header.resize(32, ' ');
  test::write_file(folder / "model.safetensors", io::test::safetensors(header));
  test::expect_error(ErrorKind::kBadFile, {"holds no tensors", "model.embed_tokens.weight"},
                     [&] { Model::open(folder.string()); });
}

TEST(Open, FactsOfAModel) {
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/malformed/gguf/ok-base.gguf");
  const auto model = Model::open(file.string());
  EXPECT_EQ(model->spec().text(),
            "llama, 2 layers x 4 heads of 4 (2 key/value), width 16, MLP 24, vocabulary 40");
  EXPECT_EQ(model->spec().score_scale, 0.5);
  EXPECT_EQ(model->weight_types(), "F32 x16");
  EXPECT_NE(model->gguf(), nullptr);
  EXPECT_EQ(model->path(), file);
  EXPECT_EQ(model->spec().group_of(0), 0);
  EXPECT_EQ(model->spec().group_of(1), 0);
  EXPECT_EQ(model->spec().group_of(2), 1);
}

}  // namespace
}  // namespace sinkscope::model
