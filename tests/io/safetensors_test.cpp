#include "sinkscope/io/safetensors.h"

#include <gtest/gtest.h>

#include "tests/io/files.h"
#include "tests/support/paths.h"

namespace sinkscope::io {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::safetensors;
using test::write_file;

constexpr ErrorKind kBad = ErrorKind::kBadFile;

fs::path fresh(const std::string& name) { return ::sinkscope::test::scratch_directory(name); }

// A file with one F32 tensor of one element.
std::string file_with(const std::string& tensor) {
  return safetensors("{\"" + tensor + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                     std::string(4, '\0'));
}

void write_index(const fs::path& directory, const std::string& weight_map) {
  write_file(directory / "model.safetensors.index.json", "{\"weight_map\":" + weight_map + "}");
}

TEST(Safetensors, FIL_1_IndexAndShardsDisagree) {
  const fs::path home = fresh("fil1");
  const std::string two = R"({"a":"s1.safetensors","b":"s2.safetensors"})";
  write_index(home, two);
  write_file(home / "s1.safetensors", file_with("a"));
  expect_error(kBad, {"s2.safetensors", "index.json", "1 of 2"}, [&] { open_safetensors(home); });

  write_file(home / "s2.safetensors", file_with("c"));
  expect_error(kBad, {"tensor b", "s2.safetensors"}, [&] { open_safetensors(home); });

  write_file(home / "s2.safetensors", file_with("b"));
  write_file(home / "model.safetensors", "not even a weight file");
  const auto source = open_safetensors(home);
  EXPECT_EQ(source->tensors().size(), 2u);
  ASSERT_EQ(source->notes().size(), 1u);
  EXPECT_NE(source->notes()[0].find("model.safetensors is ignored"), std::string::npos);

  write_index(home, R"({"x":"other-1.safetensors","y":"other-2.safetensors"})");
  expect_error(kBad, {"matches no file here"}, [&] { open_safetensors(home); });
}

TEST(Safetensors, FIL_1_AnyShardNamesThatStayInTheDirectory) {
  const fs::path home = fresh("fil1d");
  write_index(home, R"({"a":"layers-0.safetensors","b":"layers-1.safetensors"})");
  write_file(home / "layers-0.safetensors", file_with("a"));
  write_file(home / "layers-1.safetensors", file_with("b"));
  const auto source = open_safetensors(home);
  ASSERT_NE(source->find("b"), nullptr);
  EXPECT_EQ(source->files()[source->find("b")->file].filename(), "layers-1.safetensors");
  for (const char* name : {"../fil1d/layers-0.safetensors", "/etc/passwd"}) {
    write_index(home, std::string(R"({"a":")") + name + "\"}");
    expect_error(kBad, {"weight_map.a", name, "out of the directory"},
                 [&] { open_safetensors(home); });
  }
}

void expect_bad(const std::string& bytes, const std::vector<std::string>& says) {
  static const fs::path home = fresh("fil2");
  write_file(home / "x.safetensors", bytes);
  expect_error(kBad, says, [&] { open_safetensors(home / "x.safetensors"); });
}

TEST(Safetensors, FIL_2_DamagedHeaders) {
  const fs::path home = fresh("fil2ok");
  std::string empty = R"({"__metadata__":{"crc":"12"}})";
  empty.resize(32, ' ');
  write_file(home / "empty.safetensors", safetensors(empty));
  EXPECT_TRUE(open_safetensors(home / "empty.safetensors")->tensors().empty());

  expect_bad(safetensors(R"({},"__metadata__":{"key":"value"})"), {"byte 2 of the header"});
  expect_bad(std::string("\x40\x9D\xDF\x07\0\0\0\0{}", 10), {"132,095,296", "100,000,000"});
  expect_bad("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
             {"git-lfs pointer", "git lfs pull --include \"x.safetensors\""});
  expect_bad(std::string("\x80\x02\x8a\x0alfc", 7) + "9 and so on", {"pickle"});
  expect_bad("PK\x03\x04 and so on", {"zip"});
  expect_bad(safetensors(R"( {"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})"), {"byte 8"});
}

TEST(Safetensors, FIL_2_DataThatDoNotFitTheHeader) {
  const std::string two = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                          R"("b":{"dtype":"F32","shape":[2],"data_offsets":)";
  const std::string size = std::to_string(8 + two.size() + 8 + 16);
  expect_bad(
      safetensors(two + "[8,16]}}", std::string(13, 'x')),
      {"tensor b", "needs " + size + " bytes and has " + std::to_string(std::stoi(size) - 3)});
  expect_bad(safetensors(two + "[8,16]}}", std::string(32, 'x')), {"16 bytes after the last"});
  expect_bad(safetensors(two + "[4,12]}}", std::string(12, 'x')), {"tensor a", "tensor b"});
  expect_bad(safetensors(two + "[12,20]}}", std::string(20, 'x')), {"tensor a", "tensor b", "gap"});
  expect_bad(safetensors(two + "[16,8]}}", std::string(16, 'x')), {"tensor b", "backwards"});
  expect_bad(safetensors(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,20]}})",
                         std::string(20, 'x')),
             {"tensor a", "[2, 3]", "needs 24 bytes", "20"});
  // Offsets whose sum with the size wraps must not look like a place in the file.
  expect_bad(safetensors(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":)"
                         "[18446744073709551615,18446744073709551615]}}"),
             {"tensor a"});
  expect_bad(safetensors(R"({"a":{"dtype":"U8","shape":[9223372036854775808,0],)"
                         R"("data_offsets":[0,0]}})"),
             {"tensor a", "9223372036854775808"});
}

TEST(Safetensors, ADirectoryWithoutThemSaysWhatItHolds) {
  const fs::path home = fresh("others");
  expect_error(kBad, {"holds no safetensors"}, [&] { open_safetensors(home); });
  write_file(home / "pytorch_model.bin", "");
  expect_error(kBad, {"pytorch_model.bin", "pickled"}, [&] { open_safetensors(home); });
  write_file(home / "part-1.safetensors", file_with("a"));
  EXPECT_EQ(open_safetensors(home)->tensors().size(), 1u);
  write_file(home / "part-2.safetensors", file_with("b"));
  expect_error(kBad, {"2 safetensors files", "index"}, [&] { open_safetensors(home); });
}

TEST(Safetensors, TypesWithoutAReaderAreNamed) {
  const fs::path home = fresh("types");
  write_file(home / "x.safetensors",
             safetensors(R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "x"));
  expect_error(ErrorKind::kUnsupported, {"tensor a", "F8_E4M3"}, [&] { open_safetensors(home); });
}

TEST(SafetensorsWriter, RoundTrip) {
  const fs::path file = fresh("writer") / "model.safetensors";
  const std::vector<float> weights = {1, -2, 3, 4, 5, 6};
  const std::vector<uint8_t> bytes = {7, 8, 9};
  const std::vector<uint16_t> halves = {0x3C00, 0xC000};
  const std::vector<TensorToWrite> tensors = {
      {"bytes \"quoted\"", DType::kU8, {3}, std::as_bytes(std::span(bytes))},
      {"weights", DType::kF32, {2, 3}, std::as_bytes(std::span(weights))},
      {"none", DType::kF32, {0, 4}, {}},
      {"halves", DType::kF16, {2}, std::as_bytes(std::span(halves))},
  };
  write_safetensors(file, tensors, {{"step", "12"}});
  const auto source = open_safetensors(file);
  ASSERT_EQ(source->tensors().size(), 4u);
  for (const TensorToWrite& tensor : tensors) {
    const TensorInfo* found = source->find(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    EXPECT_EQ(found->dtype, tensor.dtype);
    EXPECT_EQ(found->shape, tensor.shape);
    EXPECT_EQ(found->offset % block_bytes(found->dtype), 0u);
    const auto data = source->bytes(*found);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), tensor.data.begin(), tensor.data.end()));
  }
  EXPECT_NE(test::read_file(file).find(R"({"__metadata__":{"step":"12"})"), std::string::npos);
}

TEST(SafetensorsWriter, LeavesNothingThatLooksComplete) {
  const fs::path home = fresh("writer-fails");
  const std::vector<float> one = {1};
  const std::vector<TensorToWrite> tensor = {
      {"a", DType::kF32, {1}, std::as_bytes(std::span(one))}};
  fs::create_directory(home / "taken.safetensors");
  write_file(home / "taken.safetensors" / "inside", "");
  expect_error(ErrorKind::kUsage, {"taken.safetensors"},
               [&] { write_safetensors(home / "taken.safetensors", tensor); });
  EXPECT_EQ(std::distance(fs::directory_iterator(home), {}), 1);
  expect_error(ErrorKind::kUsage, {"absent/x.safetensors"},
               [&] { write_safetensors(home / "absent" / "x.safetensors", tensor); });
  // A shape that the bytes do not fill is our own mistake and must not reach a file.
  expect_error(ErrorKind::kInternal, {"tensor a", "[2]"}, [&] {
    write_safetensors(home / "x", {{"a", DType::kF32, {2}, tensor[0].data}});
  });
  EXPECT_EQ(std::distance(fs::directory_iterator(home), {}), 1);
}

}  // namespace
}  // namespace sinkscope::io
