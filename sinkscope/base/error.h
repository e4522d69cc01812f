#pragma once

#include <exception>
#include <string>

namespace sinkscope {

/// Why an operation was refused, in the terms the user acts on. Each kind has one exit code
/// (cli/main.cpp): internal 1, usage 2, bad file 3, unsupported 4, too large 5, bad numbers 6,
/// no effect 7, interrupted 130.
enum class ErrorKind {
  kInternal,
  kUsage,
  kBadFile,
  kUnsupported,
  kTooLarge,
  kBadNumbers,
  kNoEffect,
  kInterrupted,
};

/// The only exception type that crosses a layer.
struct Error : std::exception {
  ErrorKind kind;
  std::string operation;  ///< what was being done: "read safetensors header"
  std::string seen;       ///< the fact and its place: file, tensor, byte, flag
  std::string hint;       ///< what to do about it; empty when there is nothing to suggest

  Error(ErrorKind kind, std::string operation, std::string seen, std::string hint = {});
  const char* what() const noexcept override { return text_.c_str(); }  // "operation: seen"

 private:
  std::string text_;
};

}  // namespace sinkscope
