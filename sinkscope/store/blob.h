#pragma once

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "sinkscope/store/errors.h"

namespace sinkscope::store {

static_assert(std::endian::native == std::endian::little,
              "arrays are stored as they lie in memory");

/// Binds `values` as they lie in memory; they must live until the statement has run.
template <typename T>
void bind_array(SQLite::Statement& statement, int index, std::span<const T> values) {
  // A null pointer would bind SQL NULL instead of an empty blob.
  static const char empty = 0;
  const void* data = values.empty() ? static_cast<const void*>(&empty) : values.data();
  statement.bindNoCopy(index, data, static_cast<int>(values.size_bytes()));
}

/// Column `index` as an array; throws kBadFile when its size is no multiple of an element.
template <typename T>
std::vector<T> read_array(SQLite::Statement& statement, int index, const std::string& what) {
  const SQLite::Column column = statement.getColumn(index);
  const void* data = column.getBlob();
  const size_t size = static_cast<size_t>(column.getBytes());
  if (size % sizeof(T) != 0) {
    throw damaged_store(what + ": array of " + std::to_string(size) + " bytes, not a multiple of " +
                        std::to_string(sizeof(T)));
  }
  std::vector<T> values(size / sizeof(T));
  if (size > 0) std::memcpy(values.data(), data, size);
  return values;
}

}  // namespace sinkscope::store
