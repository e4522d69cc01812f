#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sinkscope::model {

enum class Norm { kRms, kLayer };
enum class Activation {
  kSilu,
  kGelu,       ///< exact, with erf
  kGeluTanh,   ///< the tanh approximation
  kQuickGelu,  ///< x sigmoid(1.702 x)
  kRelu,
  kSquaredRelu,  ///< relu(x)^2 (nemotron)
  kTanh,
  kClampedSwiglu,  ///< gpt_oss: (clamp(up, +-7) + 1) * g sigmoid(1.702 g), g = min(gate, 7)
};
/// Where positions enter. A relative bias (beit) may come on top of any.
enum class Positions {
  kNone,
  kRotary,
  kLearned,      ///< a row of "positions" per token, from row `position_offset` on
  kAlibi,        ///< slope_h * (j - i) on the scores
  kPatchGrid,    ///< "positions" over the patch grid, interpolated to the image's grid
  kFirstNorm,    ///< as kLearned, but added to the input of block 0's norm alone: the residual has
                 ///< none
  kPatchRotary,  ///< ropes[0], its frequencies [K / 4], by patch coordinates in [-1, 1], y then x:
                 ///< angle 2 pi coordinate frequency (dinov3)
};
enum class BlockForm {
  kSequential,  ///< x += attn(norm1 x), x += mlp(norm2 x); a norm that is absent is skipped
  kParallel,    ///< x += attn(norm1 x) + mlp(norm2 x); norm1 serves both where norm2 is absent
  kPostNorm,    ///< x = norm1(x + attn x), x = norm2(x + mlp x)
};
/// Norm of q and k before the rotation.
enum class QkNorm {
  kNone,
  kHead,     ///< one gain [K] for all heads
  kPerHead,  ///< a gain [K] of its own per head, "q_norm" [H K]
  kFull,     ///< over the whole projection, [H K] and [G K]
};
/// What is read off behind the last block, where the file has the weights for it.
enum class Readout {
  kTokens,        ///< logits per token
  kMaskedTokens,  ///< head_norm(act(head_dense x)) before the head (bert)
  kClasses,       ///< classifier of the pooled state, or the mean of that and of classifier2 of the
                  ///< distillation token (deit)
  kClassesFirstMean,  ///< classifier of the final norm's [first | mean over the patches] (dinov2)
};
enum class Pooler {
  kNone,
  kFirst,      ///< final norm of the first token
  kTanhFirst,  ///< tanh(pooler x_0)
  kEnd,        ///< final norm of the token that ends the text (clip)
  kMean,       ///< mean over the patches of the final norm
  kMeanNorm,   ///< pooler_norm of the mean over the patches (beit)
  kProbe,      ///< attention pooling with a learned query (siglip)
};

/// How a row of logits becomes weights; only the softmax forms sum to 1 (method.md section 17).
enum class ScoreKind {
  kSoftmax,
  kClipped,  ///< clip((stretch_high - stretch_low) softmax + stretch_low, 0, 1)
  kSigmoid,  ///< sigmoid(logit + bias) of each visible key
  kRelu,     ///< max(logit, 0) / visible keys
};
struct ScoreForm {
  ScoreKind kind = ScoreKind::kSoftmax;
  double stretch_low = 0, stretch_high = 1;  ///< gamma <= 0 and zeta >= 1
  double bias = 0;                           ///< of kSigmoid
};
/// A factor sigmoid(W z + b) that the block's normed input z makes.
enum class Gate {
  kNone,
  kHeadwise,     ///< one per head
  kElementwise,  ///< one per channel of a head
};

/// Rotary embedding: which channels turn, in which pairs, how fast.
struct Rope {
  int64_t width = 0;  ///< first channels of each head that are rotated
  double base = 10000;
  std::vector<double> inverse_frequency;  ///< [width / 2], every scaling already applied
  double magnitude = 1;                   ///< factor on cos and sin (longrope, yarn)
  bool interleaved = false;               ///< pairs (2i, 2i+1); otherwise (i, i + width/2)
  /// Sequences longer than this turn by other frequencies; 0: no such limit.
  int64_t original_context = 0;
  std::vector<double> long_inverse_frequency;  ///< longrope; empty: none
  double dynamic_factor = 0;                   ///< dynamic NTK: the base grows with the length
};
/// [width / 2] for a sequence of this length.
std::vector<double> rope_frequencies(const Rope& rope, int64_t tokens);

/// What may differ from block to block.
struct BlockFacts {
  int64_t window = 0;    ///< keys a query may see, itself included; 0: all
  int rope = 0;          ///< index into ModelSpec::ropes; -1: no rotation
  bool experts = false;  ///< a mixture of experts instead of the one MLP
};

struct Experts {
  int64_t count = 0, chosen = 0, width = 0;
  int64_t shared_width = 0;  ///< MLP that every token passes; 0: none
  bool normalise = true;     ///< weights of the chosen experts sum to 1
  bool bias = false;
};

struct Vision {
  int64_t channels = 3, patch = 0;
  int64_t image_height = 0, image_width = 0;  ///< size the position table was made for
  bool class_token = false, distillation_token = false;
  int64_t registers = 0;         ///< after the class token
  int64_t prefix_positions = 0;  ///< rows of the position table that belong to the first tokens
  bool antialias = false;        ///< of the interpolation of the position table
  bool patch_bias = true;
  int64_t prefix() const { return class_token + distillation_token + registers; }
  int64_t patch_inputs() const { return channels * patch * patch; }
};

/// The facts of a model family that the forward pass needs, as data. Letters: L layers, H query
/// heads, G key/value heads, D model width, K head width, V vocabulary, F MLP width.
struct ModelSpec {
  std::string family;  ///< "llama"
  int64_t layers = 0, heads = 0, kv_heads = 0, width = 0, head_width = 0, vocabulary = 0;
  int64_t mlp_width = 0;
  int64_t context = 0;  ///< longest sequence the model was made for; 0: not said
  bool causal = true;
  BlockForm form = BlockForm::kSequential;
  std::vector<BlockFacts> blocks;  ///< [L]

  Norm norm = Norm::kRms;
  double norm_epsilon = 1e-5;
  bool parallel_norms = false;     ///< of weight tables: a parallel block has norm2 too (falcon)
  bool plain_norms = false;        ///< norm1, norm2 and final_norm have no parameters (olmo)
  bool branch_input_norms = true;  ///< of the lab's weight table: norm1 and norm2 are there
  bool final_norm = true;          ///< between the last block and the readout

  Positions positions = Positions::kRotary;
  std::vector<Rope> ropes;
  int64_t position_offset = 0;
  bool alibi_rounded = false;  ///< falcon: bf16(bf16(slope) * j) before the score scale
  /// A table per block, and one for all blocks; a model with both adds them (beit).
  bool relative_bias = false, shared_relative_bias = false;

  bool vectors = false;      ///< the input is rows of D numbers; there are no ids
  bool first_token = false;  ///< a learned row that joins the position row of the first token

  int64_t embed_width = 0;  ///< width of the embedding where it differs from D (opt); 0: D
  double embed_scale = 1;
  bool embed_norm = false;
  int64_t token_types = 0;  ///< rows of "token_types"; 0: none

  double score_scale = 0;    ///< on q.k before softmax
  double score_softcap = 0;  ///< 0: none
  bool sink_logits = false;  ///< learned, one per head
  ScoreForm scores;
  bool extra_key = false;    ///< a learned key [K] per key/value head that every query sees
  bool extra_value = false;  ///< and its value; without one it is 0
  QkNorm qk_norm = QkNorm::kNone;
  bool qk_norm_bias = false;
  double qkv_clip = 0;          ///< q, k, v clamped to +-this; 0: none
  bool fused_qkv = false;       ///< of weight tables with both forms: the file has one matrix
  bool attention_gate = false;  ///< z * sigmoid(gate), gate [T, H K] beside q, k, v
  /// Gates with weights of their own: of z before W_O, of k and of v.
  Gate output_gate = Gate::kNone, key_gate = Gate::kNone, value_gate = Gate::kNone;
  /// Width P of the global pathway, method.md section 17; 0: none. Adds gamma_i W_OG g to the
  /// attention update: pi = softmax_j(w_P z_j), g = sum_j pi_j W_VG z_j, gamma_i = sigmoid(w_g z_i
  /// + b).
  int64_t pathway = 0;
  bool attention_bias = false;                                 ///< biases on q, k, v
  bool query_bias = true, key_bias = true, value_bias = true;  ///< false: on the others only
  bool output_bias = false;                                    ///< bias on o
  bool branch_norms = false;  ///< a norm at the end of each branch: attn_norm, mlp_norm
  bool layer_scale = false;   ///< a gain [D] at the end of each branch: attn_scale, mlp_scale
  double residual_scale = 1;  ///< factor on both branches (granite)
  /// Force-sink (method.md section 17): before every norm of a block the first token keeps these
  /// first channels alone and the others all but these; 0: no such thing.
  int64_t split_channels = 0;

  Activation activation = Activation::kSilu;
  bool mlp = true;        ///< false: blocks are attention alone
  bool gated_mlp = true;  ///< down(act(gate(x)) * up(x)); otherwise down(act(up(x)))
  bool mlp_bias = false;
  Experts experts;

  Readout readout = Readout::kTokens;
  Pooler pooler = Pooler::kNone;
  int64_t end_id = -1;     ///< of Pooler::kEnd; -1: the largest id of the text
  bool tied_head = false;  ///< logits use the embedding matrix
  bool head_bias = false;
  double logit_scale = 1;    ///< factor on the logits
  double logit_softcap = 0;  ///< 0: none
  int64_t classes = 0;

  Vision vision;  ///< patch > 0: the input is an image
  std::vector<std::string>
      notes;  ///< facts worth telling: unused blocks, an outer key overruled, ...

  /// Whether z is multiplied by a gate before W_O, of either form.
  bool gates_output() const { return attention_gate || output_gate != Gate::kNone; }
  bool is_vision() const { return vision.patch > 0; }
  int64_t query_width() const { return heads * head_width; }
  int64_t key_width() const { return kv_heads * head_width; }
  /// Columns of the stacked projection: q, k, v and, where there is one, the gate.
  int64_t qkv_width() const { return query_width() * (attention_gate ? 2 : 1) + 2 * key_width(); }
  const Rope* rope_of(int64_t layer) const;  ///< null: no rotation in this block

  int64_t group_of(int64_t head) const { return head / (heads / kv_heads); }
  std::string text() const;  ///< "llama, 30 layers x 9 heads of 64 (3 key/value), width 576, ..."
};

/// ALiBi's slopes [H]; for a head count that is no power of two the second series is interleaved.
std::vector<float> alibi_slopes(int64_t heads);

}  // namespace sinkscope::model
