#include "sinkscope/app/train/recorder.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <map>

#include "sinkscope/diagnostics/summary.h"
#include "sinkscope/forward/runner.h"
#include "sinkscope/stats/qk_spectrum.h"
#include "sinkscope/stats/value_norms.h"

namespace sinkscope::app {
namespace {

constexpr size_t kSpectrum =
    8;  // singular values that are kept: the spike and the start of the bulk

constexpr int64_t kLossTokens = 32768;

/// Sum and count of the values that are there.
struct Mean {
  double sum = 0;
  int64_t count = 0;
  void add(double value) {
    if (!std::isnan(value)) sum += value, ++count;
  }
  double value() const {
    return count > 0 ? sum / static_cast<double>(count) : diagnostics::kNoData;
  }
};

/// What a pass shows of the key that the task expects to be attended to.
class KeyObserver : public forward::Observer {
 public:
  KeyObserver(const train::Batch& batch, size_t kinds, std::vector<LayerRecord>& layers)
      : keys_(batch.keys.contiguous()),
        kinds_of_(batch.kinds.contiguous()),
        kinds_(kinds),
        layers_(layers) {}

  bool wants(forward::Tap, int) const override { return false; }
  bool wants_sums(int) const override { return true; }

  void on_layer(const forward::LayerState& state) override {
    LayerRecord& layer = layers_[static_cast<size_t>(state.layer)];
    const int64_t heads = state.z.size(1);
    layer.heads.resize(static_cast<size_t>(heads));
    add_attention(state, layer);
    add_lengths(state, layer);
    at::Tensor w_q = state.w_q.to(at::kFloat);
    at::Tensor w_k = state.w_k.to(at::kFloat);
    if (state.weights->norm1.defined()) {
      w_q = w_q * state.weights->norm1.gain, w_k = w_k * state.weights->norm1.gain;
    }
    const auto spectra = stats::qk_spectrum(w_q, w_k, heads, state.rot_k.size(1));
    for (size_t h = 0; h < spectra.size(); ++h) {
      layer.heads[h].spectrum.assign(
          spectra[h].begin(),
          spectra[h].begin() + static_cast<std::ptrdiff_t>(std::min(kSpectrum, spectra[h].size())));
    }
  }

 private:
  int64_t key_of(const forward::Segment& s) const { return keys_.data_ptr<int64_t>()[s.stream]; }

  void add_attention(const forward::LayerState& state, LayerRecord& layer) const {
    std::vector<std::vector<Mean>> mass(layer.heads.size(), std::vector<Mean>(kinds_));
    for (const forward::Segment& s : state.streams) {
      const at::Tensor column =
          state.pattern(s.stream, 0, s.rows).select(2, key_of(s)).contiguous();
      const uint8_t* kinds = kinds_of_.data_ptr<uint8_t>() + s.stream * s.rows;
      for (size_t h = 0; h < mass.size(); ++h) {
        const float* row = column.data_ptr<float>() + static_cast<int64_t>(h) * s.rows;
        for (int64_t t = 0; t < s.rows; ++t) {
          if (kinds[t] < kinds_) mass[h][kinds[t]].add(row[t]);
        }
      }
    }
    for (size_t h = 0; h < mass.size(); ++h) {
      for (const Mean& mean : mass[h]) layer.heads[h].mass.push_back(mean.value());
    }
  }

  void add_lengths(const forward::LayerState& state, LayerRecord& layer) const {
    const at::Tensor gram = stats::output_gram(state.w_o, state.z.size(1));
    std::vector<Mean> ratio(layer.heads.size());
    Mean at_key, at_rest;
    for (const forward::Segment& s : state.streams) {
      const auto key = static_cast<size_t>(key_of(s));
      const auto norms = stats::value_norms(state.v.narrow(0, s.first_row, s.rows), gram);
      for (size_t h = 0; h < norms.size(); ++h) {
        Mean others;
        for (size_t t = 0; t < norms[h].out.size(); ++t) {
          if (t != key) others.add(norms[h].out[t]);
        }
        ratio[h].add(norms[h].out[key] / others.value());
      }
      const at::Tensor rows = state.resid_post.narrow(0, s.first_row, s.rows).norm(2, 1);
      for (int64_t t = 0; t < s.rows; ++t) {
        (static_cast<size_t>(t) == key ? at_key : at_rest).add(rows.data_ptr<float>()[t]);
      }
    }
    for (size_t h = 0; h < ratio.size(); ++h) layer.heads[h].value_ratio = ratio[h].value();
    layer.norm_key = at_key.value(), layer.norm_rest = at_rest.value();
  }

  at::Tensor keys_, kinds_of_;
  size_t kinds_;
  std::vector<LayerRecord>& layers_;
};

/// Mean over the sequences of a metric of `scan`.
double mean_of(std::span<const diagnostics::Record> records, std::string_view metric, int layer,
               size_t head) {
  Mean mean;
  for (const diagnostics::Record& record : records) {
    const std::span<const double> values = record.find(metric, layer);
    if (head < values.size()) mean.add(values[head]);
  }
  return mean.value();
}

/// The class that most sequences have.
std::string verdict_of(std::span<const diagnostics::Record> records, std::string_view metric,
                       int layer, size_t head) {
  std::map<int, int> counts;
  for (const diagnostics::Record& record : records) {
    const std::span<const double> values = record.find(metric, layer);
    if (head < values.size() && !std::isnan(values[head])) ++counts[static_cast<int>(values[head])];
  }
  int best = 0, most = 0;
  for (const auto& [code, count] : counts) {
    if (count > most) best = code, most = count;
  }
  return std::string(diagnostics::class_name(static_cast<diagnostics::HeadClass>(best)));
}

void add_scan_metrics(const Measure& measure, const train::Batch& batch,
                      std::vector<LayerRecord>& layers) {
  const std::span<const diagnostics::Record> records = measure.records();
  const int64_t* keys = batch.keys.data_ptr<int64_t>();
  for (int l = 0; l < static_cast<int>(layers.size()); ++l) {
    std::vector<HeadRecord>& heads = layers[static_cast<size_t>(l)].heads;
    for (size_t h = 0; h < heads.size(); ++h) {
      HeadRecord& head = heads[h];
      const auto mean = [&](std::string_view metric) { return mean_of(records, metric, l, h); };
      head.alpha_sink = mean("alpha_sink"), head.ratio_out = mean("ratio_out");
      head.stable_rank = mean("stable_rank_all"), head.common_mode = mean("common_mode_all");
      head.sigma_ratio = mean("qk_sigma_ratio");
      head.verdict = verdict_of(records, "class", l, h);
      head.verdict_conditional = verdict_of(records, "class_conditional", l, h);
      Mean selected;
      for (size_t s = 0; s < records.size(); ++s) {
        const std::span<const double> index = records[s].find("sink_index", l);
        if (h < index.size()) selected.add(index[h] == static_cast<double>(keys[s]) ? 1 : 0);
      }
      head.selected = selected.value();
    }
  }
}

}  // namespace

Recorder::Recorder(const train::Task& task, int64_t sequences, int threads)
    : batch_(std::make_shared<const train::Batch>(
          task.batch(train::Purpose::kEvaluation, 0, sequences))),
      loss_batch_(task.batch(train::Purpose::kEvaluation, 1,
                             std::max(sequences, kLossTokens / task.spec().context))),
      kinds_(task.kinds().size()),
      inputs_(task_inputs(task, batch_)),
      threads_(threads) {
  for (const store::SequenceInfo& sequence : inputs_.sequences) {
    sequences_.push_back(&sequence);
    streams_.push_back(inputs_.stream(sequence));
  }
}

ModelRecord Recorder::record(const train::Trainer& trainer,
                             const std::filesystem::path& directory) const {
  const c10::NoGradGuard no_grad;
  ModelRecord record;
  const train::Outputs outputs =
      train::run_network(trainer.spec(), trainer.parameters(), loss_batch_);
  const at::Tensor losses = train::token_losses(loss_batch_, outputs.result);
  record.loss = train::mean_loss(loss_batch_, losses).item<double>();
  record.loss_of_kind = train::losses_by_kind(loss_batch_, losses, kinds_);

  const std::unique_ptr<model::Model> model = model::Model::open(directory.string());
  record.layers.resize(static_cast<size_t>(model->spec().layers));
  MeasureOptions options;
  const std::vector<std::string> names = {"qk", "conditional", "update_all"};
  options.diagnostics = diagnostics::select_diagnostics(names);
  options.layers = parse_layers("", static_cast<int>(model->spec().layers));
  Measure measure(model->spec(), options, sequences_);
  KeyObserver keys(*batch_, kinds_, record.layers);
  forward::RunOptions run;
  run.threads = threads_;
  forward::Observer* observers[] = {&measure, &keys};
  forward::Runner(*model, run).run(streams_, observers);
  measure.finish();
  add_scan_metrics(measure, *batch_, record.layers);
  return record;
}

}  // namespace sinkscope::app
