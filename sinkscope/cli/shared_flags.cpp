#include "sinkscope/cli/subcommands.h"

namespace sinkscope::cli {

void add_input_flags(CLI::App& command, app::InputOptions& inputs) {
  command
      .add_option("-f,--file", inputs.files,
                  "text file, cut into sequences of --seq-len tokens; may be repeated")
      ->allow_extra_args(false);
  command
      .add_option("-p,--prompt", inputs.prompts,
                  "a text, one sequence as long as it is; may be repeated")
      ->allow_extra_args(false);
  command
      .add_option("--tokens", inputs.tokens,
                  "ids such as 1,15043,3186 or a JSON file of id lists, run as they are")
      ->allow_extra_args(false);
  command
      .add_option("--seq-len", inputs.seq_len,
                  "tokens per sequence of a file; shorter files are skipped and counted")
      ->capture_default_str();
  command.add_option("--max-seqs", inputs.max_seqs, "most sequences taken from the files")
      ->capture_default_str();
  command
      .add_option("--bos", inputs.bos,
                  "BOS in front: auto (as the tokenizer says, never a second), always, never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  command.add_option("--attention-mask", inputs.attention_mask,
                     "JSON file shaped like that of --tokens: 0 where an id is padding");
  command.add_flag("--document-mask", inputs.document_mask,
                   "packed text: a BOS starts a document, no attention crosses it");
  command.add_option("--images", inputs.images, "PNG and JPEG files, or folders of them")
      ->allow_extra_args(true);
  command
      .add_option("--pixels", inputs.pixels,
                  ".npy or .safetensors with normalised [N, 3, H, W], run as they are")
      ->allow_extra_args(false);
}

void add_seed_flag(CLI::App& command, uint64_t& seed) {
  command.add_option("--seed", seed, "of every random choice")->capture_default_str();
}

void add_model_flags(CLI::App& command, app::RunModelOptions& options) {
  command
      .add_option("MODEL", options.model,
                  ".gguf file, directory with config.json and safetensors, or cached hub id")
      ->required();
  add_input_flags(command, options.inputs);
  add_seed_flag(command, options.inputs.seed);
  command.add_option("--dtype", options.dtype, "arithmetic of the linear layers: f32, bf16")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  command.add_option("--device", options.device, "where to run")->capture_default_str();
  add_thread_flag(command, options.threads);
  command
      .add_option("--batch-tokens", options.batch_tokens,
                  "tokens that share one reading of the weights")
      ->capture_default_str();
  command
      .add_option("--max-memory", options.max_memory,
                  "bytes (k, m, g understood) above which a run is refused; 0: what is free")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  command.add_flag("--allow-nonfinite", options.allow_nonfinite,
                   "run although weights hold NaN or infinities");
  command.add_flag("--beyond-context", options.beyond_context,
                   "run sequences longer than the model was made for");
}

void add_format_flag(CLI::App& command, std::string& format, std::vector<std::string> formats) {
  command.add_option("--format", format, "of the results on stdout")
      ->check(CLI::IsMember(std::move(formats)))
      ->capture_default_str();
}

void add_thread_flag(CLI::App& command, int& threads) {
  command.add_option("-t,--threads", threads, "threads; 0: all cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
}

}  // namespace sinkscope::cli
