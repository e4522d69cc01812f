#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "sinkscope/base/error.h"
#include "sinkscope/store/errors.h"
#include "sinkscope/store/run_result.h"
#include "sinkscope/store/store.h"
#include "tests/store/sample_run.h"
#include "tests/support/paths.h"

namespace sinkscope::store {
namespace {
namespace fs = std::filesystem;

std::unique_ptr<Store> create(const fs::path& file) {
  auto store = Store::open_or_create(file, test::kIdentity, false);
  store->put_metrics(test::kMetrics);
  return store;
}

/// Runs `open`, which must throw; checks kind and that every word stands in the message.
template <typename Open>
void expect_error(Open open, ErrorKind kind, const std::vector<std::string>& words) {
  try {
    open();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.kind), static_cast<int>(kind)) << error.what();
    EXPECT_FALSE(error.hint.empty()) << error.what();
    for (const auto& word : words) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << error.what() << " lacks " << word;
    }
  }
}

/// Every row of every table but `fact`, as text.
std::vector<std::string> dump(const fs::path& file) {
  SQLite::Database database(file.string(), SQLite::OPEN_READONLY);
  std::vector<std::string> rows;
  for (const char* table : {"identity", "metric", "sequence", "sequence_value", "curve", "run_sum",
                            "model", "head_metric"}) {
    SQLite::Statement query(database, std::string("SELECT * FROM ") + table);
    while (query.executeStep()) {
      std::string row = table;
      for (int i = 0; i < query.getColumnCount(); ++i)
        row.append(1, '|').append(query.getColumn(i).getString());
      rows.push_back(row);
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

void measure_rest(const fs::path& file, int killed_in_batch = -1) {
  const auto store = create(file);
  const auto done = store->finished();
  for (int batch = 0; batch < 4; ++batch) {
    const std::vector<int64_t> ids = {2 * batch, 2 * batch + 1};
    if (std::find(done.begin(), done.end(), ids[0]) != done.end()) continue;
    const auto die = [&] {
      if (batch == killed_in_batch) kill(getpid(), SIGKILL);
    };
    test::put_sample(*store, ids, die);
  }
  store->rebuild_summary();
}

TEST(StoreFile, KilledInsideABatchAndRunAgainGivesTheSameRows) {
  const fs::path directory = sinkscope::test::scratch_directory("killed");
  measure_rest(directory / "whole.db");
  const auto expected = dump(directory / "whole.db");
  for (int batch = 0; batch < 4; ++batch) {
    const fs::path file = directory / ("killed" + std::to_string(batch) + ".db");
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      measure_rest(file, batch);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    EXPECT_EQ(Store::open(file)->finished().size(), static_cast<size_t>(2 * batch));
    measure_rest(file);
    EXPECT_EQ(dump(file), expected);
  }
}

TEST(StoreFile, SummaryRowsSayWhatReadRunSays) {
  const fs::path file = sinkscope::test::scratch_directory("summary") / "run.db";
  measure_rest(file);
  measure_rest(file);  // rebuilt, not doubled
  const RunResult run = read_run(*Store::open(file));
  SQLite::Database database(file.string(), SQLite::OPEN_READONLY);
  SQLite::Statement query(database,
                          "SELECT metric, layer, head, idx, value, count FROM head_value");
  int rows = 0;
  while (query.executeStep()) {
    const std::string metric = query.getColumn(0).getString();
    const int layer = query.getColumn(1).getInt(), head = query.getColumn(2).getInt();
    const int entry = query.getColumn(3).getInt();
    const double expected = layer < 0  ? run.sequence(metric, entry)
                            : head < 0 ? run.layer(metric, layer, entry)
                                       : run.head(metric, layer, head, entry);
    EXPECT_EQ(query.getColumn(4).isNull(), std::isnan(expected)) << metric;
    if (!std::isnan(expected)) {
      EXPECT_EQ(query.getColumn(4).getDouble(), expected) << metric;
    }
    ++rows;
  }
  EXPECT_EQ(rows, 2 * (2 * 4 + 2 * 1 + 1) + 1);  // two layers of two heads, and the loss
}

TEST(StoreFile, LeavesOneFileBehind) {
  const fs::path directory = sinkscope::test::scratch_directory("one_file");
  measure_rest(directory / "run.db");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory), {}), 1);
}

TEST(StoreFile, IsReadWhileItIsWritten) {
  const fs::path file = sinkscope::test::scratch_directory("live") / "run.db";
  const auto writer = create(file);
  test::put_sample(*writer, {0});
  test::put_sample(*writer, {1},
                   [&] { EXPECT_EQ(Store::open(file)->finished(), std::vector<int64_t>{0}); });
}

TEST(StoreFile, AnotherIdentityIsRefusedNamingTheFirstDifference) {
  const fs::path file = sinkscope::test::scratch_directory("identity") / "run.db";
  test::put_sample(*create(file), {0});
  EXPECT_EQ(create(file)->finished().size(), 1u);
  Facts other = test::kIdentity;
  other["seed"] = "8";
  expect_error([&] { Store::open_or_create(file, other, false); }, ErrorKind::kUsage,
               {"run.db", "seed is 7 there and 8 now"});
  other.erase("seed");
  expect_error([&] { Store::open_or_create(file, other, false); }, ErrorKind::kUsage,
               {"seed is 7 there and absent now"});
  EXPECT_EQ(Store::open(file)->finished().size(), 1u);
  EXPECT_TRUE(Store::open_or_create(file, other, true)->finished().empty());
  EXPECT_EQ(Store::open(file)->identity(), other);
}

TEST(StoreFile, AMetricOfAnotherWidthIsRefused) {
  const fs::path file = sinkscope::test::scratch_directory("width") / "run.db";
  create(file);
  diagnostics::MetricInfo wider = test::metric("alpha");
  wider.width = 8;
  expect_error(
      [&] {
        Store::open_or_create(file, test::kIdentity, false)->put_metrics({&wider, 1});
      },
      ErrorKind::kUsage, {"alpha", "4", "8"});
}

TEST(StoreFile, CreationThatWasInterruptedIsTakenUp) {
  const fs::path directory = sinkscope::test::scratch_directory("blank");
  std::ofstream(directory / "empty.db").flush();
  EXPECT_TRUE(create(directory / "empty.db")->finished().empty());
  SQLite::Database((directory / "header.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("PRAGMA journal_mode = WAL");
  EXPECT_TRUE(create(directory / "header.db")->finished().empty());
}

TEST(StoreFile, ForeignFilesAreRefused) {
  const fs::path directory = sinkscope::test::scratch_directory("foreign");
  std::ofstream(directory / "text.db") << std::string(5000, 'x');
  SQLite::Database((directory / "other.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE t (x)");
  for (const auto open :
       {+[](const fs::path& f) { Store::open(f); },
        +[](const fs::path& f) { Store::open_or_create(f, test::kIdentity, false); }}) {
    expect_error([&] { open(directory / "text.db"); }, ErrorKind::kBadFile,
                 {"text.db", "not a database"});
    expect_error([&] { open(directory / "other.db"); }, ErrorKind::kBadFile,
                 {"other.db", "another program"});
    expect_error([&] { open(directory); }, ErrorKind::kUsage, {"is a directory"});
  }
}

TEST(StoreFile, NewerSchemaIsRefused) {
  const fs::path file = sinkscope::test::scratch_directory("newer") / "run.db";
  create(file);
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 99");
  expect_error([&] { Store::open(file); }, ErrorKind::kUnsupported, {"version 99", "up to"});
  expect_error([&] { Store::open_or_create(file, test::kIdentity, false); },
               ErrorKind::kUnsupported, {"version 99"});
}

// As version 1 wrote it: read as it is, and brought up to date by a run that goes on.
TEST(StoreFile, OlderSchemaIsReadAndUpgraded) {
  const fs::path file = sinkscope::test::scratch_directory("older") / "run.db";
  measure_rest(file);
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE)
      .exec(
          "DROP TABLE run_sum; DROP TABLE effect; DROP TABLE sheet_table; DROP TABLE sheet_plot;"
          "DROP TABLE sheet_row; DROP TABLE sheet_finding; PRAGMA user_version = 1");
  EXPECT_TRUE(Store::open(file)->run_sums().empty());
  EXPECT_EQ(Store::open(file)->finished().size(), 8u);
  test::put_sample(*create(file), {8});
  EXPECT_EQ(Store::open(file)->run_sums().size(), 2u);
  EXPECT_GT(SQLite::Database(file.string()).execAndGet("PRAGMA user_version").getInt(), 1);
}

TEST(StoreFile, PathsThatCannotBeUsed) {
  const fs::path directory = sinkscope::test::scratch_directory("paths");
  expect_error([&] { Store::open(directory / "absent.db"); }, ErrorKind::kUsage,
               {"absent.db", "no such file"});
  expect_error([&] { Store::open_or_create(directory / "no" / "run.db", {}, false); },
               ErrorKind::kUsage, {"no/run.db", "unable to open"});
  std::ofstream(directory / "file") << "x";
  expect_error([&] { Store::open_or_create(directory / "file" / "run.db", {}, false); },
               ErrorKind::kUsage, {"unable to open"});
  expect_error([&] { Store::open_or_create("/proc/run.db", {}, false); }, ErrorKind::kUsage,
               {"/proc/run.db"});
}

TEST(StoreFile, ReadOnlyStoreIsReadAndNeverWritten) {
  const fs::path directory = sinkscope::test::scratch_directory("read only");
  const fs::path file = directory / "odd ?#%41 name.db";
  test::put_sample(*create(file), {0});
  fs::permissions(file, fs::perms::owner_read);
  fs::permissions(directory, fs::perms::owner_read | fs::perms::owner_exec);
  const auto store = Store::open(file);
  EXPECT_EQ(store->finished().size(), 1u);
  expect_error([&] { store->put_fact("a", "1"); }, ErrorKind::kUsage, {"readonly"});
  fs::permissions(directory, fs::perms::owner_all);
}

TEST(StoreFile, LockedStoreSaysWhoMayHoldIt) {
  const fs::path file = sinkscope::test::scratch_directory("locked") / "run.db";
  const auto store = create(file);
  SQLite::Database other(file.string(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  expect_error([&] { test::put_sample(*store, {0}); }, ErrorKind::kUsage,
               {"run.db", "database is locked"});
  other.exec("ROLLBACK");
  test::put_sample(*store, {0});
}

TEST(StoreFile, FullDiskIsTooLarge) {
  SQLite::Database small(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  small.exec("PRAGMA max_page_count = 2; CREATE TABLE t (x)");
  try {
    small.exec("INSERT INTO t VALUES (zeroblob(1000000))");
    FAIL();
  } catch (const SQLite::Exception& exception) {
    const Error error = sqlite_error(exception, "store sequences", "run.db");
    EXPECT_EQ(error.kind, ErrorKind::kTooLarge);
    EXPECT_NE(std::string(error.what()).find("run.db: database or disk is full"),
              std::string::npos);
  }
}

TEST(StoreFile, DamageIsAnErrorNeverACrash) {
  const fs::path directory = sinkscope::test::scratch_directory("damaged");
  const fs::path whole = directory / "whole.db", file = directory / "damaged.db";
  measure_rest(whole);
  std::ifstream in(whole, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  int refused = 0;
  const auto read = [&](const std::string& content) {
    std::ofstream(file, std::ios::binary) << content;
    try {
      read_run(*Store::open(file));
    } catch (const Error& error) {
      EXPECT_TRUE(error.kind == ErrorKind::kBadFile || error.kind == ErrorKind::kUnsupported)
          << error.what();
      ++refused;
    }
  };
  for (size_t size :
       {size_t{1}, size_t{50}, size_t{100}, size_t{4096}, bytes.size() / 2, bytes.size() - 1}) {
    const int before = refused;
    read(bytes.substr(0, size));
    EXPECT_EQ(refused, before + 1) << "cut to " << size;
  }
  for (size_t at = 0; at < bytes.size(); at += 211) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xFF);
    read(damaged);
  }
}

}  // namespace
}  // namespace sinkscope::store
