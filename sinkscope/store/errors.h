#pragma once

#include <SQLiteCpp/Exception.h>

#include <string>
#include <type_traits>

#include "sinkscope/base/error.h"

namespace sinkscope::store {

/// What a failure inside SQLite means to the user of `file` (shown as given).
Error sqlite_error(const SQLite::Exception& exception, const std::string& operation,
                   const std::string& file);

/// kBadFile: content that no version of ours wrote. `seen` names file and place.
Error damaged_store(const std::string& seen);

/// Runs `body`; what fails inside SQLite becomes sqlite_error.
template <typename Body>
std::invoke_result_t<Body> guarded(const std::string& operation, const std::string& file,
                                   Body body) {
  try {
    return body();
  } catch (const SQLite::Exception& exception) {
    throw sqlite_error(exception, operation, file);
  }
}

}  // namespace sinkscope::store
