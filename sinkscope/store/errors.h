#pragma once

#include <SQLiteCpp/Exception.h>

#include <string>

#include "sinkscope/base/error.h"

namespace sinkscope::store {

/// What a failure inside SQLite means to the user of `file` (shown as given).
Error sqlite_error(const SQLite::Exception& exception, const std::string& operation,
                   const std::string& file);

/// kBadFile: content that no version of ours wrote. `seen` names file and place.
Error damaged_store(const std::string& seen);

}  // namespace sinkscope::store
