#include "sinkscope/io/gguf.h"

#include <gtest/gtest.h>

#include "tests/io/files.h"
#include "tests/support/paths.h"

namespace sinkscope::io {
namespace {

namespace fs = std::filesystem;
using test::Bytes;
using test::expect_error;
using test::write_file;

enum Type : uint32_t { kU8 = 0, kU32 = 4, kF32 = 6, kBool = 7, kText = 8, kArray = 9, kU64 = 10 };

Bytes header(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
  return Bytes().raw("GGUF").add(version).add(tensors).add(keys);
}

fs::path saved(const std::string& name, const Bytes& bytes) {
  static const fs::path directory = ::sinkscope::test::scratch_directory("gguf");
  write_file(directory / name, bytes.str());
  return directory / name;
}

void expect_bad(const std::string& name, const Bytes& bytes, const std::vector<std::string>& says,
                ErrorKind kind = ErrorKind::kBadFile) {
  SCOPED_TRACE(name);
  const fs::path file = saved(name, bytes);
  expect_error(kind, says, [&] { GgufFile::open(file); });
}

TEST(Gguf, FIL_3_MalformedFiles) {
  expect_bad("a.gguf",
             header(1, 0)
                 .text("t")
                 .add<uint32_t>(2)
                 .add<uint64_t>(1)
                 .add<uint64_t>(0)
                 .add<uint32_t>(0)
                 .add<uint64_t>(0),
             {"tensor t", "byte 45", "dimension 1 is 0"});
  expect_bad("b.gguf", header(0, 1).text("").add<uint32_t>(kU8).add<uint8_t>(1).raw("more"),
             {"byte 24", "key of length 0"});
  Bytes cut = header(1, 0).text("blk.0.attn_q.weight").raw(std::string(20, '\1'));
  cut.raw(std::string(88 - cut.size(), '\1'));
  ASSERT_EQ(cut.size(), 88u);
  expect_bad("c.gguf", cut, {"tensor blk.0.attn_q.weight", "byte"});
  expect_bad("c2.gguf",
             header(1, 0).text("t").add<uint32_t>(2).add<uint64_t>(4).raw(std::string(5, '\0')),
             {"tensor t", "byte 45", "dimension is missing"});
  expect_bad("e.gguf", header(0, 1).text("k").add<uint32_t>(kText).add<uint64_t>(1000).raw("short"),
             {"key k", "byte 37", "1,000 bytes runs past the end"});
  expect_bad("f.gguf", header(0, 1).text("k").add<uint32_t>(42).add<uint64_t>(0),
             {"key k", "byte 33", "type 42 unknown"});
  for (const uint32_t version : {1u, 999u}) {
    expect_bad("g.gguf", header(0, 0, version), {"byte 4", std::to_string(version)},
               ErrorKind::kUnsupported);
  }
  for (const uint32_t alignment : {0u, 3u}) {
    expect_bad("h.gguf", header(0, 1).text("general.alignment").add<uint32_t>(kU32).add(alignment),
               {"general.alignment", "byte 24", std::to_string(alignment)});
  }
}

TEST(Gguf, FIL_3_ScoresOfAnotherElementType) {
  Bytes bytes = header(0, 1).text("tokenizer.ggml.scores").add<uint32_t>(kArray);
  bytes.add<uint32_t>(kU8).add<uint64_t>(3).raw("\1\2\3");
  const auto file = GgufFile::open(saved("d.gguf", bytes));
  expect_error(ErrorKind::kBadFile, {"tokenizer.ggml.scores", "byte 24", "array of 3 integers"},
               [&] { file->numbers("tokenizer.ggml.scores"); });
}

TEST(Gguf, ValuesOfEveryWidthAndTheirDefaults) {
  Bytes bytes = header(0, 7);
  bytes.text("u8").add<uint32_t>(kU8).add<uint8_t>(200);
  bytes.text("u64").add<uint32_t>(kU64).add<uint64_t>(1ull << 40);
  bytes.text("huge").add<uint32_t>(kU64).add<uint64_t>(UINT64_MAX);
  bytes.text("f32").add<uint32_t>(kF32).add(0.5f);
  bytes.text("yes").add<uint32_t>(kBool).add<uint8_t>(1);
  bytes.text("name").add<uint32_t>(kText).text("llama");
  bytes.text("huges").add<uint32_t>(kArray).add<uint32_t>(kU64).add<uint64_t>(1).add(UINT64_MAX);
  const auto file = GgufFile::open(saved("values.gguf", bytes));
  EXPECT_EQ(file->integer("u8"), 200);
  EXPECT_EQ(file->integer("u64"), int64_t{1} << 40);
  EXPECT_EQ(file->number("f32"), 0.5);
  EXPECT_EQ(file->number("u8"), 200.0);
  EXPECT_TRUE(file->flag("yes"));
  EXPECT_EQ(file->text("name"), "llama");
  EXPECT_EQ(file->keys().front(), "u8");
  EXPECT_EQ(file->integer("absent", 7), 7);
  EXPECT_EQ(file->text("absent", "x"), "x");
  expect_error(ErrorKind::kBadFile, {"key absent is missing", "values.gguf"},
               [&] { file->integer("absent"); });
  // A default is for an absent key, not for one that holds something else.
  expect_error(ErrorKind::kBadFile, {"key name", "\"llama\""}, [&] { file->integer("name", 7); });
  expect_error(ErrorKind::kBadFile, {"key huge"}, [&] { file->integer("huge"); });
  expect_error(ErrorKind::kBadFile, {"key huges"}, [&] { file->integers("huges"); });
  expect_error(ErrorKind::kBadFile, {"key u8"}, [&] { file->flag("u8"); });
}

TEST(Gguf, NamesTheTypesItDoesNotRead) {
  const auto with_type = [](uint32_t type) {
    return header(1, 0).text("t").add<uint32_t>(1).add<uint64_t>(256).add(type).add<uint64_t>(0);
  };
  expect_bad("nvfp4.gguf", with_type(40), {"tensor t", "NVFP4"}, ErrorKind::kUnsupported);
  expect_bad("q1_0.gguf", with_type(41), {"tensor t", "Q1_0"}, ErrorKind::kUnsupported);
  expect_bad("q2_0.gguf", with_type(42), {"tensor t", "Q2_0"}, ErrorKind::kUnsupported);
  expect_bad("removed.gguf", with_type(33), {"tensor t", "Q4_0_8_8"});
}

TEST(Gguf, DimensionsAreTurnedRound) {
  Bytes bytes = header(1, 0).text("t").add<uint32_t>(2).add<uint64_t>(3).add<uint64_t>(2);
  bytes.add<uint32_t>(0).add<uint64_t>(0).pad_to(32);
  const size_t data = bytes.size();
  for (int i = 0; i < 6; ++i) bytes.add<float>(static_cast<float>(i));
  const auto file = GgufFile::open(saved("shape.gguf", bytes));
  const TensorInfo* tensor = file->find("t");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->shape_text(), "[2, 3]");
  EXPECT_EQ(tensor->offset, data);
  std::vector<float> out(2);
  read_floats(*file, *tensor, 4, out);
  EXPECT_EQ(out, (std::vector<float>{4, 5}));
}

TEST(Gguf, OtherFilesUnderTheNameAreRecognised) {
  const auto recognised = [](const std::string& bytes, const std::string& as) {
    expect_bad("other.gguf", Bytes().raw(bytes), {as});
  };
  recognised("PK\x03\x04 and so on", "zip");
  recognised(std::string("\x80\x02\x8a\x0al", 5), "pickle");
  recognised("<!DOCTYPE html><html>", "web page");
  recognised(test::safetensors("{\"a\":1}"), "safetensors");
  recognised("nothing known", "found \"noth\"");
  expect_error(ErrorKind::kBadFile, {"absent.gguf", "No such file"},
               [] { GgufFile::open("/absent.gguf"); });
  expect_error(ErrorKind::kBadFile, {"is a directory"}, [] { GgufFile::open("/"); });
}

TEST(Gguf, PartsOfASplitFileAreOneModel) {
  SINKSCOPE_DATA_OR_SKIP(first, "gguf/split/qwen2-f32-00001-of-00003.gguf");
  const auto file = GgufFile::open(first);
  EXPECT_EQ(file->files().size(), 3u);
  EXPECT_EQ(file->tensors().size(), 26u);
  EXPECT_EQ(file->integer("split.count"), 3);
  int tensors_of_part[3] = {};
  for (const TensorInfo& tensor : file->tensors()) {
    ++tensors_of_part[tensor.file];
    EXPECT_EQ(file->bytes(tensor).size(), tensor.bytes);
    EXPECT_EQ(file->find(tensor.name), &tensor);
  }
  EXPECT_EQ(tensors_of_part[0], 10);
  EXPECT_EQ(tensors_of_part[2], 6);
}

TEST(Gguf, SplitFilesThatDoNotBelongTogether) {
  SINKSCOPE_DATA_OR_SKIP(first, "gguf/split/qwen2-f32-00001-of-00003.gguf");
  const fs::path from = first.parent_path();
  const fs::path to = ::sinkscope::test::scratch_directory("split");
  const auto copy = [&](const std::string& name, const std::string& as) {
    fs::copy_file(from / name, to / as, fs::copy_options::overwrite_existing);
  };
  const std::string one = "qwen2-f32-00001-of-00003.gguf", two = "qwen2-f32-00002-of-00003.gguf",
                    three = "qwen2-f32-00003-of-00003.gguf";
  copy(one, one), copy(two, two);
  expect_error(ErrorKind::kBadFile, {three, "missing"}, [&] { GgufFile::open(to / one); });
  expect_error(ErrorKind::kUsage, {"part 2 of 3", "-00001-of-00003.gguf"},
               [&] { GgufFile::open(to / two); });
  copy(two, three);
  expect_error(ErrorKind::kBadFile, {three, "split.no"}, [&] { GgufFile::open(to / one); });
  copy(one, "renamed.gguf");
  expect_error(ErrorKind::kBadFile, {"renamed.gguf", "-00001-of-00003.gguf"},
               [&] { GgufFile::open(to / "renamed.gguf"); });
}

TEST(Gguf, ReleasedPagesStayReadable) {
  SINKSCOPE_DATA_OR_SKIP(first, "gguf/split/qwen2-f32-00001-of-00003.gguf");
  const auto file = GgufFile::open(first);
  for (const TensorInfo& tensor : file->tensors()) {
    const auto bytes = file->bytes(tensor);
    const std::vector<std::byte> before(bytes.begin(), bytes.end());
    file->release(tensor);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), bytes.begin()));
  }
}

}  // namespace
}  // namespace sinkscope::io
