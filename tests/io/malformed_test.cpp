// One row per file of data/gguf/malformed/README.md that is judged by the readers of files; those
// about facts of models (head counts, shapes, tokenizer arrays) must open here.
#include <gtest/gtest.h>

#include <functional>

#include "sinkscope/base/error.h"
#include "sinkscope/io/config_json.h"
#include "sinkscope/io/gguf.h"
#include "sinkscope/io/safetensors.h"
#include "tests/support/paths.h"

namespace sinkscope::io {
namespace {

struct Row {
  std::string file;
  ErrorKind kind;
  std::vector<std::string> says;  ///< parts of the message or the hint
};

struct Opens {
  std::string file;
  std::string note;  ///< a part of one of the notes; empty: no notes at all
};

using Opener = std::function<std::vector<std::string>(const std::filesystem::path&)>;

constexpr ErrorKind kBad = ErrorKind::kBadFile;
constexpr ErrorKind kUnread = ErrorKind::kUnsupported;

// Rows whose file is not in the compact set of a clone are left out; at least one must be there.
void expect_refused(const std::string& folder, const std::vector<Row>& rows, const Opener& open) {
  int found = 0;
  for (const Row& row : rows) {
    const auto path = test::data_path("gguf/malformed/" + folder + "/" + row.file);
    if (!path) continue;
    ++found;
    SCOPED_TRACE(row.file);
    try {
      open(*path);
      ADD_FAILURE() << "was accepted";
    } catch (const Error& error) {
      const std::string text = std::string(error.what()) + " | " + error.hint;
      EXPECT_EQ(error.kind, row.kind) << text;
      for (const std::string& part : row.says) {
        EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" not in: " << text;
      }
      const std::string name = row.file.substr(row.file.find_last_of('/') + 1);
      EXPECT_NE(error.seen.find(name), std::string::npos) << "file not named: " << text;
    }
  }
  if (found == 0) GTEST_SKIP() << "no reference data: gguf/malformed/" << folder;
}

void expect_opens(const std::string& folder, const std::vector<Opens>& rows, const Opener& open) {
  int found = 0;
  for (const Opens& row : rows) {
    const auto path = test::data_path("gguf/malformed/" + folder + "/" + row.file);
    if (!path) continue;
    ++found;
    SCOPED_TRACE(row.file);
    std::string notes;
    ASSERT_NO_THROW({
      for (const std::string& note : open(*path)) notes += note + "\n";
    });
    EXPECT_EQ(notes.empty(), row.note.empty()) << notes;
    EXPECT_NE(notes.find(row.note), std::string::npos) << notes;
  }
  if (found == 0) GTEST_SKIP() << "no reference data: gguf/malformed/" << folder;
}

std::vector<std::string> open_gguf(const std::filesystem::path& path) {
  return GgufFile::open(path)->notes();
}
std::vector<std::string> open_weights(const std::filesystem::path& path) {
  return open_safetensors(path)->notes();
}
std::vector<std::string> open_config(const std::filesystem::path& path) {
  return {Config::load(path).where()};
}

TEST(Malformed, GgufHeaders) {
  expect_refused(
      "gguf",
      {
          {"magic.gguf", kBad, {"byte 0", "\"GGUX\""}},
          {"magic-ggml.gguf", kBad, {"byte 0", "GGML file of before GGUF"}},
          {"version-1.gguf", kUnread, {"byte 4", "version 1 not supported"}},
          {"version-99.gguf", kUnread, {"byte 4", "version 99 not supported"}},
          {"version-bigendian.gguf", kUnread, {"byte 4", "big-endian"}},
          {"empty.gguf", kBad, {"offset 0", "empty"}},
          {"only-magic.gguf", kBad, {"byte 4", "version"}},
          {"lfs-pointer.gguf", kBad, {"git-lfs pointer", "git lfs pull"}},
          {"kv-count-2e60.gguf", kBad, {"byte 16", "1,152,921,504,606,846,976 keys"}},
          {"tensor-count-2e60.gguf", kBad, {"byte 8", "1,152,921,504,606,846,976 tensors"}},
          {"kv-count-plus-1.gguf", kBad, {"byte"}},
          {"cut-in-counts.gguf", kBad, {"byte 16"}},
          {"cut-in-tensor-info.gguf", kBad, {"tensor blk.0.attn_k.weight", "byte 18"}},
          {"cut-in-string.gguf", kBad, {"key tokenizer.ggml.tokens", "byte 8"}},
          {"cut-data-1.gguf",
           kBad,
           {"tensor blk.1.ffn_down.weight", "needs 1,536 bytes", "1 missing", "cut short"}},
          {"cut-data-half.gguf", kBad, {"tensor blk.", "cut short"}},
          {"split-00001-of-00003.gguf", kBad, {"split-00002-of-00003.gguf"}},
      },
      open_gguf);
}

TEST(Malformed, GgufKeys) {
  expect_refused(
      "gguf",
      {
          {"key-length-2e62.gguf", kBad, {"byte 222", "4,611,686,018,427,387,904"}},
          {"value-length-2e62.gguf",
           kBad,
           {"key general.name", "byte 93", "4,611,686,018,427,387,904"}},
          {"array-nested.gguf", kBad, {"key test.nested", "byte 1554", "nested array"}},
          {"array-nested-3000.gguf", kBad, {"key test.nested", "nested array"}},
          {"array-length-2e40.gguf", kBad, {"key test.big", "byte 1551", "1,099,511,627,776"}},
          {"array-type-13.gguf", kBad, {"key test.arr", "byte 1551", "type 13 unknown"}},
          {"value-type-99.gguf", kBad, {"key test.v", "byte 1545", "type 99 unknown"}},
          {"duplicate-key.gguf", kBad, {"key llama.block_count", "second"}},
          {"align-0.gguf", kBad, {"key general.alignment"}},
          {"align-12.gguf", kBad, {"key general.alignment", "12 is not a power of two"}},
          {"align-string.gguf", kBad, {"key general.alignment", "wrong value type"}},
      },
      open_gguf);
}

TEST(Malformed, GgufTensors) {
  const std::string q = "tensor blk.1.attn_q.weight";
  const std::string embedding = "tensor token_embd.weight";
  expect_refused("gguf",
                 {
                     {"dims-wrap.gguf", kBad, {q, "byte 2305", "overflows"}},
                     {"dims-wrap-2.gguf", kBad, {q, "byte 2305", "overflows"}},
                     {"dims-wrap-bytes.gguf", kBad, {q, "byte 2305", "overflows"}},
                     {"dim-zero.gguf", kBad, {q, "byte 2313", "dimension 1 is 0"}},
                     {"ndims-5.gguf", kBad, {q, "byte 2301", "5 dimensions (at most 4)"}},
                     {"ndims-2e31.gguf", kBad, {q, "byte 2301", "2147483648 dimensions"}},
                     {"type-200.gguf", kBad, {q, "byte 2321", "type 200 unknown"}},
                     {"type-removed.gguf", kBad, {q, "byte 2321", "Q4_2", "removed"}},
                     {"block-size.gguf", kBad, {q, "row length 16 not a multiple of 256"}},
                     {"block-size-q8.gguf",
                      kBad,
                      {"tensor blk.0.ffn_down.weight", "row length 24 not a multiple of 32"}},
                     {"duplicate-tensor.gguf", kBad, {q, "second time"}},
                     {"offset-past-end.gguf", kBad, {q, "byte 2325", "data+1,048,576"}},
                     {"offset-wrap.gguf", kBad, {q, "byte 2325", "18,446,744,073,709,551,552"}},
                     {"offset-unaligned.gguf", kBad, {q, "byte 2325", "alignment 32"}},
                     {"overlap-same.gguf", kBad, {q, embedding, "overlap"}},
                     {"overlap-part.gguf", kBad, {q, embedding, "overlap"}},
                 },
                 open_gguf);
}

TEST(Malformed, GgufFilesThatOpen) {
  std::vector<Opens> rows = {
      {"note-trailing-bytes.gguf", "note-trailing-bytes.gguf: 1,000 trailing bytes"},
      {"key-not-utf8.gguf", "\\xfe"},
      {"tensor-name-long.gguf", "300 bytes"},
  };
  for (const char* name : {"ok-base",
                           "ok-version-2",
                           "ok-align-64",
                           "ok-unknown-keys",
                           "ok-tied",
                           "ok-reordered",
                           "note-token-bytes",
                           "block-count-2e31",
                           "block-count-3",
                           "block-count-1",
                           "head-count-0",
                           "head-count-string",
                           "head-count-5",
                           "head-count-kv-3",
                           "rope-dim-64",
                           "embedding-length-0",
                           "embedding-length-32",
                           "arch-unknown",
                           "arch-missing",
                           "missing-block-count",
                           "missing-tensor",
                           "missing-embedding",
                           "no-tensors",
                           "shape-attn-k",
                           "shape-ffn-down",
                           "nan-weight",
                           "inf-weight",
                           "tokens-ints",
                           "scores-short",
                           "token-types-short",
                           "bos-out-of-range"}) {
    rows.push_back({std::string(name) + ".gguf", ""});
  }
  expect_opens("gguf", rows, open_gguf);
}

TEST(Malformed, Safetensors) {
  expect_refused(
      "safetensors",
      {
          {"empty.safetensors", kBad, {"offset 0", "empty"}},
          {"seven-bytes.safetensors", kBad, {"byte 0", "needs 8 bytes"}},
          {"lfs-pointer.safetensors", kBad, {"git-lfs pointer", "git lfs pull"}},
          {"header-past-end.safetensors", kBad, {"byte 0", "10,000 bytes runs past the end"}},
          {"header-200mb.safetensors", kBad, {"byte 0", "200,000,000", "limit of 100,000,000"}},
          {"header-2e63.safetensors", kBad, {"byte 0", "9,223,372,036,854,775,808"}},
          {"json-invalid.safetensors", kBad, {"not valid JSON", "byte"}},
          {"json-array.safetensors", kBad, {"byte 8", "object is expected"}},
          {"json-bom.safetensors", kBad, {"byte 8"}},
          {"json-deep.safetensors", kBad, {"__metadata__", "array"}},
          {"metadata-not-string.safetensors", kBad, {"__metadata__.step"}},
          {"duplicate-name.safetensors", kBad, {"tensor a", "twice"}},
          {"overlap.safetensors", kBad, {"tensor a", "tensor b", "offset 32"}},
          {"gap.safetensors", kBad, {"tensor b", "gap of 64 bytes", "tensor a"}},
          {"trailing.safetensors", kBad, {"100 bytes", "not covered by the header"}},
          {"data-short.safetensors", kBad, {"tensor b", "needs 64 bytes", "4 missing"}},
          {"offset-past-end.safetensors", kBad, {"tensor b"}},
          {"offset-reversed.safetensors", kBad, {"tensor a", "[64, 0]"}},
          {"offset-one.safetensors", kBad, {"tensor a", "1 entries"}},
          {"dtype-unknown.safetensors", kBad, {"tensor a", "\"F31\""}},
          {"shape-mismatch.safetensors", kBad, {"tensor a", "needs 80 bytes", "give 64"}},
          {"shape-wrap.safetensors", kBad, {"tensor a", "overflows"}},
          {"shape-negative.safetensors", kBad, {"tensor a", "-4"}},
      },
      open_weights);
  expect_opens("safetensors",
               {
                   {"ok-base.safetensors", ""},
                   {"ok-metadata.safetensors", ""},
                   {"ok-padded.safetensors", ""},
                   {"ok-scalar.safetensors", ""},
                   {"ok-dtypes.safetensors", ""},
                   {"ok-unsorted.safetensors", ""},
                   {"note-metadata-only.safetensors", ""},
               },
               open_weights);
}

TEST(Malformed, SafetensorsDirectories) {
  const auto open_directory_of = [](const std::filesystem::path& index) {
    return open_weights(index.parent_path());
  };
  expect_refused("safetensors",
                 {
                     {"dir-missing-shard/model.safetensors.index.json",
                      kBad,
                      {"model-00002-of-00002.safetensors", "missing"}},
                     {"dir-index-invalid/model.safetensors.index.json", kBad, {"byte", "JSON"}},
                     {"dir-index-lacks/model-00002-of-00002.safetensors",
                      kBad,
                      {"tensor model.layers.0.mlp.down_proj.weight"}},
                 },
                 open_directory_of);
  expect_refused("safetensors", {{"dir-config-invalid/config.json", kBad, {"byte", "JSON"}}},
                 open_config);
  std::vector<Opens> rows;
  for (const char* name : {"dir-ok", "dir-ok-shards", "dir-no-lm-head", "dir-ok-tied",
                           "dir-no-config", "dir-config-no-heads", "dir-config-heads-0",
                           "dir-config-layers-2", "dir-config-vocab", "dir-model-type"}) {
    rows.push_back({name, ""});
  }
  expect_opens("safetensors", rows, open_weights);
}

}  // namespace
}  // namespace sinkscope::io
