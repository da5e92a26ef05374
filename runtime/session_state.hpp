#pragma once
// What a session holds; private to the files that make sessions.
#include <list>
#include <mutex>

#include "runtime/session.hpp"

namespace weft::runtime {

/// The graph with some inputs replaced by constants. Throws Error where a name is unknown or a tensor does not fit.
ir::Graph with_inputs_bound(const ir::Graph& graph, const ir::NamedTensors& binds);

struct Session::State {
  struct Entry;

  explicit State(SessionOptions given);
  void set_graph(ir::Graph given);
  void set_bound(std::shared_ptr<const BoundPlan> bound, SpecializationReport report);
  NamedShapes complete_shapes(const NamedShapes& given) const;
  std::shared_ptr<Entry> entry_for(const NamedShapes& shapes);
  std::shared_ptr<Entry> prepare(const NamedShapes& shapes);
  void make(Entry& entry, const NamedShapes& shapes);
  /// `refresh`: the cache is not asked, only told.
  std::shared_ptr<const ir::Plan> find_or_compile(const ir::Graph& source, SpecializationReport& report, bool refresh);
  std::shared_ptr<const ir::Plan> compile_fresh(const ir::Graph& source, SpecializationReport& report,
                                                const PlanKey* store_as);
  ir::NamedTensors run(const ir::NamedTensors& given, const ir::NamedTensors& results);

  SessionOptions options;
  std::vector<const ir::Target*> targets;
  std::unique_ptr<const ir::Graph> graph;  // null where a plan file is all there is
  std::vector<NamedType> inputs, outputs;
  bool is_static = false;
  std::string model;           // absolute path of the source; empty for a graph made in memory
  ir::DimBindings given_dims;  // bound by the importer; for the provenance
  double load_ms = 0;
  std::mutex mutex;                           // guards `entries`
  std::list<std::shared_ptr<Entry>> entries;  // least recently used first
};

}  // namespace weft::runtime
