#include "tests/models/model_list.hpp"

#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "ir/support/error.hpp"

namespace weft::models {
namespace {

using ir::DType;

ModelCase image_case(std::string input, std::vector<int64_t> dims, double low, double high) {
  std::string label = fmt::format("{}", fmt::join(dims, "x"));
  return {std::move(label), {{std::move(input), {DType::f32, ir::to_shape(dims)}, low, high}}};
}

ModelCase token_case(int64_t batch, int64_t tokens, double vocabulary, bool mask) {
  ir::Shape shape = ir::to_shape({batch, tokens});
  ModelCase made{fmt::format("{}x{}", batch, tokens), {{"input_ids", {DType::i64, shape}, 0, vocabulary}}};
  if (mask) made.inputs.push_back({"attention_mask", {DType::i64, shape}, 0, 2});
  return made;
}

/// PP-OCR takes any height and width that are multiples of 32 (det) or a height of 48 (cls, rec); pixels are
/// normalised.
std::vector<ModelCase> pp_ocr(std::vector<std::vector<int64_t>> shapes) {
  std::vector<ModelCase> cases;
  for (std::vector<int64_t>& dims : shapes) cases.push_back(image_case("x", std::move(dims), -1.5, 1.5));
  return cases;
}

std::vector<Model> make_list() {
  auto made = [](const char* name) { return std::string("made/") + name + ".onnx"; };
  std::vector<Model> list{
      {"pp_ocr_det", "pp_ocr_det.onnx", pp_ocr({{1, 3, 320, 320}, {1, 3, 640, 640}, {2, 3, 96, 224}, {1, 3, 32, 64}})},
      {"pp_ocr_cls", "pp_ocr_cls.onnx", pp_ocr({{1, 3, 48, 192}, {3, 3, 48, 192}, {1, 3, 48, 100}})},
      {"pp_ocr_rec", "pp_ocr_rec.onnx", pp_ocr({{1, 3, 48, 320}, {2, 3, 48, 160}})},
      {"blazeface_front", "blazeface_front.onnx", {image_case("input:0", {1, 128, 128, 3}, -1, 1)}},
      {"blazeface_back", "blazeface_back.onnx", {image_case("input:0", {1, 256, 256, 3}, -1, 1)}},
  };
  for (const char* size : {"320", "512"})
    for (const char* kind : {"tiny", "large"}) {
      int64_t side = std::atoi(size);
      std::string name = fmt::format("mlsd_{}_{}", kind, size);
      list.push_back({name, name + ".onnx", {image_case("input_image_with_alpha:0", {1, side, side, 4}, 0, 255)}});
    }
  for (const char* name : {"resnet50", "resnet50_bn", "mobilenet_v2", "mobilenet_v2_bn"})
    list.push_back({name, made(name), {image_case("image", {1, 3, 224, 224}, -2, 2)}});
  list.push_back({"bert_base", made("bert_base"), {token_case(1, 128, 30522, false)}});
  list.push_back({"bert_base_mask", made("bert_base_mask"), {token_case(1, 128, 30522, true)}});

  for (bool mask : {false, true})
    list.push_back({mask ? "tiny_bert_mask" : "tiny_bert",
                    made(mask ? "tiny_bert_mask" : "tiny_bert"),
                    {token_case(1, 16, 100, mask), token_case(3, 16, 100, mask)},
                    true});
  for (const char* name : {"tiny_resnet", "tiny_resnet_bn"})
    list.push_back({name, made(name), {image_case("image", {1, 3, 32, 32}, -2, 2)}, true});
  for (const char* name : {"tiny_mobile", "tiny_mobile_bn"})
    list.push_back({name,
                    made(name),
                    {image_case("image", {1, 3, 32, 32}, -2, 2), image_case("image", {1, 3, 17, 40}, -2, 2)},
                    true});
  list.push_back({"tiny_pad", made("tiny_pad"), {image_case("image", {1, 32, 32, 3}, -1, 1)}, true});
  return list;
}

}  // namespace

const std::vector<Model>& all_models() {
  static const std::vector<Model> list = make_list();
  return list;
}

const Model& find_model(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Model& model : all_models()) {
    if (model.name == name) return model;
    names.push_back(model.name);
  }
  fail(ErrorCode::not_found, "no model '{}'; known: {}", name, fmt::join(names, ", "));
}

std::filesystem::path models_folder() {
  if (const char* folder = std::getenv("WEFT_MODELS")) return folder;
  return WEFT_MODELS_DIR;
}

std::filesystem::path model_path(const Model& model) { return models_folder() / model.file; }

bool model_available(const Model& model, std::string* reason) {
  bool there = std::filesystem::exists(model_path(model));
  if (!there && reason) *reason = model_path(model).string() + " is missing: run tools/scripts/fetch_models.sh";
  return there;
}

ir::NamedTensors random_inputs(const ModelCase& model_case, uint64_t seed) {
  ir::NamedTensors tensors;
  std::mt19937_64 random(seed);
  for (const ModelInput& input : model_case.inputs) {
    ir::Tensor tensor = ir::Tensor::allocate(input.type);
    bool whole = !ir::is_float(input.type.dtype);
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      double share = static_cast<double>(random() >> 40) * 0x1p-24;
      double value = input.low + share * (input.high - input.low);
      ir::set_from_double(tensor, i, whole ? std::floor(value) : value);
    }
    tensors.emplace(input.name, std::move(tensor));
  }
  return tensors;
}

}  // namespace weft::models
