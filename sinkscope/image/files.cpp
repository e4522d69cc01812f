#include "sinkscope/image/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sinkscope/base/error.h"

namespace sinkscope::image {

namespace {

namespace fs = std::filesystem;

constexpr char kOperation[] = "find images";

bool is_image_name(const fs::path& file) {
  std::string ending = file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  const bool hidden = file.filename().string().starts_with('.');
  return !hidden && (ending == ".png" || ending == ".jpg" || ending == ".jpeg");
}

[[noreturn]] void refuse(const fs::path& path, const std::string& seen,
                         const std::string& hint = {}) {
  throw Error(ErrorKind::kBadFile, kOperation, fmt::format("{}: {}", path.string(), seen), hint);
}

}  // namespace

ImageFiles image_files(const fs::path& file_or_folder) {
  std::error_code error;
  const fs::file_status status = fs::status(file_or_folder, error);
  if (!fs::exists(status)) refuse(file_or_folder, "there is no such file or folder");
  if (!fs::is_directory(status)) return {{file_or_folder}, {}};
  ImageFiles out;
  fs::directory_iterator entry(file_or_folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code unreadable;
    if (entry->is_directory(unreadable)) continue;
    (is_image_name(entry->path()) ? out.files : out.skipped).push_back(entry->path());
  }
  if (error) refuse(file_or_folder, error.message());
  if (out.files.empty()) {
    refuse(file_or_folder,
           fmt::format("no picture among {} files; folders inside are not searched",
                       out.skipped.size()),
           "pictures end in .png, .jpg or .jpeg");
  }
  std::sort(out.files.begin(), out.files.end());
  std::sort(out.skipped.begin(), out.skipped.end());
  return out;
}

}  // namespace sinkscope::image
