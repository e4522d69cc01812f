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

}  // namespace sinkscope::diagnostics
