#include "sinkscope/image/files.h"

#include <gtest/gtest.h>

#include "tests/io/files.h"
#include "tests/support/paths.h"

namespace sinkscope::image {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names(const std::vector<fs::path>& files) {
  std::vector<std::string> out;
  for (const fs::path& file : files) out.push_back(file.filename().string());
  return out;
}

TEST(ImageFiles, AreSortedAndTheRestIsReturnedToo) {
  const fs::path folder = sinkscope::test::scratch_directory("pictures");
  fs::create_directories(folder / "inside.png");
  io::test::write_file(folder / "inside.png" / "c.png", "x");
  for (const char* name : {"b.JPG", "a.png", "B.jpeg", "notes.txt", "d.gif", "._a.png"}) {
    io::test::write_file(folder / name, "x");
  }
  const ImageFiles found = image_files(folder);
  EXPECT_EQ(names(found.files), (std::vector<std::string>{"B.jpeg", "a.png", "b.JPG"}));
  EXPECT_EQ(names(found.skipped), (std::vector<std::string>{"._a.png", "d.gif", "notes.txt"}));
  // A file that is named is taken at its word.
  EXPECT_EQ(names(image_files(folder / "d.gif").files), (std::vector<std::string>{"d.gif"}));
}

TEST(ImageFiles, NothingToReadIsAnError) {
  const fs::path folder = sinkscope::test::scratch_directory("no_pictures");
  io::test::write_file(folder / "notes.txt", "x");
  io::test::expect_error(ErrorKind::kBadFile, {"no_pictures: no picture among 1 files"},
                         [&] { image_files(folder); });
  io::test::expect_error(ErrorKind::kBadFile, {"absent", "no such file or folder"},
                         [&] { image_files(folder / "absent"); });
}

}  // namespace
}  // namespace sinkscope::image
