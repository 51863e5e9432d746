// metrics.h -- a run's metrics.jsonl, read back.
#pragma once
#include <functional>
#include "bora/track/chart.h"

namespace bora::track {
/// Calls f with the numbers of these names over their steps, in the order of the lines; `which`: the place of the name.
/// Lines that a crash cut off have none. The file may have any length. IoError.
void each_point(const std::string& metrics_path, const std::vector<std::string>& names,
                const std::function<void(std::size_t which, Point)>& f);
/// The numbers of this name. As each_point.
std::vector<Point> read_curve(const std::string& metrics_path, const std::string& name);
/// Curves of train/loss and eval/loss over the steps, as an SVG picture; none without a metrics_path. IoError.
void write_loss_plot(const std::string& metrics_path, const std::string& svg_path);
}  // namespace bora::track
