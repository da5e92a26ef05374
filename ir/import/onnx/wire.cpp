#include "ir/import/onnx/wire.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

enum class Message : uint8_t { model, graph, node, attribute, function, value_info, type, type_part, other };

/// The message type of a length-delimited field, by the field numbers of onnx.proto.
Message child_of(Message parent, uint64_t field) {
  switch (parent) {
    case Message::model:
      return field == 7 ? Message::graph : field == 25 ? Message::function : Message::other;
    case Message::graph:
      return field == 1 ? Message::node : field >= 11 && field <= 13 ? Message::value_info : Message::other;
    case Message::node:
      return field == 5 ? Message::attribute : Message::other;
    case Message::function:
      return field == 7 ? Message::node : field == 11 ? Message::attribute : Message::other;
    case Message::attribute:
      return field == 6 || field == 11 ? Message::graph : field == 14 || field == 15 ? Message::type : Message::other;
    case Message::value_info:
      return field == 2 ? Message::type : Message::other;
    case Message::type:  // sequence, map and optional types hold types
      return field == 4 || field == 5 || field == 9 ? Message::type_part : Message::other;
    case Message::type_part:
      return field <= 2 ? Message::type : Message::other;
    default:
      return Message::other;
  }
}

struct Reader {
  std::span<const std::byte> bytes;
  size_t at = 0;

  uint64_t varint(size_t end) {
    uint64_t value = 0;
    size_t start = at;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at >= end)
        fail(ErrorCode::parse, "not an ONNX model: truncated number at byte {} of {}", start, bytes.size());
      auto byte = static_cast<uint64_t>(bytes[at++]);
      value |= shift < 64 ? (byte & 0x7f) << shift : 0;
      if (!(byte & 0x80)) return value;
    }
    fail(ErrorCode::parse, "not an ONNX model: a number at byte {} has more than 10 bytes", start);
  }
  void skip(uint64_t count, size_t end) {
    if (count > end - at)
      fail(ErrorCode::parse, "not an ONNX model, or truncated: the field at byte {} has {} bytes where {} are left", at,
           count, end - at);
    at += static_cast<size_t>(count);
  }
};

}  // namespace

void check_wire(std::span<const std::byte> bytes) {
  struct Open {
    Message message;
    size_t end;
  };
  Reader in{bytes};
  std::vector<Open> open{{Message::model, bytes.size()}};
  while (!open.empty()) {
    auto [message, end] = open.back();
    if (in.at == end) {
      open.pop_back();
      continue;
    }
    size_t start = in.at;
    uint64_t tag = in.varint(end), field = tag >> 3;
    if (field == 0) fail(ErrorCode::parse, "not an ONNX model: field number 0 at byte {}", start);
    switch (tag & 7) {
      case 0:
        in.varint(end);
        break;
      case 1:
        in.skip(8, end);
        break;
      case 5:
        in.skip(4, end);
        break;
      case 2: {
        uint64_t length = in.varint(end);
        Message child = child_of(message, field);
        size_t inside = in.at;
        in.skip(length, end);
        if (child == Message::other) break;
        if (open.size() >= static_cast<size_t>(kMaxDepth))
          fail(ErrorCode::limit, "messages nest deeper than {} at byte {} (subgraphs inside subgraphs)", kMaxDepth,
               start);
        in.at = inside;
        open.push_back({child, inside + static_cast<size_t>(length)});
        break;
      }
      default:
        fail(ErrorCode::parse, "not an ONNX model: wire type {} at byte {}", tag & 7, start);
    }
  }
}

}  // namespace weft::ir::onnx_import
