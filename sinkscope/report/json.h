#pragma once

#include <nlohmann/json.hpp>
#include <ostream>

#include "sinkscope/store/run_result.h"

namespace sinkscope::report {

/// The document sinkscope.scan/1 (docs/json.md, product.md). Non-finite numbers are null.
nlohmann::ordered_json scan_document(const store::RunResult& run);
/// The document sinkscope.run/1 that lies beside a CSV or npz file.
nlohmann::ordered_json run_document(const store::RunResult& run);

/// null where the number is not finite.
nlohmann::ordered_json number(double value);

/// `value` on one line, always valid UTF-8.
std::string compact_text(const nlohmann::ordered_json& value);
/// `document` as text: a line per key, and a line per entry of the long arrays.
void write_document(const nlohmann::ordered_json& document, std::ostream& out);

/// `scan --format json`.
void write_json(const store::RunResult& run, std::ostream& out);
/// The side file of CSV and npz.
void write_run_json(const store::RunResult& run, std::ostream& out);

}  // namespace sinkscope::report
