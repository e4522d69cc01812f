#include "sinkscope/store/errors.h"

#include <sqlite3.h>

namespace sinkscope::store {
namespace {

constexpr const char* kDamagedHint =
    "the store is damaged; restore it from a copy, or measure again with --overwrite";

}  // namespace

Error damaged_store(const std::string& seen) {
  return {ErrorKind::kBadFile, "read run store", seen, kDamagedHint};
}

Error sqlite_error(const SQLite::Exception& exception, const std::string& operation,
                   const std::string& file) {
  const std::string seen = file + ": " + exception.what();
  const int extended = exception.getExtendedErrorCode();
  // A quota or a file size limit arrives as a failed write, not as SQLITE_FULL.
  if (extended == SQLITE_IOERR_WRITE) {
    return {ErrorKind::kTooLarge, operation, seen,
            "the disk, a quota or a file size limit refused the write; what was finished before is "
            "kept"};
  }
  switch (exception.getErrorCode()) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorKind::kUsage, operation, seen,
              "another program is writing this store; wait for it, or give another output (-o)"};
    case SQLITE_FULL:
      return {ErrorKind::kTooLarge, operation, seen,
              "free some space and run the same command again: what is finished is kept"};
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return {ErrorKind::kTooLarge, operation, seen, "measure fewer or shorter sequences"};
    case SQLITE_NOTADB:
      return {ErrorKind::kBadFile, operation, seen,
              "this is no run store; give one written by sinkscope, or another output (-o)"};
    case SQLITE_CORRUPT:
    case SQLITE_IOERR:
    case SQLITE_ERROR:  // a statement of ours that does not fit: a table is missing or different
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH: return {ErrorKind::kBadFile, operation, seen, kDamagedHint};
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {ErrorKind::kUsage, operation, seen,
              "the directory must exist, and it and the file must be writable"};
    default: return {ErrorKind::kInternal, operation, seen};
  }
}

}  // namespace sinkscope::store
