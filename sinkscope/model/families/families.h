#pragma once

#include "sinkscope/model/family.h"

namespace sinkscope::model {

// One per file of this folder; listed in family.cpp.
extern const Family kBeit;
extern const Family kBert;
extern const Family kBloom;
extern const Family kClipTextModel;
extern const Family kClipVisionModel;
extern const Family kCohere;
extern const Family kDeit;
extern const Family kDinov2;
extern const Family kDinov2WithRegisters;
extern const Family kDinov3Vit;
extern const Family kDistilbert;
extern const Family kFalcon;
extern const Family kGemma;
extern const Family kGemma2;
extern const Family kGemma3Text;
extern const Family kGpt2;
extern const Family kGptBigcode;
extern const Family kGptNeox;
extern const Family kGptOss;
extern const Family kGranite;
extern const Family kIjepa;
extern const Family kLab;
extern const Family kLlama;
extern const Family kMistral;
extern const Family kMixtral;
extern const Family kNemotron;
extern const Family kOlmo;
extern const Family kOlmo2;
extern const Family kOlmo3;
extern const Family kOpt;
extern const Family kPhi;
extern const Family kPhi3;
extern const Family kQwen2;
extern const Family kQwen3;
extern const Family kQwen3Moe;
extern const Family kQwen3Next;
extern const Family kRoberta;
extern const Family kSiglipVisionModel;
extern const Family kSmolLm3;
extern const Family kStableLm;
extern const Family kStarcoder2;
extern const Family kTimmVit;
extern const Family kVit;
extern const Family kVitMae;

}  // namespace sinkscope::model
