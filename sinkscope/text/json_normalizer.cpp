#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sinkscope/text/json_reading.h"
#include "sinkscope/text/json_steps.h"

namespace sinkscope::text {
namespace {

Rewrite read_replace(const io::Config& at) {
  Pattern pattern = read_pattern(at);
  std::string content = at.text({"content"});
  if (pattern.literal) return replace(std::move(pattern.text), std::move(content));
  return replace(std::make_shared<const Regex>(pattern.text, at.where()), std::move(content));
}

Rewrite read_bert(const io::Config& at) {
  BertRules rules;
  rules.clean_text = at.flag({"clean_text"}, true);
  rules.chinese_apart = at.flag({"handle_chinese_chars"}, true);
  rules.lowercase = at.flag({"lowercase"}, true);
  rules.strip_accents =
      at.flag({"strip_accents"}, rules.lowercase);  // null, too, follows lowercase
  return bert(rules);
}

Rewrite read_precompiled(const io::Config& at) {
  auto bytes = decode_base64(at.text({"precompiled_charsmap"}));
  if (!bytes) refuse_damage(at, "precompiled_charsmap is no base64");
  return precompiled(std::make_shared<const Charsmap>(std::move(*bytes), at.where()));
}

Rewrite read_step(const io::Config& at, const std::string& type) {
  if (type == "NFC") return normal_form(NormalForm::kC);
  if (type == "NFD") return normal_form(NormalForm::kD);
  if (type == "NFKC") return normal_form(NormalForm::kKc);
  if (type == "NFKD") return normal_form(NormalForm::kKd);
  if (type == "Prepend") return prepend(at.text({"prepend"}));
  if (type == "Replace") return read_replace(at);
  if (type == "Lowercase") return lowercase();
  if (type == "StripAccents") return strip_accents();
  if (type == "Strip") {
    return strip_white_space(at.flag({"strip_left"}, true), at.flag({"strip_right"}, true));
  }
  if (type == "Nmt") return nmt();
  if (type == "BertNormalizer") return read_bert(at);
  if (type == "Precompiled") return read_precompiled(at);
  refuse_construct(at, "normalizer " + type);
}

void read_steps(const io::Config& at, std::vector<Rewrite>& out) {
  const std::string type = at.text({"type"});
  if (type != "Sequence") {
    out.push_back(read_step(at, type));
    return;
  }
  for (const io::Config& step : objects(at, "normalizers")) read_steps(step, out);
}

}  // namespace

std::vector<Rewrite> read_normalizer(const io::Config& tokenizer) {
  std::vector<Rewrite> out;
  if (const auto normalizer = tokenizer.child("normalizer")) read_steps(*normalizer, out);
  return out;
}

}  // namespace sinkscope::text
