#include "sinkscope/cli/app_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "sinkscope/base/error.h"

namespace sinkscope::cli {

const app::Commands& commands() {
  static const app::Commands* const loaded = [] {
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
    const std::filesystem::path library = program.parent_path() / "libsinkscope_app.so";
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
    void* entry = handle ? dlsym(handle, "sinkscope_commands") : nullptr;
    if (!entry) {
      throw Error(ErrorKind::kInternal, "load " + library.string(), dlerror(),
                  "the library belongs beside the program; `make build` makes both");
    }
    return reinterpret_cast<decltype(&sinkscope_commands)>(entry)();
  }();
  return *loaded;
}

}  // namespace sinkscope::cli
