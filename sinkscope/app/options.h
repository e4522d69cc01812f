#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sinkscope/diagnostics/diagnostic.h"

namespace sinkscope::app {

/// What a command is given. Defaults stand here and help prints them.

/// Text, ids or images to run.
struct InputOptions {
  std::vector<std::string> files;    ///< cut into sequences of seq_len tokens
  std::vector<std::string> prompts;  ///< each one sequence, as long as it is
  std::vector<std::string>
      tokens;  ///< inline ids "1,2,3" or a JSON file of id lists; run as they are
  int64_t seq_len = 64;
  int64_t max_seqs = 64;  ///< more sequences: narrower intervals, proportionally longer
  std::string bos = "auto";
  std::string attention_mask;       ///< JSON file beside `tokens`: 0 where an id is padding
  bool document_mask = false;       ///< a BOS inside a sequence starts a document of its own
  std::vector<std::string> images;  ///< PNG and JPEG files, or folders of them
  std::vector<std::string> pixels;  ///< .npy or .safetensors, normalised [N, 3, H, W]
  uint64_t seed = 0;                ///< chooses the sequences where a file has more than max_seqs
};

/// What runs, and how: shared by the commands that measure.
struct RunModelOptions {
  std::string model;
  InputOptions inputs;
  diagnostics::Thresholds thresholds;
  std::string dtype = "f32";
  std::string device = "cpu";
  int threads = 0;  ///< 0: all cores
  int64_t batch_tokens =
      4096;  ///< tokens that share one reading of the weights; more: fewer readings, more memory
  int64_t max_memory = 0;        ///< bytes; 0: what the machine has free
  bool allow_nonfinite = false;  ///< run although weights hold NaN or infinities
  bool beyond_context = false;   ///< run sequences longer than the model was made for
};

struct ScanOptions : RunModelOptions {
  std::string layers, heads;             ///< "0-3,7", "L5H3,L6H0-3"; empty: all
  std::vector<std::string> diagnostics;  ///< beyond the plain ones; "all"
  std::string output;                    ///< store; empty: in memory
  std::string report;                    ///< HTML page; empty: none
  std::string format = "table";
  bool overwrite = false;
  bool ascii = false;
};

struct AblateOptions : RunModelOptions {
  std::vector<std::string> interventions = {"remove-column", "zero-sink-value",
                                            "zero-nonsink-value"};
  std::string heads = "auto";  ///< "auto": with a sink, or a conditional one; "all"; "L5H3,L6H0-3"
  std::string key = "sink";    ///< key that edits of a head act on: its dominant one, or a position
  std::vector<int64_t> blocks;    ///< of edits that name blocks; empty: the edit's own
  int64_t position = 8;           ///< of self-only and bos-move
  int64_t window = 16;            ///< keys that `window` leaves
  double offset = -2;             ///< of logit-offset
  int64_t repeats = 4;            ///< of bos-repeat
  int64_t swap_id = -1;           ///< of bos-swap; -1: a random one
  int64_t split = 16;             ///< channels of force-sink
  std::vector<int64_t> channels;  ///< of zero-massive, mean-massive; empty: those found
  std::string output;             ///< store; empty: in memory
  std::string format = "table";
  bool overwrite = false;
  bool ascii = false;
};

struct InspectOptions {
  std::string model;
  int64_t seq_len = 64;  ///< for the memory plan
  int64_t max_seqs = 64;
  std::string format = "table";
};

struct VerifyOptions {
  std::string model;
  InputOptions inputs;
  std::string dtype = "f32";
  int threads = 0;
  std::string format = "table";
};

struct SelftestOptions {
  std::string format = "table";
};

struct ReportOptions {
  std::string store;
  std::string report;            ///< HTML page; empty: none
  std::string format = "table";  ///< to stdout
  std::string output;            ///< file for csv, npz, json instead of stdout
  std::string table;             ///< of a store of theory or train, as CSV; empty: the first
  bool overwrite = false;
  bool ascii = false;
};

}  // namespace sinkscope::app
