#include "sinkscope/app/ablate/intervention.h"

#include <algorithm>
#include <string>

#include "sinkscope/base/error.h"

namespace sinkscope::app {

std::span<const Intervention> all_interventions() {
  static const std::vector<Intervention> table = [] {
    std::vector<Intervention> rows;
    for (const auto part : {head_interventions(), model_interventions(), token_interventions()}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return table;
}

std::vector<const Intervention*> select_interventions(std::span<const std::string> names) {
  std::vector<const Intervention*> chosen;
  std::string known;
  for (const Intervention& row : all_interventions()) {
    known += (known.empty() ? "" : ", ") + std::string(row.name);
    const bool named = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name == row.name || name == "all";
    });
    if (named) chosen.push_back(&row);
  }
  for (const std::string& name : names) {
    const bool found = name == "all" || std::any_of(chosen.begin(), chosen.end(),
                                                    [&](auto* row) { return row->name == name; });
    if (!found) {
      throw Error(ErrorKind::kUsage, "choose interventions",
                  "there is no intervention \"" + name + "\"", "known: all, " + known);
    }
  }
  return chosen;
}

}  // namespace sinkscope::app
