#include "sinkscope/base/sha256.h"

#include <gtest/gtest.h>

#include <fstream>
#include <span>
#include <string>

#include "sinkscope/base/error.h"
#include "tests/support/paths.h"

namespace sinkscope {
namespace {

namespace fs = std::filesystem;

std::string hash_of(const std::string& text) {
  return sha256_bytes(std::as_bytes(std::span(text.data(), text.size())));
}

fs::path write(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

// Vectors of FIPS 180-4.
TEST(Sha256, KnownVectors) {
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, OneFileIsTheHashOfItsBytesWhateverItsSize) {
  const fs::path folder = test::scratch_directory("sha256");
  EXPECT_EQ(sha256_files({write(folder / "empty", "")}), hash_of(""));
  const std::string block(1 << 20, 'x');  // the size of the reader's buffer, and around it
  for (const std::string& text : {block, block + "y", block.substr(1), block + block + "z"}) {
    EXPECT_EQ(sha256_files({write(folder / "file", text)}), hash_of(text)) << text.size();
  }
}

TEST(Sha256, SeveralFilesAreHashedAsTheLinesOfTheirDigests) {
  const fs::path folder = test::scratch_directory("sha256");
  const std::vector<fs::path> files = {write(folder / "a.bin", "abc"), write(folder / "b.bin", "")};
  EXPECT_EQ(sha256_files(files), hash_of(hash_of("abc") + "  a.bin\n" + hash_of("") + "  b.bin\n"));
}

TEST(Sha256, NamesTheFileThatCannotBeRead) {
  const fs::path folder = test::scratch_directory("sha256");
  const fs::path there = write(folder / "there.bin", "abc");
  try {
    sha256_files({there, folder / "absent.bin"});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kBadFile);
    EXPECT_NE(error.seen.find("absent.bin"), std::string::npos) << error.seen;
  }
}

}  // namespace
}  // namespace sinkscope
