#include "sinkscope/model/family.h"

#include <fmt/format.h>

#include <algorithm>

#include "sinkscope/base/error.h"
#include "sinkscope/model/families/families.h"

namespace sinkscope::model {
namespace {

// Explicit: a linker may drop self-registering objects, and a table can be read.
// Where a GGUF architecture belongs to several families, the first that claims a file has it.
constexpr const Family* kFamilies[] = {
    // decoders
    &kBloom, &kCohere, &kFalcon, &kGemma, &kGemma2, &kGemma3Text, &kGpt2, &kGptBigcode, &kGptNeox,
    &kGptOss, &kGranite, &kMixtral, &kLlama, &kMistral, &kNemotron, &kOlmo, &kOlmo2, &kOlmo3, &kOpt,
    &kPhi, &kPhi3, &kQwen2, &kQwen3, &kQwen3Moe, &kQwen3Next, &kSmolLm3, &kStableLm, &kStarcoder2,
    // what `train` writes
    &kLab,
    // encoders
    &kBert, &kRoberta, &kDistilbert,
    // images
    &kVit, &kTimmVit, &kDeit, &kDinov2, &kDinov2WithRegisters, &kDinov3Vit, &kClipVisionModel,
    &kClipTextModel, &kSiglipVisionModel, &kIjepa, &kVitMae, &kBeit};

std::string known_families() {
  std::string names;
  for (const Family* family : kFamilies) {
    names += (names.empty() ? "" : ", ") + std::string(family->name);
  }
  return names;
}

bool has_alias(const Family& family, std::string_view type) {
  return std::find(family.aliases.begin(), family.aliases.end(), type) != family.aliases.end();
}

[[noreturn]] void refuse(const std::string& where, std::string_view key, const std::string& found) {
  throw Error(ErrorKind::kUnsupported, "choose the model family",
              fmt::format("{}: {} is \"{}\"", where, key, found),
              "supported families: " + known_families());
}

}  // namespace

std::span<const Family* const> all_families() { return kFamilies; }

namespace {

const Family* look_up(const io::Config& config) {
  const std::string type = config.text({"model_type"}, "");
  const std::vector<std::string> classes = config.texts("architectures");
  for (const Family* family : kFamilies) {
    const bool named =
        type.empty() ? std::find(classes.begin(), classes.end(), family->hub_class) != classes.end()
                     : family->name == type || has_alias(*family, type);
    const bool claimed =
        type.empty() && classes.empty() && family->claims_config && family->claims_config(config);
    if (named || claimed) return family;
  }
  return nullptr;
}

}  // namespace

bool is_known(const io::Config& config) { return look_up(config) != nullptr; }

const Family& find_family(const io::Config& config) {
  if (const Family* family = look_up(config)) return *family;
  if (const std::string type = config.text({"model_type"}, ""); !type.empty()) {
    refuse(config.where(), "model_type", type);
  }
  const std::vector<std::string> classes = config.texts("architectures");
  if (!classes.empty()) refuse(config.where(), "architectures", classes.front());
  throw Error(ErrorKind::kUnsupported, "choose the model family",
              config.where() + ": neither model_type nor architectures names a family",
              "supported families: " + known_families());
}

const Family& find_family(const io::GgufFile& file) {
  const std::string architecture = file.text("general.architecture");
  for (const Family* family : kFamilies) {
    if (!family->architecture.empty() && family->architecture == architecture &&
        (!family->claims || family->claims(file))) {
      return *family;
    }
  }
  refuse(file.files().front().string(), "general.architecture", architecture);
}

}  // namespace sinkscope::model
