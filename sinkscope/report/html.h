#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>

#include "sinkscope/store/run_result.h"
#include "sinkscope/store/store.h"

namespace sinkscope::report {

/// The page as it was embedded at build; without a built page (web/dist/index.html) one that says
/// so and still holds the data.
std::string_view page_bundle();

/// The document sinkscope.page/1 (docs/json.md). `store` gives the events of single sequences.
nlohmann::ordered_json page_document(const store::Store& store, const store::RunResult& run);

/// `bundle` with the JSON text `data` between the tags of its marker
/// <script id="data" type="application/json"></script>. Throws kInternal when the marker is absent
/// or there twice.
void splice_page(std::string_view bundle, std::string_view data, std::ostream& out);

/// The page of a run, with its page document.
void write_html(const store::Store& store, const store::RunResult& run, std::string_view bundle,
                std::ostream& out);

}  // namespace sinkscope::report
