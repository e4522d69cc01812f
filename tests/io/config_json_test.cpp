#include "sinkscope/io/config_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/io/files.h"
#include "tests/support/paths.h"

namespace sinkscope::io {
namespace {

using test::expect_error;

constexpr ErrorKind kBad = ErrorKind::kBadFile;

TEST(Config, TheFirstPresentNameWinsAndNullIsAbsent) {
  const Config config = Config::parse(
      R"({"n_layer": null, "num_layers": 12, "layers": 3, "eps": 1e-5, "width": 64.0, "tie": true,
          "type": "llama", "window": null})",
      "config.json");
  EXPECT_EQ(config.integer({"n_layer", "num_layers", "layers"}), 12);
  EXPECT_EQ(config.integer({"width"}), 64);
  EXPECT_EQ(config.number({"eps"}), 1e-5);
  EXPECT_EQ(config.number({"layers"}), 3.0);
  EXPECT_TRUE(config.flag({"tie"}));
  EXPECT_EQ(config.text({"type"}), "llama");
  EXPECT_FALSE(config.has("window"));
  EXPECT_EQ(config.integer({"window"}, 4096), 4096);
  EXPECT_EQ(config.text({"absent"}, "none"), "none");
  EXPECT_TRUE(config.numbers("absent").empty());
}

TEST(Config, ComplaintsNameFileKeyAndWhatWasFound) {
  const Config config = Config::parse(
      R"({"heads": "4", "half": 1.5, "huge": 18446744073709551615, "list": [1, "two"], "one": 1})",
      "dir/config.json");
  expect_error(kBad, {"dir/config.json", "key num_heads (or n_head) is missing"}, [&] {
    config.integer({"num_heads", "n_head"});
  });
  expect_error(kBad, {"key heads", "\"4\"", "integer"}, [&] { config.integer({"heads"}); });
  // A default is for an absent key, not for one of another type.
  expect_error(kBad, {"key heads"}, [&] { config.integer({"heads"}, 4); });
  expect_error(kBad, {"key half", "1.5"}, [&] { config.integer({"half"}); });
  expect_error(kBad, {"key huge"}, [&] { config.integer({"huge"}); });
  expect_error(kBad, {"key one", "true or false"}, [&] { config.flag({"one"}); });
  expect_error(kBad, {"key list", "element 1", "\"two\""}, [&] { config.integers("list"); });
  expect_error(kBad, {"key one", "array"}, [&] { config.texts("one"); });
}

TEST(Config, ChildrenNameTheirPath) {
  const Config config = Config::parse(
      R"({"text_config": {"rope": {"type": 3, "sections": [1, 2]}}, "flat": 1})", "config.json");
  const auto rope = config.child("text_config")->child("rope");
  ASSERT_TRUE(rope.has_value());
  EXPECT_EQ(rope->integers("sections"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(rope->where(), "config.json: text_config.rope");
  expect_error(kBad, {"config.json: key text_config.rope.type is number 3"},
               [&] { rope->text({"type"}); });
  EXPECT_FALSE(config.child("absent").has_value());
  expect_error(kBad, {"key flat"}, [&] { config.child("flat"); });
}

TEST(Config, TextThatIsNoConfigIsRefusedWithItsByte) {
  const auto refused = [](const std::string& text, const std::vector<std::string>& says) {
    SCOPED_TRACE(text.substr(0, 40));
    expect_error(kBad, says, [&] { Config::parse(text, "config.json"); });
  };
  refused("{\"a\": 1,, }", {"config.json", "byte 8"});
  refused("{\"a\": {\"b\": 1", {"ends at byte 13"});
  refused("", {"ends at byte 0"});
  refused("[1]", {"byte 0", "array"});
  refused("{\"a\": \"\xff\"}", {"byte 7", "\\xff"});
  refused("{\"a\": 1e999}", {"too large"});
  // 100 levels are read, one more is not; brackets in texts do not count.
  const auto nested = [](int levels) {
    return "{\"a\":\"\\\"[[[[\",\"b\":" + std::string(levels - 1, '[') +
           std::string(levels - 1, ']') + "}";
  };
  EXPECT_NO_THROW(Config::parse(nested(100), "config.json"));
  refused(nested(101), {"above 100 levels", "byte 117"});
  refused("{\"a\":" + std::string(1000000, '['), {"above 100 levels"});
}

TEST(Config, FilesThatAreNoConfig) {
  const auto home = ::sinkscope::test::scratch_directory("config");
  expect_error(kBad, {"config.json", "No such file"}, [&] { Config::load(home / "config.json"); });
  test::write_file(home / "config.json", "version https://git-lfs.github.com/spec/v1\n");
  expect_error(kBad, {"git-lfs pointer"}, [&] { Config::load(home / "config.json"); });
  std::filesystem::resize_file(home / "config.json", (64 << 20) + 1);
  expect_error(kBad, {"67,108,865 bytes"}, [&] { Config::load(home / "config.json"); });
}

}  // namespace
}  // namespace sinkscope::io
