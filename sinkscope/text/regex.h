#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;
struct pcre2_real_match_context_8;

namespace sinkscope::text {

/// A compiled Unicode pattern. Thread-safe.
class Regex {
 public:
  struct Match {
    size_t begin = 0;
    size_t end = 0;  ///< may equal begin
  };

  /// `pattern` in the syntax that Perl and Oniguruma share, and classes inside classes; `where`
  /// names its origin. \s means Unicode's White_Space. Throws kUnsupported naming pattern, position
  /// and reason.
  Regex(std::string_view pattern, const std::string& where);

  /// Appends the matches from left to right, without overlap. `text` is valid UTF-8.
  /// Throws kTooLarge when the pattern needs too many steps.
  void find_all(std::string_view text, std::vector<Match>& out) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
    void operator()(pcre2_real_match_context_8* context) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
  std::unique_ptr<pcre2_real_match_context_8, Free> context_;
  std::string where_;
};

}  // namespace sinkscope::text
