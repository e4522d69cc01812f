#pragma once

#include "sinkscope/model/family.h"

namespace sinkscope::model {

// One per file of this folder; listed in family.cpp.
extern const Family kGpt2;
extern const Family kLlama;

}  // namespace sinkscope::model
