// Broken and hostile ONNX files: every one is an Error that names the place.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/ir/import/onnx_error.hpp"
#include "tests/ir/import/onnx_model.hpp"
#include "tests/small_stack.hpp"

using namespace weft;
using namespace weft::test;
using Catch::Matchers::Contains;
using ir::DType;
using Values = std::vector<double>;
namespace fs = std::filesystem;
using Proto = ::onnx::TensorProto;

namespace {

OnnxModel with_node(const std::string& op, const std::string& domain = "") {
  OnnxModel m;
  m.input("x", DType::f32, {2}).output("y");
  m.node(op, {"x"}, {"y"}).set_domain(domain);
  return m;
}

/// A model that returns one initializer.
OnnxModel with_tensor(const Proto& tensor) {
  OnnxModel m;
  *m.graph().add_initializer() = tensor;
  m.graph().mutable_initializer(0)->set_name("w");
  m.output("w");
  return m;
}

Proto tensor(int32_t type, std::vector<int64_t> dims, size_t raw_bytes) {
  Proto p;
  p.set_data_type(type);
  for (int64_t d : dims) p.add_dims(d);
  p.set_raw_data(std::string(raw_bytes, '\0'));
  return p;
}

std::string varint(uint64_t v) {
  std::string out;
  for (; v >= 128; v >>= 7) out += static_cast<char>(v | 128);
  return out + static_cast<char>(v);
}
std::string field(char tag, const std::string& body) { return tag + varint(body.size()) + body; }

/// An If in the then_branch of an If, k deep. Every level is a prefix, so the text is made from its end.
std::string nested_ifs(int k) {
  std::string backwards;
  auto put = [&](const std::string& prefix) { backwards.append(prefix.rbegin(), prefix.rend()); };
  auto tagged = [&](char tag, size_t size) { return tag + varint(size); };
  for (int i = 0; i < k; ++i) {
    put(field(0x0a, "then_branch") + tagged(0x32, backwards.size()));  // the attribute's name and graph
    put(field(0x22, "If") + tagged(0x2a, backwards.size()));           // the node's op and attribute
    put(tagged(0x0a, backwards.size()));
  }
  put(std::string("\x08\x08") + tagged(0x3a, backwards.size()));
  return {backwards.rbegin(), backwards.rend()};
}

}  // namespace

TEST_CASE("onnx: bytes that are no model") {
  CHECK_THAT(error_of([] { import_text(""); }), Contains("0 bytes"));
  CHECK_THAT(error_of([] { import_text("hello, world"); }), Contains("not an ONNX model"));
  CHECK_THAT(error_of([] { import_text(std::string(1000, '\xff')); }), Contains("not an ONNX model"));
  CHECK_THAT(error_of([] { import_text(std::string("\x08\x08", 2)); }), Contains("no graph"));
}

TEST_CASE("onnx: every prefix of a model, and every byte changed, is a model or an Error") {
  OnnxModel m;
  m.input("x", DType::f32, {"N", 2}).floats("w", {2, 2}, {1, 2, 3, 4}).output("y");
  m.node("MatMul", {"x", "w"}, {"t"});
  set_real(m.node("LeakyRelu", {"t"}, {"y"}), "alpha", 0.5f);
  std::string good = m.bytes();
  auto attempt = [](const std::string& bytes) {
    try {
      import_text(bytes);
    } catch (const Error& e) {
      CHECK(e.code() != ErrorCode::internal);
    }
  };
  for (size_t k = 0; k < good.size(); ++k) attempt(good.substr(0, k));
  for (size_t k = 0; k < good.size(); ++k)
    for (char byte : {'\x00', '\x7f', '\x80', '\xff'}) {
      std::string bad = good;
      bad[k] = byte;
      attempt(bad);
    }
  CHECK_NOTHROW(import_text(good));
}

TEST_CASE("onnx: graphs nested without end are refused in linear time, on a small stack") {
  for (int depth : {33, 1000, 100000}) {
    std::string bytes = nested_ifs(depth), message;
    on_small_stack([&] {
      try {
        import_text(bytes);
      } catch (const Error& e) {
        message = e.what();
      }
    });
    CHECK_THAT(message, Contains("nest deeper"));
  }
  CHECK_THAT(error_of([] { import_text(nested_ifs(3)); }), Contains("opset_import"));
}

TEST_CASE("onnx: files that cannot be opened differ in their messages") {
  fs::path folder = fs::temp_directory_path() / ("weft_onnx_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "empty.onnx");
  ::mkfifo((folder / "fifo").c_str(), 0600);
  CHECK_THAT(error_of([&] { ir::import_onnx(folder / "none.onnx"); }), Contains("No such file"));
  CHECK_THAT(error_of([&] { ir::import_onnx(folder); }), Contains("is a directory"));
  CHECK_THAT(error_of([&] { ir::import_onnx(folder / "empty.onnx"); }), Contains("0 bytes"));
  CHECK_THAT(error_of([&] { ir::import_onnx(folder / "fifo"); }), Contains("not a regular file"));
  fs::remove_all(folder);
}

TEST_CASE("onnx: all unsupported ops are reported at once, with opset, place, count and the nearest name") {
  OnnxModel m;
  m.input("x", DType::f32, {2}).output("c");
  m.node("Frobnicate", {"x"}, {"a"}, "odd");
  m.node("Frobnicate", {"a"}, {"b"});
  m.node("Sigmoidd", {"b"}, {"c"});
  m.node("Unused", {"x"}, {"d"});
  m.node("Relu", {"x"}, {"e"}).set_domain("com.example");
  std::string message = error_of([&] { m.import(); });
  CHECK_THAT(message, Contains("4 unsupported ops"));
  CHECK_THAT(message, Contains("Frobnicate (domain ai.onnx, opset 17) at node 0 'odd' (Frobnicate)"));
  CHECK_THAT(message, Contains("Sigmoidd") && Contains("nearest supported: Sigmoid"));
  CHECK_THAT(message, Contains("Unused") && Contains("node 3"));
  CHECK_THAT(message, Contains("Relu (domain com.example, opset not imported)"));
}

TEST_CASE("onnx: two hundred unknown ops make one message of bounded length") {
  OnnxModel m;
  m.input("x", DType::f32, {2}).output("x");
  for (int i = 0; i < 200; ++i) m.node("Strange" + std::to_string(i), {"x"}, {"t" + std::to_string(i)});
  std::string message = error_of([&] { m.import(); });
  CHECK_THAT(message, Contains("200 unsupported ops") && Contains("and 100 more"));
}

TEST_CASE("onnx: opsets that are missing or too new") {
  OnnxModel none = with_node("Relu");
  none.proto.clear_opset_import();
  CHECK_THAT(error_of([&] { none.import(); }), Contains("no opset_import"));
  CHECK_THAT(error_of([] { OnnxModel(9999).input("x", DType::f32, {}).output("x").import(); }), Contains("opset 9999"));
  OnnxModel twice = with_node("Relu");
  *twice.proto.add_opset_import() = twice.proto.opset_import(0);
  twice.proto.mutable_opset_import(1)->set_version(9);
  CHECK_THAT(error_of([&] { twice.import(); }), Contains("twice"));
}

TEST_CASE("onnx: attributes that nobody knows, or of the wrong type") {
  OnnxModel unknown = with_node("Relu");
  set_int(*unknown.graph().mutable_node(0), "speed", 1);
  CHECK_THAT(error_of([&] { unknown.import(); }), Contains("Relu") && Contains("unknown attribute 'speed'"));
  OnnxModel wrong = with_node("Transpose");
  auto& perm = *wrong.graph().mutable_node(0)->add_attribute();
  perm.set_name("perm");
  perm.set_type(::onnx::AttributeProto::FLOATS);
  perm.add_floats(0);
  CHECK_THAT(error_of([&] { wrong.import(); }), Contains("'perm' is of type FLOATS, expected INTS"));
}

TEST_CASE("onnx: element types of inputs") {
  auto type_error = [](int32_t type) {
    OnnxModel m = with_node("Relu");
    m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    return error_of([&] { m.import(); });
  };
  CHECK_THAT(type_error(Proto::STRING), Contains("graph input 'x'") && Contains("STRING"));
  CHECK_THAT(type_error(17), Contains("FLOAT8E4M3FN"));
  CHECK_THAT(type_error(999), Contains("element type 999"));
  CHECK_THAT(type_error(0), Contains("element type 0"));
  OnnxModel bf16 = with_node("Relu");
  bf16.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(Proto::BFLOAT16);
  CHECK_NOTHROW(bf16.import());
}

TEST_CASE("onnx: tensor payloads that do not match their dims") {
  for (size_t bytes : {8u, 25u, 28u})
    CHECK_THAT(error_of([&] {
                 with_tensor(tensor(Proto::FLOAT, {2, 3}, bytes)).import();
               }),
               Contains("tensor 'w'") && Contains("holds " + std::to_string(bytes) + " bytes") && Contains("needs 24"));
  CHECK_THAT(error_of([] {
               with_tensor(tensor(Proto::FLOAT, {-2, -3}, 24)).import();
             }),
             Contains("negative dimension -2"));
  CHECK_THAT(error_of([] {
               with_tensor(tensor(Proto::FLOAT, {int64_t{1} << 32, int64_t{1} << 32}, 0)).import();
             }),
             Contains("2^58"));
  CHECK_THAT(error_of([] { with_tensor(tensor(0, {1}, 4)).import(); }), Contains("element type 0"));
  CHECK_THAT(error_of([] { with_tensor(tensor(Proto::STRING, {0}, 0)).import(); }), Contains("STRING"));
  Proto both = tensor(Proto::FLOAT, {1}, 4);
  both.add_float_data(1);
  CHECK_THAT(error_of([&] { with_tensor(both).import(); }), Contains("both raw_data and typed data"));
}

TEST_CASE("onnx: tensor payloads that are fine") {
  Proto half;
  half.set_data_type(Proto::FLOAT16);
  half.add_dims(1);
  half.add_int32_data(0x3c00);
  CHECK(values_of(with_tensor(half).run()[0]) == Values{1});
  Proto truth;
  truth.set_data_type(Proto::BOOL);
  truth.add_dims(2);
  truth.add_int32_data(2);
  truth.add_int32_data(0);
  CHECK(values_of(with_tensor(truth).run()[0]) == Values{1, 0});
  Proto raw_truth = tensor(Proto::BOOL, {2}, 0);
  raw_truth.set_raw_data(std::string("\x02\x00", 2));
  CHECK(values_of(with_tensor(raw_truth).run()[0]) == Values{1, 0});
  CHECK(with_tensor(tensor(Proto::FLOAT, {}, 4)).run()[0].type().rank() == 0);
  CHECK(with_tensor(tensor(Proto::FLOAT, {0}, 0)).run()[0].elements() == 0);
}

TEST_CASE("onnx: huge results are refused before anything is allocated") {
  OnnxModel tile;
  tile.floats("x", {1}, {1}).ints("repeats", {int64_t{1} << 62}).output("y");
  tile.node("Tile", {"x", "repeats"}, {"y"});
  CHECK_THAT(error_of([&] { tile.import(); }), Contains("node 0 (Tile)"));
  for (auto dims :
       {std::vector<int64_t>{int64_t{1} << 32, int64_t{1} << 32}, {int64_t{1} << 33, int64_t{1} << 33}, {-1, 2}}) {
    OnnxModel fill;
    fill.ints("shape", dims).output("y");
    fill.node("ConstantOfShape", {"shape"}, {"y"});
    CHECK_THAT(error_of([&] { fill.import(); }), Contains("node 0 (ConstantOfShape)"));
  }
  OnnxModel range;
  auto scalar = [](int64_t v) { return ir::Tensor::scalar<int64_t>(v); };
  range.initializer("a", scalar(0)).initializer("b", scalar(int64_t{1} << 62)).initializer("c", scalar(1)).output("y");
  range.node("Range", {"a", "b", "c"}, {"y"});
  CHECK_THAT(error_of([&] { range.import(); }), Contains("node 0 (Range)"));
}

namespace {

struct ExternalFolder {
  fs::path outside = fs::temp_directory_path() / ("weft_external_" + std::to_string(::getpid()));
  fs::path inside = outside / "m";

  ExternalFolder() {
    fs::create_directories(inside / "sub");
    float values[] = {1, 2};
    for (const fs::path& file : {inside / "w.bin", outside / "secret.bin"})
      std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(values), sizeof values);
    fs::create_symlink("../secret.bin", inside / "link.bin");
    fs::create_symlink("..", inside / "up");
    fs::create_symlink("w.bin", inside / "near.bin");
    fs::create_symlink("m", outside / "alias");
    ::mkfifo((inside / "fifo").c_str(), 0600);
  }
  ~ExternalFolder() { fs::remove_all(outside); }

  void write(const std::string& location, const std::vector<std::pair<std::string, std::string>>& more = {}) const {
    Proto w;
    w.set_data_type(Proto::FLOAT);
    w.add_dims(2);
    w.set_data_location(Proto::EXTERNAL);
    auto add = [&](const std::string& key, const std::string& value) {
      auto* entry = w.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    add("location", location);
    for (const auto& [key, value] : more) add(key, value);
    std::ofstream(inside / "model.onnx", std::ios::binary) << with_tensor(w).bytes();
  }
  std::string failure() const {
    return error_of([&] { ir::import_onnx(inside / "model.onnx"); });
  }
};

}  // namespace

TEST_CASE("onnx: external data inside the model's directory is read in place") {
  ExternalFolder folder;
  for (const char* location : {"w.bin", "./w.bin", "sub/../w.bin", "near.bin"}) {
    folder.write(location);
    for (const fs::path& path : {folder.inside / "model.onnx", folder.outside / "alias/model.onnx"}) {
      ir::Graph g = ir::import_onnx(path);
      CHECK(values_of(ir::run_reference(g, {})[0]) == Values{1, 2});
    }
  }
  folder.write("w.bin", {{"offset", "4"}, {"length", "8"}});
  CHECK_THAT(folder.failure(), Contains("has 8 bytes") && Contains("offset 4"));
  folder.write("w.bin", {{"length", "4"}});
  CHECK_THAT(folder.failure(), Contains("4 bytes where f32[2] needs 8"));
  folder.write("w.bin", {{"offset", "-1"}});
  CHECK_THAT(folder.failure(), Contains("offset '-1'"));
}

TEST_CASE("onnx: external data that leaves the model's directory is refused") {
  ExternalFolder folder;
  std::string absolute = (folder.outside / "secret.bin").string();
  for (const std::string& location : {std::string("../secret.bin"), std::string("sub/../../secret.bin"),
                                      std::string("link.bin"), std::string("up/secret.bin")}) {
    folder.write(location);
    CHECK_THAT(folder.failure(), Contains("outside the model's directory"));
  }
  folder.write(absolute);
  CHECK_THAT(folder.failure(), Contains("absolute path"));
  folder.write("");
  CHECK_THAT(folder.failure(), Contains("empty location"));
  folder.write(std::string("w.bin\0x", 7));
  CHECK_THAT(folder.failure(), Contains("NUL"));
  folder.write("fifo");
  CHECK_THAT(folder.failure(), Contains("not a regular file"));
  folder.write("sub");
  CHECK_THAT(folder.failure(), Contains("is a directory"));
  folder.write("nothing.bin");
  CHECK_THAT(folder.failure(), Contains("'nothing.bin'"));
}

TEST_CASE("onnx: external weights stay mapped") {
  ExternalFolder folder;
  folder.write("w.bin");
  ir::Graph g = ir::import_onnx(folder.inside / "model.onnx");
  REQUIRE(g.parameters().size() == 1);
  auto address = reinterpret_cast<uintptr_t>(g.node(g.parameters()[0]).tensor.data());
  std::ifstream maps("/proc/self/maps");
  bool mapped = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t low = 0, high = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &low, &high) == 2 && address >= low && address < high)
      mapped = line.find("w.bin") != std::string::npos;
  }
  CHECK(mapped);
}
