#include "tests/ir/random_graph.hpp"

#include <algorithm>
#include <numeric>

#include "ir/program.hpp"
#include "ir/support/error.hpp"

namespace weft::test {
namespace {

using namespace weft::ir;

std::vector<int64_t> permutation(size_t rank, Random& random) {
  std::vector<int64_t> out(rank);
  std::iota(out.begin(), out.end(), 0);
  for (size_t i = rank; i > 1; --i)
    std::swap(out[i - 1], out[static_cast<size_t>(random.between(0, static_cast<int64_t>(i) - 1))]);
  return out;
}

/// Another shape of the same element count.
Shape refactor(const Shape& shape, Random& random) {
  std::vector<int64_t> dims = to_ints(shape);
  if (random.chance(0.3)) dims.insert(dims.begin() + random.between(0, static_cast<int64_t>(dims.size())), 1);
  for (int i = 0; i < 2 && dims.size() > 1; ++i) {
    size_t at = static_cast<size_t>(random.between(0, static_cast<int64_t>(dims.size()) - 2));
    if (!random.chance(0.5)) continue;
    dims[at] *= dims[at + 1];
    dims.erase(dims.begin() + static_cast<int64_t>(at) + 1);
  }
  if (!dims.empty() && random.chance(0.4)) {
    size_t at = static_cast<size_t>(random.between(0, static_cast<int64_t>(dims.size()) - 1));
    int64_t factor = random.between(2, 3);
    if (dims[at] % factor == 0) dims[at] /= factor, dims.insert(dims.begin() + static_cast<int64_t>(at), factor);
  }
  return to_shape(dims);
}

std::vector<int64_t> some_axes(size_t rank, Random& random) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < rank; ++i)
    if (random.chance(0.5))
      out.push_back(random.chance(0.2) ? static_cast<int64_t>(i) - static_cast<int64_t>(rank)
                                       : static_cast<int64_t>(i));
  return out;
}

Shape split_sizes(const Dim& size, Random& random) {
  Shape out;
  for (int64_t left = size.value(); left > 0 || out.empty();) {
    int64_t part = random.between(left > 0 ? 1 : 0, std::max<int64_t>(left, 0));
    out.push_back(part);
    left -= part;
    if (part == 0) break;
  }
  return out;
}

std::vector<int64_t> ints(size_t count, int64_t low, int64_t high, Random& random) {
  std::vector<int64_t> out(count);
  for (int64_t& v : out) v = random.between(low, high);
  return out;
}

/// Attributes whose sense is tied to the operand's shape; nothing where the schema alone says enough.
bool shaped_attributes(Op op, const TensorType& x, Random& random, int64_t max_dim, Attributes& out) {
  size_t rank = x.rank(), spatial = rank > 2 ? rank - 2 : 0;
  switch (op) {
    case Op::reshape:
      out.set("shape", refactor(x.shape, random));
      return true;
    case Op::transpose:
      out.set("perm", permutation(rank, random));
      return true;
    case Op::broadcast: {
      Shape shape = x.shape;
      for (Dim& d : shape)
        if (d.is(1)) d = random.between(1, max_dim);
      if (random.chance(0.3)) shape.insert(shape.begin(), random.between(1, max_dim));
      out.set("shape", shape);
      return true;
    }
    case Op::slice: {
      Shape starts, ends;
      std::vector<int64_t> steps;
      for (const Dim& d : x.shape) {
        int64_t start = random.between(0, d.value());
        starts.push_back(start);
        ends.push_back(random.between(start, d.value()));
        steps.push_back(random.between(1, 2));
      }
      out.set("starts", starts).set("ends", ends).set("steps", steps);
      return true;
    }
    case Op::split: {
      if (rank == 0) return true;
      int64_t axis = random.between(0, static_cast<int64_t>(rank) - 1);
      out.set("axis", axis).set("sizes", split_sizes(x.shape[static_cast<size_t>(axis)], random));
      return true;
    }
    case Op::pad:
      out.set("low", ints(rank, 0, 1, random)).set("high", ints(rank, 0, 2, random));
      return true;
    case Op::max_pool:
    case Op::avg_pool:
      out.set("kernel", ints(spatial, 1, 2, random));
      return true;
    case Op::resize: {
      Shape shape = x.shape;
      for (size_t i = 2; i < rank; ++i) shape[i] = random.between(1, max_dim);
      out.set("shape", shape);
      return true;
    }
    default:
      return false;
  }
}

AttributeValue random_value(const AttributeSpec& spec, size_t rank, Random& random, int64_t max_dim) {
  int64_t last = std::max<int64_t>(static_cast<int64_t>(rank) - 1, 0);
  bool axis = spec.name == "axis";
  switch (spec.kind) {
    case AttributeKind::boolean:
      return random.chance(0.5);
    case AttributeKind::integer:
      return axis ? random.between(-last - 1, last) : random.between(1, 2);
    case AttributeKind::real:
      return random.real(0.01, 2);
    case AttributeKind::text:
      return spec.choices.empty() ? std::string("x") : std::string(random.pick(spec.choices));
    case AttributeKind::ints:
      return spec.name == "axes" ? some_axes(rank, random) : ints(rank > 2 ? rank - 2 : rank, 1, 2, random);
    case AttributeKind::reals:
      return std::vector<double>(rank, random.real(0.5, 2));
    case AttributeKind::shape: {
      Shape shape(rank);
      for (Dim& d : shape) d = random.between(1, max_dim);
      return shape;
    }
    default:
      return static_cast<DType>(random.between(0, kDTypeCount - 1));
  }
}

std::string hostile_name(Random& random) {
  static const std::vector<std::string> kNames = {"a b",
                                                  "\"",
                                                  "\\",
                                                  "\n",
                                                  "x\ty",
                                                  "graph",
                                                  "return",
                                                  "f32",
                                                  "%1",
                                                  "%0.1",
                                                  "",
                                                  "as",
                                                  "/model/layer.0/Add_output_0",
                                                  "a.b",
                                                  "a..b",
                                                  ".",
                                                  "1x",
                                                  "x\x01\x7f",
                                                  "\xff\xfe",
                                                  "\xce\xb1",
                                                  "relu",
                                                  "main",
                                                  "nan",
                                                  "#",
                                                  "a;b",
                                                  "}",
                                                  "same",
                                                  "same",
                                                  std::string("nul\0!", 5)};
  return random.pick(kNames);
}

class Generator {
 public:
  explicit Generator(const RandomGraphOptions& options)
      : o_(options), random_(options.seed), graph_(options.hostile_names ? hostile_name(random_) : "random") {
    ops_ = o_.ops;
    if (ops_.empty())
      for (const OpInfo& info : all_ops())
        if (!info.has(kLeaf) && info.op != Op::kernel) ops_.push_back(info.op);
    if (o_.programs) ops_.push_back(Op::kernel);
  }

  Graph run() {
    for (int i = 0; i < o_.inputs; ++i) values_.push_back(graph_.input(leaf_name("x", i), random_type()));
    for (int i = 0; i < o_.parameters; ++i) {
      TensorType type = random_type();
      values_.push_back(graph_.parameter(leaf_name("w", i), type, random_tensor(type, random_)));
    }
    for (int i = 0; i < o_.nodes; ++i)
      for (int attempt = 0; attempt < 40 && !add_node(); ++attempt) {
      }
    graph_.output(o_.hostile_names ? "return" : "y", values_.back());
    for (int i = 0; i < 2; ++i) graph_.output(fmt::format("y{}", i), random_.pick(values_));
    return std::move(graph_);
  }

 private:
  std::string leaf_name(std::string_view base, int number) {
    std::string plain = fmt::format("{}{}", base, number);
    return o_.hostile_names ? hostile_name(random_) + plain : plain;
  }

  TensorType random_type() {
    TensorType type{random_.pick(o_.dtypes), {}};
    for (int64_t i = random_.between(0, o_.max_rank); i > 0; --i) type.shape.push_back(random_.between(1, o_.max_dim));
    return type;
  }

  /// A value of a type like the first operand's as often as not: most ops want equal dtypes and fitting shapes.
  Value pick_like(const TensorType& first) {
    std::vector<Value> alike;
    for (Value v : values_)
      if (graph_.type(v).dtype == first.dtype && (random_.chance(0.3) || graph_.type(v).shape == first.shape))
        alike.push_back(v);
    return alike.empty() || random_.chance(0.2) ? random_.pick(values_) : random_.pick(alike);
  }

  /// A fresh parameter that fits as the given operand, for ops whose operands seldom meet by chance.
  std::optional<TensorType> wanted(Op op, size_t operand, const TensorType& x) {
    size_t rank = x.rank();
    int64_t n = random_.between(1, o_.max_dim);
    if (op == Op::matmul && operand == 1 && rank >= 1) return TensorType{x.dtype, {x.shape.back(), n}};
    if (op == Op::conv && operand == 1 && rank >= 3) {
      Shape shape = {n, x.shape[1]};
      for (size_t i = 2; i < rank; ++i) shape.push_back(std::min<int64_t>(x.shape[i].value(), random_.between(1, 3)));
      return TensorType{x.dtype, shape};
    }
    if (op == Op::conv_transpose && operand == 1 && rank >= 3) {
      Shape shape = {x.shape[1], n};
      for (size_t i = 2; i < rank; ++i) shape.push_back(random_.between(1, 3));
      return TensorType{x.dtype, shape};
    }
    if ((op == Op::layer_norm || op == Op::rms_norm) && operand > 0 && rank >= 1)
      return TensorType{x.dtype, {x.shape.back()}};
    if (op == Op::pad && operand == 1) return TensorType{x.dtype, {}};
    if (op == Op::where && operand == 0) return TensorType{DType::boolean, {}};
    if (op == Op::gather && operand == 1) return TensorType{DType::i64, {n}};
    return std::nullopt;
  }

  std::vector<Value> pick_operands(const OpInfo& info) {
    Value first = random_.pick(values_);
    bool variadic = !info.operands.empty() && info.operands.back().variadic;
    size_t count = info.operands.size() +
                   (variadic ? static_cast<size_t>(random_.between(info.op == Op::attention ? 2 : 0, 3)) : 0);
    std::vector<Value> out = {first};
    const TensorType type = graph_.type(first);
    while (out.size() < count) {
      auto fitting = random_.chance(0.8) ? wanted(info.op, out.size(), type) : std::nullopt;
      if (fitting)
        out.push_back(graph_.constant(random_tensor(*fitting, random_), fmt::format("c{}", graph_.size())));
      else
        out.push_back(pick_like(type));
    }
    if (info.op == Op::where) {
      auto condition = wanted(info.op, 0, type);
      out[0] = graph_.constant(random_tensor(*condition, random_));
      out[1] = first;
    }
    return out;
  }

  bool add_node() {
    const OpInfo& info = ir::info(random_.pick(ops_));
    if (info.op == Op::kernel) return add_kernel();
    std::vector<Value> operands = pick_operands(info);
    std::vector<TensorType> types;
    for (Value v : operands) types.push_back(graph_.type(v));
    return try_add(info.op, operands, random_attributes(info.op, types, random_, o_.max_dim));
  }

  bool try_add(Op op, const std::vector<Value>& operands, const Attributes& attributes) {
    std::vector<TensorType> types;
    for (Value v : operands) types.push_back(graph_.type(v));
    try {
      for (const TensorType& t : infer(op, types, complete(op, attributes, types)))
        if (t.elements() > o_.max_elements || t.rank() > 8) return false;
      std::string name = o_.hostile_names      ? hostile_name(random_)
                         : random_.chance(0.5) ? fmt::format("n{}", graph_.size())
                                               : "";
      NodeId id = graph_.add(op, operands, attributes, name);
      for (uint32_t i = 0; i < graph_.node(id).types.size(); ++i) values_.push_back({id, i});
      return true;
    } catch (const Error& e) {
      if (e.code() == ErrorCode::internal) throw;
      return false;
    }
  }

  bool add_kernel() {
    RandomGraphOptions inner = o_;
    inner.seed = random_.next();
    inner.nodes = static_cast<int>(random_.between(1, 4));
    inner.parameters = 0;
    inner.programs = random_.chance(0.2);
    inner.ops = {Op::add, Op::mul, Op::relu, Op::neg, Op::reduce_sum, Op::transpose};
    Graph body = random_graph(inner);
    std::vector<Value> operands;
    for (NodeId id : body.inputs()) {
      TensorType type = body.node(id).types[0];
      auto fits = std::find_if(values_.begin(), values_.end(), [&](Value v) { return graph_.type(v) == type; });
      if (fits == values_.end() && o_.parameters == 0) return false;
      operands.push_back(fits != values_.end()
                             ? *fits
                             : graph_.parameter(fmt::format("k{}", graph_.size()), type, random_tensor(type, random_)));
    }
    if (operands.empty()) return false;
    Attributes attributes{
        {"backend", std::string("none")}, {"kernel", hostile_name(random_)}, {"program", make_program(body)}};
    return try_add(Op::kernel, operands, attributes);
  }

  const RandomGraphOptions& o_;
  Random random_;
  Graph graph_;
  std::vector<Op> ops_;
  std::vector<Value> values_;
};

double random_number(DType dtype, Random& random, bool nasty) {
  if (!is_float(dtype))
    return static_cast<double>(random.between(is_signed(dtype) ? -3 : 0, dtype == DType::boolean ? 1 : 3));
  static const std::vector<double> kPlain = {0.0, -0.0, 1, -1, 0.5, 2};
  static const std::vector<double> kNasty = {std::numeric_limits<double>::infinity(),
                                             -std::numeric_limits<double>::infinity(),
                                             std::numeric_limits<double>::quiet_NaN(),
                                             1e-40,
                                             3e38,
                                             -3e38};
  if (nasty && random.chance(0.2)) return random.pick(kNasty);
  return random.chance(0.2) ? random.pick(kPlain) : random.real(-2, 2);
}

}  // namespace

uint64_t Random::next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

ir::Attributes random_attributes(ir::Op op, const std::vector<ir::TensorType>& operands, Random& random,
                                 int64_t max_dim) {
  Attributes out;
  shaped_attributes(op, operands.at(0), random, max_dim, out);
  for (const AttributeSpec& spec : info(op).attributes) {
    if (out.find(spec.name) || spec.kind == AttributeKind::program) continue;
    if (!spec.fallback || random.chance(0.3))
      out.set(spec.name, random_value(spec, operands[0].rank(), random, max_dim));
  }
  return out;
}

ir::Graph random_graph(const RandomGraphOptions& options) { return Generator(options).run(); }

ir::Tensor random_tensor(const ir::TensorType& type, Random& random, bool nasty) {
  Tensor t = Tensor::allocate(type);
  for (int64_t i = 0, n = t.elements(); i < n; ++i) set_from_double(t, i, random_number(type.dtype, random, nasty));
  return t;
}

ir::NamedTensors random_inputs(const ir::Graph& graph, uint64_t seed, bool nasty) {
  Random random(seed);
  NamedTensors out;
  for (NodeId id : graph.inputs()) out[graph.node(id).name] = random_tensor(graph.node(id).types[0], random, nasty);
  return out;
}

}  // namespace weft::test
