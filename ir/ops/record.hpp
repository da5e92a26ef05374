#pragma once
// How the records of the op table are written: attribute specs, and one function a structured op.
#include "ir/op.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::ops {

#define WEFT_STRUCTURED(name) OpInfo name##_record();
#include "ir/ops/structured.inc"
#undef WEFT_STRUCTURED

/// The records of all elementwise ops, in the order of elementwise.inc.
std::vector<OpInfo> elementwise_records();

// Attribute specs: without a fallback the attribute is required.
inline AttributeSpec boolean(std::string_view name, bool fallback) { return {name, AttributeKind::boolean, fallback}; }
inline AttributeSpec integer(std::string_view name) { return {name, AttributeKind::integer, {}}; }
inline AttributeSpec integer(std::string_view name, int64_t fallback) {
  return {name, AttributeKind::integer, fallback};
}
inline AttributeSpec real(std::string_view name) { return {name, AttributeKind::real, {}}; }
inline AttributeSpec real(std::string_view name, double fallback) { return {name, AttributeKind::real, fallback}; }
inline AttributeSpec text(std::string_view name) { return {name, AttributeKind::text, {}}; }
inline AttributeSpec text(std::string_view name, std::string fallback, std::vector<std::string_view> choices) {
  return {name, AttributeKind::text, AttributeValue(std::move(fallback)), std::move(choices)};
}
inline AttributeSpec dtype(std::string_view name) { return {name, AttributeKind::dtype, {}}; }
inline AttributeSpec shape(std::string_view name) { return {name, AttributeKind::shape, {}}; }
inline AttributeSpec ints(std::string_view name) { return {name, AttributeKind::ints, {}}; }
inline AttributeSpec ints_or_default(std::string_view name) {
  return {name, AttributeKind::ints, AttributeValue(std::vector<int64_t>{})};
}
inline AttributeSpec reals(std::string_view name) { return {name, AttributeKind::reals, {}}; }

}  // namespace weft::ir::ops
