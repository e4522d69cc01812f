#include "sinkscope/app/report.h"

#include "sinkscope/app/render.h"

namespace sinkscope::app {

int report(const ReportOptions& options, Console& console) {
  RenderOptions render_options;
  render_options.format = options.format;
  render_options.file = options.output;
  render_options.report = options.report, render_options.table = options.table;
  render_options.results = options.store;
  render_options.ascii = options.ascii;
  render_options.overwrite = options.overwrite;
  check_outputs(render_options, console);
  const auto store = store::Store::open(options.store);
  if (store->identity().contains(std::string(store::kInterventionsKey))) {
    render_effects(*store::EffectStore::open(options.store), render_options, console);
    return 0;
  }
  if (store::is_sheet(store->identity())) {
    render_sheet(*store::SheetStore::open(options.store), render_options, console);
    return 0;
  }
  render(*store, render_options, console);
  return 0;
}

}  // namespace sinkscope::app
