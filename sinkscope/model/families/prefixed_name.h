#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace sinkscope::model::names {

/// A string literal as a template argument.
template <size_t N>
struct Text {
  constexpr Text(const char (&text)[N]) { std::copy(text, text + N, characters.begin()); }
  std::array<char, N> characters{};
};

/// "vit." and "layernorm.weight" as one name that lives as long as the program: families whose
/// names differ in nothing but the prefix share their rows.
template <Text Prefix, Text Rest>
struct Prefixed {
  static constexpr size_t kSize = Prefix.characters.size() - 1 + Rest.characters.size() - 1;
  static constexpr auto kCharacters = [] {
    std::array<char, kSize> all{};
    const auto end = std::copy(Prefix.characters.begin(), Prefix.characters.end() - 1, all.begin());
    std::copy(Rest.characters.begin(), Rest.characters.end() - 1, end);
    return all;
  }();
};

template <Text Prefix, Text Rest>
inline constexpr std::string_view kPrefixed{Prefixed<Prefix, Rest>::kCharacters.data(),
                                            Prefixed<Prefix, Rest>::kSize};

}  // namespace sinkscope::model::names
