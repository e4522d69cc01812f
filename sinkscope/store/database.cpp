#include "sinkscope/store/database.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>

#include <iterator>
#include <string_view>
#include <system_error>

#include "sinkscope/store/errors.h"
#include "sinkscope/store/utf8.h"

namespace sinkscope::embedded {
std::string_view schema_001_run();
std::string_view schema_002_run_sum();
std::string_view schema_003_effect();
std::string_view schema_004_sheet();
std::string_view schema_005_effect_change();
}  // namespace sinkscope::embedded

namespace sinkscope::store {
namespace {

constexpr int kApplicationId = 0x534E4B53;  // "SNKS", shown by file(1)
/// The scripts of schema/, by number.
constexpr std::string_view (*kScripts[])() = {
    embedded::schema_001_run, embedded::schema_002_run_sum, embedded::schema_003_effect,
    embedded::schema_004_sheet, embedded::schema_005_effect_change};
constexpr int kSchemaVersion = std::size(kScripts);
constexpr int kBusyMilliseconds = 2000;
constexpr const char* kOpen = "open run store";

int64_t pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet(std::string("PRAGMA ") + name).getInt64();
}

/// Nothing in it yet: a fresh file, or one whose creation was interrupted before its first commit.
bool is_blank(SQLite::Database& database) {
  return pragma(database, "application_id") == 0 &&
         database.execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0;
}

void check_is_store(SQLite::Database& database, const std::string& name) {
  if (pragma(database, "application_id") != kApplicationId) {
    throw Error(ErrorKind::kBadFile, kOpen, name + ": an SQLite database of another program",
                "give a store written by sinkscope, or another output (-o)");
  }
  const int64_t version = pragma(database, "user_version");
  if (version > kSchemaVersion) {
    throw Error(ErrorKind::kUnsupported, kOpen,
                name + ": schema version " + std::to_string(version) +
                    ", this program reads up to " + std::to_string(kSchemaVersion),
                "use the newer sinkscope that wrote it");
  }
  if (version < 1) {
    throw damaged_store(name + ": schema version " + std::to_string(version));
  }
}

/// WAL: a reader (serve) never blocks the run. NORMAL: a killed process loses nothing that was
/// committed; only a power failure can lose the last batches, never damage the file.
void use_log(SQLite::Database& database) {
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = NORMAL");
}

bool has_pending_log(const std::filesystem::path& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file.native() + "-wal", error);
  return !error && size > 0;
}

/// SQLite itself notices a missing end only when it comes to read it.
void check_length(SQLite::Database& database, const std::filesystem::path& file,
                  const std::string& name) {
  if (has_pending_log(file)) return;  // pages may still lie in the log alone
  // By stat, never by opening the file: closing it would drop SQLite's locks in this process.
  const uint64_t size = std::filesystem::file_size(file);
  const uint64_t needed =
      static_cast<uint64_t>(pragma(database, "page_count") * pragma(database, "page_size"));
  if (size < needed) {
    throw damaged_store(name + ": needs " + std::to_string(needed) + " bytes, the file has " +
                        std::to_string(size));
  }
}

/// Runs the scripts above `version`, inside the caller's transaction.
void apply_scripts(SQLite::Database& database, int64_t version) {
  for (int64_t script = version; script < kSchemaVersion; ++script) {
    database.exec(std::string(kScripts[script]()));
  }
  database.exec("PRAGMA user_version = " + std::to_string(kSchemaVersion));
}

/// One transaction: a file has all of it or is blank.
void create_schema(SQLite::Database& database, const Facts& identity) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  apply_scripts(database, 0);
  database.exec("PRAGMA application_id = " + std::to_string(kApplicationId));
  for (const auto& [key, value] : identity) write_pair(database, "identity", key, value);
  transaction.commit();
}

/// Brings a store of an older schema up to this one.
void upgrade_schema(SQLite::Database& database) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  const int64_t version = pragma(database, "user_version");
  if (version < kSchemaVersion) apply_scripts(database, version);
  transaction.commit();
}

void check_identity(const std::string& name, const Facts& stored, const Facts& given) {
  Facts keys = stored;
  keys.insert(given.begin(), given.end());
  for (const auto& entry : keys) {
    const std::string& key = entry.first;
    const auto text = [&key](const Facts& facts) {
      const auto found = facts.find(key);
      return found == facts.end() ? std::string("absent") : found->second;
    };
    if (text(stored) == text(given)) continue;
    throw Error(ErrorKind::kUsage, "continue run store",
                name + ": another run; " + key + " is " + text(stored) + " there and " +
                    text(given) + " now",
                "give another output (-o), or --overwrite to replace the file");
  }
}

void require_not_directory(const std::filesystem::path& file, const std::string& name) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw Error(ErrorKind::kUsage, kOpen, name + ": is a directory", "name a file in it");
  }
}

void remove_files(const std::filesystem::path& file, const std::string& name) {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::error_code error;
    std::filesystem::remove(file.native() + suffix, error);
    if (error) {
      throw Error(ErrorKind::kUsage, "replace run store", name + suffix + ": " + error.message(),
                  "the directory must be writable");
    }
  }
}

/// A store in a directory that cannot be written: SQLite would want to create its -shm file.
/// Without a -wal nothing is pending, and the file can be read as it is.
SQLite::Database open_immutable(const std::filesystem::path& file) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(file).string()) {
    if (c == '?' || c == '#' || c == '%') {
      const char digits[] = "0123456789ABCDEF";
      uri += {'%', digits[c >> 4], digits[c & 15]};
    } else {
      uri += c;
    }
  }
  return SQLite::Database(uri + "?immutable=1", SQLite::OPEN_READONLY | SQLite::OPEN_URI);
}

}  // namespace

Facts read_pairs(SQLite::Database& database, const std::string& table) {
  Facts pairs;
  SQLite::Statement query(database, "SELECT key, value FROM " + table);
  while (query.executeStep())
    pairs[query.getColumn(0).getString()] = query.getColumn(1).getString();
  return pairs;
}

void write_pair(SQLite::Database& database, const std::string& table, const std::string& key,
                const std::string& value) {
  SQLite::Statement insert(database,
                           "INSERT OR REPLACE INTO " + table + " (key, value) VALUES (?, ?)");
  insert.bind(1, key);
  insert.bind(2, value);
  insert.exec();
}

Connection connect_memory(const Facts& identity) {
  Connection connection{SQLite::Database(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE),
                        "store in memory"};
  create_schema(connection.database, identity);
  return connection;
}

Connection connect_writing(const std::filesystem::path& file, const Facts& identity,
                           bool overwrite) {
  const std::string name = valid_utf8(file.string());
  require_not_directory(file, name);
  if (overwrite) remove_files(file, name);
  try {
    Connection connection{
        SQLite::Database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE,
                         kBusyMilliseconds),
        name};
    SQLite::Database& database = connection.database;
    if (is_blank(database)) {
      database.exec("PRAGMA page_size = 16384");  // arrays of some kilobytes: fewer pages to chain
      use_log(database);
      create_schema(database, identity);
    } else {
      check_is_store(database, name);
      check_length(database, file, name);
      check_identity(name, read_pairs(database, "identity"), identity);
      use_log(database);
      upgrade_schema(database);
    }
    return connection;
  } catch (const SQLite::Exception& exception) {
    throw sqlite_error(exception, kOpen, name);
  }
}

Connection connect_reading(const std::filesystem::path& file) {
  const std::string name = valid_utf8(file.string());
  require_not_directory(file, name);
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    throw Error(ErrorKind::kUsage, kOpen, name + ": no such file",
                "check the path of the store (RUN.db)");
  }
  try {
    const auto open = [&] {
      Connection connection{
          SQLite::Database(file.string(), SQLite::OPEN_READONLY, kBusyMilliseconds), name};
      check_is_store(connection.database, name);
      check_length(connection.database, file, name);
      return connection;
    };
    try {
      return open();
    } catch (const SQLite::Exception&) {
      if (has_pending_log(file)) throw;
      Connection connection{open_immutable(file), name};
      check_is_store(connection.database, name);
      check_length(connection.database, file, name);
      return connection;
    }
  } catch (const SQLite::Exception& exception) {
    throw sqlite_error(exception, kOpen, name);
  }
}

}  // namespace sinkscope::store
