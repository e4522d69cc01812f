#include "sinkscope/base/error.h"

#include <gtest/gtest.h>

namespace sinkscope {
namespace {

TEST(Error, TextIsOperationAndWhatWasSeen) {
  const Error error(ErrorKind::kBadFile, "read header", "a.gguf: byte 4", "fetch it again");
  EXPECT_STREQ(error.what(), "read header: a.gguf: byte 4");
  EXPECT_EQ(error.operation, "read header");
  EXPECT_EQ(error.seen, "a.gguf: byte 4");
  EXPECT_EQ(error.hint, "fetch it again");
  EXPECT_EQ(error.kind, ErrorKind::kBadFile);
}

TEST(Error, CopiesKeepTheirTextAndAreCaughtAsStandardExceptions) {
  try {
    const Error original(ErrorKind::kUsage, "read flags", "--layers 9");
    const Error copy = original;
    throw copy;
  } catch (const std::exception& caught) {
    EXPECT_STREQ(caught.what(), "read flags: --layers 9");
    const auto* error = dynamic_cast<const Error*>(&caught);
    ASSERT_NE(error, nullptr);
    EXPECT_TRUE(error->hint.empty());
  }
}

}  // namespace
}  // namespace sinkscope
