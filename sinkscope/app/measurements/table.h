#pragma once

#include "sinkscope/app/measurements/measurement.h"

// The rows of the table in table.cpp: one function per kind, each in the file of its name.

namespace sinkscope::app {

std::unique_ptr<Measurement> values_measurement(const MeasurementContext& context);
std::unique_ptr<Measurement> residual_measurement(const MeasurementContext& context);
std::unique_ptr<Measurement> similarity_measurement(const MeasurementContext& context);
std::unique_ptr<Measurement> branches_measurement(const MeasurementContext& context);
std::unique_ptr<Measurement> loss_measurement(const MeasurementContext& context);
std::unique_ptr<Measurement> selection_measurement(const MeasurementContext& context);
std::unique_ptr<Measurement> spectrum_measurement(const MeasurementContext& context);
std::unique_ptr<Measurement> smoothing_measurement(const MeasurementContext& context);
std::unique_ptr<Measurement> routing_measurement(const MeasurementContext& context);
std::unique_ptr<Measurement> types_measurement(const MeasurementContext& context);
std::unique_ptr<Measurement> circuit_measurement(const MeasurementContext& context);
std::unique_ptr<Measurement> range_measurement(const MeasurementContext& context);
std::unique_ptr<Measurement> geometry_measurement(const MeasurementContext& context);
std::unique_ptr<Measurement> weight_size_measurement(const MeasurementContext& context);

}  // namespace sinkscope::app
