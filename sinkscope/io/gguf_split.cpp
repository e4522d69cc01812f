#include "sinkscope/io/gguf_split.h"

#include <fmt/format.h>

#include "sinkscope/base/error.h"

namespace sinkscope::io {

std::vector<std::filesystem::path> gguf_part_names(const std::filesystem::path& first,
                                                   int64_t parts) {
  constexpr char kOperation[] = "find the parts of a split GGUF";
  const std::string name = first.filename().string();
  const std::string ending = fmt::format("-00001-of-{:05}.gguf", parts);
  if (!name.ends_with(ending)) {
    throw Error(ErrorKind::kBadFile, kOperation,
                fmt::format("{}: split.count is {}, but the name does not end in {}",
                            first.string(), parts, ending),
                "the other parts are found by name: give them back the names they came with");
  }
  const std::string prefix = name.substr(0, name.size() - ending.size());
  std::vector<std::filesystem::path> files;
  for (int64_t part = 1; part <= parts; ++part) {
    files.push_back(first.parent_path() /
                    fmt::format("{}-{:05}-of-{:05}.gguf", prefix, part, parts));
    std::error_code ignored;
    if (!std::filesystem::exists(files.back(), ignored)) {
      throw Error(ErrorKind::kBadFile, kOperation,
                  fmt::format("{}: part {} of {} is missing: {}", first.string(), part, parts,
                              files.back().string()),
                  "fetch all parts into one directory");
    }
  }
  return files;
}

}  // namespace sinkscope::io
