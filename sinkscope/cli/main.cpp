#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "sinkscope/app/version.h"
#include "sinkscope/base/error.h"
#include "sinkscope/cli/subcommands.h"

namespace {

using sinkscope::Error;
using sinkscope::ErrorKind;

std::atomic<bool> g_interrupted{false};

void on_interrupt(int) {
  // The first one lets the finished part be kept; the second ends at once.
  if (g_interrupted.exchange(true)) _exit(130);
}

int exit_code(ErrorKind kind) {
  switch (kind) {  // no default: a new kind must not compile before it has a code
    case ErrorKind::kInternal: return 1;
    case ErrorKind::kUsage: return 2;
    case ErrorKind::kBadFile: return 3;
    case ErrorKind::kUnsupported: return 4;
    case ErrorKind::kTooLarge: return 5;
    case ErrorKind::kBadNumbers: return 6;
    case ErrorKind::kNoEffect: return 7;
    case ErrorKind::kInterrupted: return 130;
  }
  return 1;
}

sinkscope::app::Console make_console(int verbosity) {
  sinkscope::app::Console console{std::cout, std::cerr};
  console.out_is_terminal = isatty(STDOUT_FILENO);
  console.err_is_terminal = isatty(STDERR_FILENO);
  const char* term = std::getenv("TERM");
  console.colour = console.out_is_terminal && !std::getenv("NO_COLOR") && term &&
                   std::string_view(term) != "dumb";
  winsize size{};
  if (console.out_is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    console.columns = size.ws_col, console.rows = size.ws_row;
  }
  console.verbosity = verbosity;
  console.interrupted = &g_interrupted;
  return console;
}

int run(int argc, char** argv) {
  CLI::App app("sinkscope finds attention sinks in transformers and explains them", "sinkscope");
  app.set_version_flag("--version", fmt::format("sinkscope {} ({})", sinkscope::app::kVersion,
                                                sinkscope::app::kGitRevision));
  app.require_subcommand(1);
  app.fallthrough();
  bool quiet = false, verbose = false;
  app.add_flag("-q,--quiet", quiet, "no progress, no facts before the run");
  app.add_flag("-v,--verbose", verbose, "more on errors");
  app.footer(
      "Exit codes: 0 done, 1 a check failed, 2 usage, 3 damaged file, 4 unsupported, 5 would not "
      "fit,\n"
      "6 bad numbers, 7 no effect, 130 interrupted.");
  sinkscope::cli::Action action;
  sinkscope::cli::add_scan(app, action);
  sinkscope::cli::add_ablate(app, action);
  sinkscope::cli::add_theory(app, action);
  sinkscope::cli::add_train(app, action);
  sinkscope::cli::add_inspect(app, action);
  sinkscope::cli::add_verify(app, action);
  sinkscope::cli::add_selftest(app, action);
  sinkscope::cli::add_report(app, action);
  // CLI11 would only say that a subcommand is missing.
  const auto known = app.get_subcommands([](const CLI::App*) { return true; });
  const auto is_named = [&](const CLI::App* command) { return command->check_name(argv[1]); };
  if (argc > 1 && argv[1][0] != '-' && std::none_of(known.begin(), known.end(), is_named)) {
    throw Error(ErrorKind::kUsage, "read flags", fmt::format("\"{}\" is no command", argv[1]),
                "scan, ablate, theory, train, inspect, verify, selftest or report; `sinkscope "
                "--help` tells "
                "what each does");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0)
      return app.exit(error, std::cout, std::cerr);  // --help, --version
    std::cerr << "sinkscope: read flags: " << error.what()
              << "\n  `sinkscope --help` lists commands and flags\n";
    return 2;
  }
  std::signal(SIGINT, on_interrupt);
  sinkscope::app::Console console = make_console(quiet ? -1 : verbose ? 1 : 0);
  const int code = action(console);
  std::cout.flush();
  if (!std::cout)
    throw Error(ErrorKind::kTooLarge, "write results",
                "stdout: the output could not be written whole");
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    std::cerr << "sinkscope: " << error.what() << "\n";
    if (!error.hint.empty()) std::cerr << "  " << error.hint << "\n";
    if (error.kind == ErrorKind::kInternal)
      std::cerr << "  this is a bug in sinkscope; please report it\n";
    return exit_code(error.kind);
  } catch (const std::bad_alloc&) {
    std::cerr << "sinkscope: out of memory\n  fewer tokens at once (--batch-tokens, --seq-len) "
                 "need less\n";
    return exit_code(ErrorKind::kTooLarge);
  } catch (const std::exception& error) {
    std::cerr << "sinkscope: internal error: " << error.what()
              << "\n  this is a bug in sinkscope; please report it\n";
    return exit_code(ErrorKind::kInternal);
  }
}
