#include "sinkscope/text/json_reading.h"

#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"

namespace sinkscope::text {
namespace {

// The constructs are small; a vocabulary never comes through here.
io::Config element(const io::Config& at, std::string_view key, size_t index,
                   const nlohmann::json& value) {
  return io::Config::parse(value.dump(), fmt::format("{}: {}[{}]", at.where(), key, index));
}

}  // namespace

void refuse_construct(const io::Config& at, std::string_view construct) {
  throw Error(ErrorKind::kUnsupported, "read tokenizer",
              fmt::format("{}: {}", at.where(), io::printable(construct)),
              "use the model's GGUF file, or give the ids themselves with --tokens");
}

void refuse_damage(const io::Config& at, const std::string& seen) {
  throw Error(ErrorKind::kBadFile, "read tokenizer", at.where() + ": " + seen,
              "fetch tokenizer.json again, or give the ids themselves with --tokens");
}

std::vector<io::Config> objects(const io::Config& at, std::string_view key) {
  std::vector<io::Config> out;
  const auto found = at.json().find(key);
  if (found == at.json().end() || found->is_null()) return out;
  if (!found->is_array()) refuse_damage(at, fmt::format("key {} is no array", key));
  for (size_t i = 0; i < found->size(); ++i) out.push_back(element(at, key, i, (*found)[i]));
  return out;
}

Pattern read_pattern(const io::Config& at) {
  const auto pattern = at.child("pattern");
  if (!pattern) refuse_construct(at, "without an object under pattern");
  if (pattern->has("String")) return {pattern->text({"String"}), true};
  return {pattern->text({"Regex"}), false};
}

std::string escaped(std::string_view literal) {
  std::string pattern;
  for (const char c : literal) {
    if (c >= 0 && std::isalnum(static_cast<unsigned char>(c)) == 0) pattern.push_back('\\');
    pattern.push_back(c);
  }
  return pattern;
}

}  // namespace sinkscope::text
