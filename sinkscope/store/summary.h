#pragma once

#include <SQLiteCpp/Database.h>

#include "sinkscope/store/run_result.h"

namespace sinkscope::store {

/// Replaces the tables `model` and `head_metric` by the values of `run`, in one transaction.
void write_summary(SQLite::Database& database, const RunResult& run);

}  // namespace sinkscope::store
