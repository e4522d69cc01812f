#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "sinkscope/app/theory/theory.h"
#include "sinkscope/base/error.h"

namespace sinkscope::app::test {

/// What `sinkscope theory` writes as JSON, and its exit code.
struct Document {
  nlohmann::json json;
  int code = 0;

  const nlohmann::json& table(const std::string& name) const {
    for (const auto& table : json.at("tables")) {
      if (table.at("name") == name) return table;
    }
    throw std::runtime_error("no table " + name);
  }
  const nlohmann::json& rows(const std::string& name) const { return table(name).at("rows"); }
  nlohmann::json cell(const std::string& name, size_t row, const std::string& column) const {
    const auto& columns = table(name).at("columns");
    for (size_t c = 0; c < columns.size(); ++c) {
      if (columns[c].at("name") == column) return rows(name).at(row).at(c);
    }
    throw std::runtime_error("no column " + column);
  }
  bool says(const std::string& part) const {
    for (const auto& finding : json.at("findings")) {
      if (finding.get<std::string>().find(part) != std::string::npos) return true;
    }
    return false;
  }
};

inline Document run_theory(TheoryOptions options, const std::string& what) {
  options.what = what;
  options.format = "json";
  std::ostringstream out, err;
  Console console{out, err};
  Document document;
  document.code = theory(options, console);
  document.json = nlohmann::json::parse(out.str());
  return document;
}

inline ErrorKind refused(const TheoryOptions& options, const std::string& what) {
  try {
    run_theory(options, what);
  } catch (const Error& error) {
    return error.kind;
  }
  return ErrorKind::kInternal;  // it was not
}

/// A float64 matrix of `columns` columns as a .npy file of the test's own name.
inline std::string write_npy(const std::string& name, const std::vector<double>& entries,
                             size_t columns) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path file =
      std::filesystem::path(::testing::TempDir()) /
      (std::string(test->test_suite_name()) + "." + test->name() + "." + name + ".npy");
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (" +
                       std::to_string(entries.size() / columns) + ", " + std::to_string(columns) +
                       "), }";
  header.resize(117, ' ');
  header += '\n';
  std::ofstream out(file, std::ios::binary);
  out << "\x93NUMPY" << '\x01' << '\0' << static_cast<char>(header.size()) << '\0' << header;
  out.write(reinterpret_cast<const char*>(entries.data()),
            static_cast<std::streamsize>(entries.size() * sizeof(double)));
  return file.string();
}

}  // namespace sinkscope::app::test
