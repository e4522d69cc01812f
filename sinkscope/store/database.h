#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>
#include <string>

#include "sinkscope/store/store.h"

namespace sinkscope::store {

/// A connection and the name that errors call it by.
struct Connection {
  SQLite::Database database;
  std::string name;
};

/// A store in memory, with the schema and the identity.
Connection connect_memory(const Facts& identity = {});

/// For writing: creates `file` with schema and identity in one transaction, or opens a store whose
/// identity equals `identity`. Errors as Store::open_or_create.
Connection connect_writing(const std::filesystem::path& file, const Facts& identity,
                           bool overwrite);

/// For reading. Errors as Store::open.
Connection connect_reading(const std::filesystem::path& file);

/// A table of key and value: "identity" or "fact".
Facts read_pairs(SQLite::Database& database, const std::string& table);
void write_pair(SQLite::Database& database, const std::string& table, const std::string& key,
                const std::string& value);

}  // namespace sinkscope::store
