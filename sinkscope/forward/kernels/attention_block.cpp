#include "sinkscope/forward/kernels/attention_block.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

// Arrays of vectors need a size known to the compiler, which scalable vectors lack; AVX3_DL adds
// integer instructions only.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sinkscope/forward/kernels/attention_block.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "hwy/contrib/math/math-inl.h"
#include "sinkscope/forward/kernels/attention_block-inl.h"

#if HWY_ONCE
namespace sinkscope::forward::kernels {

HWY_EXPORT(PanelShapeOfTarget);
HWY_EXPORT(RunChunk);

PanelShape panel_shape() { return HWY_DYNAMIC_DISPATCH(PanelShapeOfTarget)(); }

void run_chunk(const RowChunk& chunk, float* scratch) {
  HWY_DYNAMIC_DISPATCH(RunChunk)(chunk, scratch);
}

}  // namespace sinkscope::forward::kernels
#endif
