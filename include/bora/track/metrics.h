// metrics.h -- a run's metrics.jsonl, read back.
#pragma once
#include "bora/track/chart.h"

namespace bora::track {
/// The numbers of this name over their steps. Lines that a crash cut off have none. IoError.
std::vector<Point> read_curve(const std::string& metrics_path, const std::string& name);
/// Curves of train/loss and eval/loss over the steps, as an SVG picture; none without a metrics_path. IoError.
void write_loss_plot(const std::string& metrics_path, const std::string& svg_path);
}  // namespace bora::track
