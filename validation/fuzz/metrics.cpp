// metrics.csv, compared and drawn.
#include "validation/fuzz/format.h"
#include "view/line_chart.h"
#include "view/run_charts.h"

namespace trireme::fuzz {
namespace {

constexpr const char* rows =
    "step,samples,tokens,loss,validation_loss,grad_norm,learning_rate,loss_scale,seconds,tokens_per_second,model_tflops,"
    "hardware_tflops,peak_memory_bytes,skipped,threads\n"
    "1,16,512,5.5,,3.5,0.003,1,0.19,5330,0.003,0.003,40267776,0,1\n"
    "2,32,1024,5.25,5.3,2.5,0.003,1,0.55,1860,0.001,0.001,40267776,0,1\n"
    "10,160,5120,2.75,,1.5,0.0003,1,0.3,3380,0.002,0.002,40267776,0,1\n";

void read(const std::string& bytes) {
  for (const view::NamedChart& named :
       view::run_charts({{"run", view::parse_metrics(bytes, "metrics.csv", view::charted_columns()), {}}}))
    if (has_points(named.chart)) line_chart(named.chart);
  const view::Metrics metrics = view::parse_metrics(bytes, "metrics.csv", view::exact_tolerance());
  for (const view::Tolerance& tolerance : view::exact_tolerance())
    compare_series(metrics.at(tolerance.quantity), metrics.at(tolerance.quantity), tolerance, "run");
}

}  // namespace

Format metrics() {
  return {"metrics", [] { return std::vector<std::string>{rows}; }, read};
}

}  // namespace trireme::fuzz
