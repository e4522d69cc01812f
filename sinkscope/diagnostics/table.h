#pragma once

#include "sinkscope/diagnostics/diagnostic.h"

// The rows of the table in registry.cpp: one function per diagnostic, each in the file of its name.

namespace sinkscope::diagnostics {

Diagnostic sink_diagnostic();
Diagnostic values_diagnostic();
Diagnostic update_diagnostic();
Diagnostic update_all_diagnostic();
Diagnostic mechanism_diagnostic();
Diagnostic massive_diagnostic();
Diagnostic residual_diagnostic();
Diagnostic branches_diagnostic();
Diagnostic similarity_diagnostic();
Diagnostic loss_diagnostic();
Diagnostic qk_diagnostic();
Diagnostic recommend_diagnostic();
Diagnostic selection_diagnostic();
Diagnostic smoothing_diagnostic();
Diagnostic switch_diagnostic();
Diagnostic mlp_diagnostic();
Diagnostic conditional_diagnostic();
Diagnostic types_diagnostic();
Diagnostic circuit_diagnostic();
Diagnostic range_diagnostic();
Diagnostic geometry_diagnostic();
Diagnostic cost_diagnostic();

}  // namespace sinkscope::diagnostics
