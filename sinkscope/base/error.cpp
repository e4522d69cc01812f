#include "sinkscope/base/error.h"

#include <utility>

namespace sinkscope {

Error::Error(ErrorKind kind, std::string operation, std::string seen, std::string hint)
    : kind(kind),
      operation(std::move(operation)),
      seen(std::move(seen)),
      hint(std::move(hint)),
      text_(this->operation + ": " + this->seen) {}

}  // namespace sinkscope
