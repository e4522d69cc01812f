#include "sinkscope/text/normalizer.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>

#include <utility>

#include "sinkscope/base/error.h"
#include "sinkscope/text/utf8.h"

namespace sinkscope::text {
namespace {

void check(UErrorCode status, const char* operation) {
  if (U_FAILURE(status)) throw Error(ErrorKind::kInternal, operation, u_errorName(status));
}

std::string to_nfc(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  check(status, "load the tables of normal form C");
  std::string out;
  // Run by run: ICU would replace ill-formed bytes by U+FFFD.
  for (size_t at = 0; at < text.size();) {
    const Run run = utf8_run(text, at);
    at += run.bytes.size();
    if (!run.well_formed) {
      out.append(run.bytes);
      continue;
    }
    std::string composed;
    icu::StringByteSink<std::string> sink(&composed);
    const icu::StringPiece piece(run.bytes.data(), static_cast<int32_t>(run.bytes.size()));
    nfc->normalizeUTF8(0, piece, sink, nullptr, status);
    check(status, "bring text to normal form C");
    out += composed;
  }
  return out;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  size_t at = 0;
  for (size_t hit; (hit = text.find(from, at)) != text.npos; at = hit + from.size()) {
    out.append(text.substr(at, hit - at)).append(to);
  }
  return out.append(text.substr(at));
}

}  // namespace

void Normalizer::add_nfc() { steps_.push_back({Kind::kNfc, {}, {}}); }

void Normalizer::add_prepend(std::string prefix) {
  steps_.push_back({Kind::kPrepend, {}, std::move(prefix)});
}

void Normalizer::add_prepend_if_missing(std::string prefix, bool only_first) {
  steps_.push_back({Kind::kPrependIfMissing, {}, std::move(prefix), only_first});
}

void Normalizer::add_replace(std::string from, std::string to) {
  if (!from.empty()) steps_.push_back({Kind::kReplace, std::move(from), std::move(to)});
}

std::string Normalizer::operator()(std::string_view text, bool first) const {
  std::string out(text);
  for (const Step& step : steps_) {
    switch (step.kind) {
      case Kind::kNfc: out = to_nfc(out); break;
      case Kind::kReplace: out = replace_all(out, step.from, step.to); break;
      case Kind::kPrepend:
        if (!out.empty()) out.insert(0, step.to);
        break;
      case Kind::kPrependIfMissing:
        if (!out.empty() && !out.starts_with(step.to) && (first || !step.only_first)) {
          out.insert(0, step.to);
        }
        break;
    }
  }
  return out;
}

}  // namespace sinkscope::text
