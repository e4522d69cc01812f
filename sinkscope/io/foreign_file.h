#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sinkscope::io {

/// Throws kBadFile naming what the file really is when its first bytes are those of something else
/// that is often found under the name of a weight file: nothing at all, a git-lfs pointer, a zip
/// (PyTorch checkpoint), a pickle, a web page, gzip, HDF5, or the other weight format. Returns
/// when the content is not recognised. `operation` and `file` go into the error.
void refuse_foreign(std::span<const std::byte> bytes, const std::string& operation,
                    const std::string& file);

}  // namespace sinkscope::io
