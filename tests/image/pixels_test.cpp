#include "sinkscope/image/pixels.h"

#include <gtest/gtest.h>

#include <limits>

#include "sinkscope/io/safetensors.h"
#include "tests/io/files.h"
#include "tests/support/paths.h"

namespace sinkscope::image {
namespace {

namespace fs = std::filesystem;
using io::test::Bytes;
using io::test::expect_error;
using io::test::write_file;

std::string header_of(const std::string& descr, const std::string& shape,
                      const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

std::string npy(const std::string& header, const std::string& data, int version = 1) {
  Bytes out;
  out.raw("\x93NUMPY").add<uint8_t>(version).add<uint8_t>(0);
  if (version == 1) {
    out.add<uint16_t>(header.size());
  } else {
    out.add<uint32_t>(header.size());
  }
  return out.raw(header).raw(data).str();
}

template <typename T>
std::string numbers(const std::vector<T>& values) {
  Bytes out;
  for (const T value : values) out.add(value);
  return out.str();
}

class PixelFiles : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& bytes) {
    write_file(folder_ / name, bytes);
    return folder_ / name;
  }
  void refused(ErrorKind kind, const std::string& says, const std::string& bytes) {
    const fs::path file = write("bad.npy", bytes);
    expect_error(kind, {"bad.npy", says}, [&] { read_pixels(file); });
  }

  fs::path folder_ = sinkscope::test::scratch_directory("pixels");
  std::vector<float> twelve_ = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -0.5f};
};

TEST_F(PixelFiles, ReadsTheTypesAndVersionsOfNpy) {
  const auto half = numbers<uint16_t>({0x3C00, 0x4000, 0xC200, 0x3800, 0, 0x0001});
  const std::vector<Pixels> halves =
      read_pixels(write("a.npy", npy(header_of("<f2", "(3, 2, 1)"), half, 2)));
  ASSERT_EQ(halves.size(), 1u);
  EXPECT_EQ(halves[0].height, 2);
  EXPECT_EQ(halves[0].width, 1);
  EXPECT_EQ(halves[0].values, (std::vector<float>{1, 2, -3, 0.5f, 0, 0x1p-24f}));

  const std::vector<double> wide(twelve_.begin(), twelve_.end());
  for (const std::string& bytes :
       {npy(header_of("<f4", "(2, 3, 1, 2)"), numbers(twelve_)),
        npy(header_of("<f8", "(2, 3, 1, 2)") + "     \n", numbers(wide))}) {
    const std::vector<Pixels> two = read_pixels(write("b.npy", bytes));
    ASSERT_EQ(two.size(), 2u);
    EXPECT_EQ(two[1].height, 1);
    EXPECT_EQ(two[1].width, 2);
    EXPECT_EQ(two[0].values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(two[1].values, (std::vector<float>{7, 8, 9, 10, 11, -0.5f}));
  }
}

TEST_F(PixelFiles, NpyIsHeldAgainstTheSizeOfTheFile) {
  const std::string data = numbers(twelve_);
  using enum ErrorKind;
  refused(kBadFile, "shape [4, 3, 1, 2] needs 96 bytes of data, the file holds 48",
          npy(header_of("<f4", "(4, 3, 1, 2)"), data));
  refused(kBadFile, "the file holds 49", npy(header_of("<f4", "(2, 3, 1, 2)"), data + "x"));
  refused(kBadFile, "needs too many bytes",
          npy(header_of("<f4", "(9000000000000000000, 3, 1, 2)"), data));
  refused(kBadFile, "header of", npy(header_of("<f4", "(2, 3, 1, 2)"), data).substr(0, 40));
  refused(kBadFile, "ends at byte 7", std::string("\x93NUMPY\x01", 7));
  refused(kBadFile, "offset", npy(header_of("<f4", "(2, 3, -1, 2)"), data));
  refused(kBadFile, "shape [12], [N, 3, H, W]", npy(header_of("<f4", "(12,)"), data));
  refused(kBadFile, "shape [2, 2, 3, 1]", npy(header_of("<f4", "(2, 2, 3, 1)"), data));
  refused(kBadFile, "shape [0, 3, 1, 1]", npy(header_of("<f4", "(0, 3, 1, 1)"), ""));
  refused(kBadFile, "lacks one of", npy("{'descr': '<f4', 'shape': (3, 2, 2)}", data));
  refused(kBadFile, "unknown key", npy("{'other': '<f4'}", data));
  refused(kBadFile, "goes on after its end", npy(header_of("<f4", "(3, 2, 2)") + "+ 1", data));
}

TEST_F(PixelFiles, OtherArraysAreUnsupportedByName) {
  const std::string data = numbers(twelve_);
  using enum ErrorKind;
  refused(kUnsupported, "element type >f4", npy(header_of(">f4", "(3, 2, 2)"), data));
  refused(kUnsupported, "element type |u1", npy(header_of("|u1", "(3, 4, 4)"), data));
  refused(kUnsupported, "element type |O", npy(header_of("|O", "(3, 4, 4)"), data));
  refused(kUnsupported, "Fortran order", npy(header_of("<f4", "(3, 2, 2)", "True"), data));
  refused(kUnsupported, "npy version 3.0", npy(header_of("<f4", "(3, 2, 2)"), data, 3));
  twelve_[7] = std::numeric_limits<float>::quiet_NaN();
  refused(kBadNumbers, "element 7 is nan", npy(header_of("<f4", "(2, 3, 1, 2)"), numbers(twelve_)));
  const std::vector<double> huge = {1e300, 0, 0};
  refused(kBadNumbers, "element 0 is inf", npy(header_of("<f8", "(3, 1, 1)"), numbers(huge)));
}

TEST_F(PixelFiles, ReadsTheTensorOfASafetensorsFile) {
  const auto tensor = [&](const std::string& name, std::vector<int64_t> shape) {
    return io::TensorToWrite{name, io::DType::kF32, std::move(shape),
                             std::as_bytes(std::span(twelve_))};
  };
  const fs::path file = folder_ / "a.safetensors";
  io::write_safetensors(file, {tensor("anything", {2, 3, 1, 2})});
  ASSERT_EQ(read_pixels(file).size(), 2u);
  EXPECT_EQ(read_pixels(file)[1].values[5], -0.5f);
  io::write_safetensors(file, {tensor("other", {12}), tensor("pixel_values", {3, 2, 2})});
  ASSERT_EQ(read_pixels(file).size(), 1u);
  EXPECT_EQ(read_pixels(file)[0].values, twelve_);
  io::write_safetensors(file, {tensor("a", {3, 2, 2}), tensor("b", {3, 2, 2})});
  expect_error(ErrorKind::kBadFile, {"2 tensors, none is named pixel_values"},
               [&] { read_pixels(file); });
  io::write_safetensors(file,
                        {{"a", io::DType::kI32, {3, 2, 2}, std::as_bytes(std::span(twelve_))}});
  expect_error(ErrorKind::kUnsupported, {"tensor a is of type I32"}, [&] { read_pixels(file); });
}

}  // namespace
}  // namespace sinkscope::image
