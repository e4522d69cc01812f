#include "sinkscope/model/family.h"

#include <fmt/format.h>

#include <algorithm>

#include "sinkscope/base/error.h"
#include "sinkscope/model/families/families.h"

namespace sinkscope::model {
namespace {

// Explicit: a linker may drop self-registering objects, and a table can be read.
constexpr const Family* kFamilies[] = {&kGpt2, &kLlama};

std::string known_families() {
  std::string names;
  for (const Family* family : kFamilies) {
    names += (names.empty() ? "" : ", ") + std::string(family->name);
  }
  return names;
}

[[noreturn]] void refuse(const std::string& where, std::string_view key, const std::string& found) {
  throw Error(ErrorKind::kUnsupported, "choose the model family",
              fmt::format("{}: {} is \"{}\"", where, key, found),
              "supported families: " + known_families());
}

}  // namespace

std::span<const Family* const> all_families() { return kFamilies; }

const Family& find_family(const io::Config& config) {
  const std::string type = config.text({"model_type"}, "");
  if (!type.empty()) {
    for (const Family* family : kFamilies) {
      if (family->name == type) return *family;
    }
    refuse(config.where(), "model_type", type);
  }
  const std::vector<std::string> classes = config.texts("architectures");
  for (const Family* family : kFamilies) {
    if (std::find(classes.begin(), classes.end(), family->hub_class) != classes.end())
      return *family;
  }
  if (!classes.empty()) refuse(config.where(), "architectures", classes.front());
  throw Error(ErrorKind::kUnsupported, "choose the model family",
              config.where() + ": neither model_type nor architectures names a family",
              "supported families: " + known_families());
}

const Family& find_family(const io::GgufFile& file) {
  const std::string architecture = file.text("general.architecture");
  for (const Family* family : kFamilies) {
    if (family->architecture == architecture) return *family;
  }
  refuse(file.files().front().string(), "general.architecture", architecture);
}

}  // namespace sinkscope::model
