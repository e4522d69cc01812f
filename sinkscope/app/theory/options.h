#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sinkscope/app/options.h"

namespace sinkscope::app {

/// Which tokens z_0 (the sink) .. z_T a calculator takes. Lists sweep.
struct CloudOptions {
  std::vector<std::string> geometries = {"orthonormal"};  ///< of theory::cloud_kinds()
  std::string tokens = "8";                               ///< T: "2:48", "8,16,32", "64:1024:x2"
  std::string widths;                 ///< d, the same; empty: the least that holds the tokens
  double cosine = 0.5;                ///< of a context token with the cone's axis
  double sink_cosine = -0.3;          ///< of the sink with it
  std::vector<double> sines = {0.2};  ///< cross-polytope: how far the tokens are lifted
  int64_t rank = 4;                   ///< of low-rank tokens
  std::string vectors;         ///< .npy or FILE.safetensors:NAME, [rows, d], the first row the sink
  RunModelOptions model;       ///< tokens are the normed inputs of its layers; empty: none
  std::string layers = "all";  ///< of the model
};

struct GeometryOptions {
  CloudOptions cloud;
  bool random = false;           ///< Wendel's probability and the theorem on sign-symmetric tokens
  int64_t draws = 500;           ///< of `random`, per (T, d)
  double hull_tolerance = 1e-9;  ///< relative to the longest token
  double epsilon = 0.3;          ///< attention 1 - epsilon is what the margin must reach
};

struct CostOptions {
  CloudOptions cloud;
  std::vector<std::string> patterns = {"sink", "diagonal"};  ///< also mixed-sink, mixed-diagonal
  std::string task;                     ///< backcopy, copy-paste; empty: no task
  std::vector<double> active = {0.25};  ///< share of active queries of a mixed pattern or task
  int64_t offset = 1;                   ///< backcopy: active query i copies from i - offset
  std::string norm = "both";            ///< nuclear, frobenius, both
  std::string mask = "causal";          ///< causal, all
  bool scale_logits = false;            ///< logits carry 1 / sqrt(d)
  double margin = 1;                    ///< kappa
  double gap = 1e-3;                    ///< relative, at which the solver stops
  int64_t max_tokens = 256;             ///< above: closed forms and bounds only
  double seconds = 120;                 ///< most time of one program
};

struct SmoothingOptions {
  std::string tokens;                   ///< T, a list; empty: 64, and 2,8,64,512 for a sweep of W
  int64_t width = 0;                    ///< d; 0: that of the files, otherwise 128
  std::string value_map = "identity";   ///< of theory::map_kinds(), or a file with a matrix [d, d]
  std::string covariance = "identity";  ///< of theory::covariance_kinds(), or a file
  int64_t rank = 8;                     ///< of a low-rank covariance and an anti-aligned map
  double scale = 1, beta = 1;           ///< u = beta scale W x
  std::vector<double> means = {0};      ///< length of the mean token, along the first axis
  bool no_skip = false;                 ///< r = 0
  std::string norm = "none";            ///< that reads the step's result: none, rms, layer
  std::vector<std::string> masks = {"causal"};  ///< causal, full
  std::vector<double> lambdas;                  ///< empty: 0, 0.1, .., 1
  int64_t draws = 0;                            ///< of the Monte Carlo; 0: none
  std::string sweep;                            ///< "W", "settings"; empty: none
  int64_t maps = 20;                            ///< random maps of a kind in a sweep of W
};

struct ConeOptions {
  std::string tokens = "50";           ///< T, the number of positions
  int64_t width = 64;                  ///< d of the values
  std::vector<double> alphas = {0.4};  ///< cosine of a value with the cone's axis
  std::string attention = "uniform";   ///< uniform, local:W, sink:A, or a file [T, T]
  int64_t draws = 1000;                ///< of the Monte Carlo; 0: none
  bool norm_stability = false;         ///< instead: how far an update turns a normed vector
  std::vector<double> norms = {1, 3, 10, 30, 100, 300, 1000};  ///< |x|
  std::vector<double> steps = {0.1, 0.5, 2};                   ///< dx in each of four channels
};

struct SwitchOptions {
  std::vector<double> margins = {1, 2, 4, 6, 8, 10};  ///< kappa
  std::string others = "1,7,63,1023";                 ///< i, keys beside the sink
  std::vector<double> epsilons = {0.1, 0.3, 0.5};     ///< attention 1 - epsilon
  int64_t heads = 0;                                  ///< random heads of Theorem C; 0: none
};

struct TheoryOptions {
  std::string what;    ///< of calculators()
  std::string output;  ///< store; empty: in memory
  std::string report;  ///< HTML page; empty: none
  std::string format = "table";
  std::string table;  ///< of CSV; empty: the first
  bool overwrite = false;
  uint64_t seed = 0;
  int threads = 0;  ///< 0: all cores

  GeometryOptions geometry;
  CostOptions cost;
  SmoothingOptions smoothing;
  ConeOptions cone;
  SwitchOptions attention_switch;
};

}  // namespace sinkscope::app
