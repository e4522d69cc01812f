#pragma once

#include <filesystem>
#include <vector>

namespace sinkscope::image {

/// The pictures among the files of a folder, by name.
struct ImageFiles {
  std::vector<std::filesystem::path> files;    ///< sorted by the bytes of the name
  std::vector<std::filesystem::path> skipped;  ///< files that do not end in .png, .jpg or .jpeg
};

/// A file is itself, whatever its name; of a folder, the files (not those of folders inside it)
/// that end in .png, .jpg or .jpeg in any case and do not begin with a dot. Folders inside are in
/// neither list.
///
/// Throws kBadFile when there is nothing of this name, the folder cannot be read or holds no
/// picture.
ImageFiles image_files(const std::filesystem::path& file_or_folder);

}  // namespace sinkscope::image
