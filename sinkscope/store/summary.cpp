#include "sinkscope/store/summary.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>

#include <cmath>

#include "sinkscope/store/run_facts.h"

namespace sinkscope::store {
namespace {

using diagnostics::Scope;

int64_t insert_model(SQLite::Database& database, const RunResult& run) {
  const RunIdentity identity = read_identity(run.identity);
  const RunFacts facts = read_facts(run.facts);
  SQLite::Statement insert(database,
                           "INSERT INTO model (sha256, path, revision, step) VALUES (?, ?, ?, ?)");
  insert.bind(1, identity.model_sha256);
  insert.bind(2, facts.model_path);
  insert.bind(3, identity.revision);
  insert.bind(4, identity.step);
  insert.exec();
  return database.getLastInsertRowid();
}

}  // namespace

void write_summary(SQLite::Database& database, const RunResult& run) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  database.exec("DELETE FROM head_metric");
  database.exec("DELETE FROM model");
  const int64_t model = insert_model(database, run);
  SQLite::Statement insert(
      database,
      "INSERT INTO head_metric (model, metric, layer, head, idx, value, count) "
      "VALUES (?, ?, ?, ?, ?, ?, ?)");
  insert.bind(1, model);
  for (const StoredMetric& metric : run.metrics) {
    const auto& value = run.value.at(metric.name);
    const auto& count = run.count.at(metric.name);
    insert.bind(2, metric.name);
    for (size_t layer = 0; layer < value.size(); ++layer) {
      if (metric.scope != Scope::kSequence && !run.measured(static_cast<int>(layer))) continue;
      insert.bind(3, metric.scope == Scope::kSequence ? -1 : static_cast<int>(layer));
      for (size_t i = 0; i < value[layer].size(); ++i) {
        const int entry = static_cast<int>(i);
        insert.bind(4, metric.scope == Scope::kHead ? entry / metric.width : -1);
        insert.bind(5, entry % metric.width);
        if (std::isfinite(value[layer][i])) {
          insert.bind(6, value[layer][i]);
        } else {
          insert.bind(6);
        }
        insert.bind(7, count[layer][i]);
        insert.exec();
        insert.reset();
      }
    }
  }
  transaction.commit();
}

}  // namespace sinkscope::store
