// The .npy format (numpy/lib/format.py, NEP 1): magic, version, a Python dictionary as text, then the elements.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <span>

#include "ir/support/error.hpp"
#include "runtime/tensor_io.hpp"

namespace weft::runtime {
namespace {

using ir::DType;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMostHeader = 1 << 20;
constexpr size_t kMostRank = 64;

struct Descr {
  DType dtype;
  std::string_view code;  // without the byte order
};
constexpr Descr kDescrs[] = {{DType::boolean, "b1"}, {DType::u8, "u1"},  {DType::u16, "u2"},  {DType::u32, "u4"},
                             {DType::u64, "u8"},     {DType::i8, "i1"},  {DType::i16, "i2"},  {DType::i32, "i4"},
                             {DType::i64, "i8"},     {DType::f16, "f2"}, {DType::bf16, "V2"}, {DType::f32, "f4"},
                             {DType::f64, "f8"}};

struct Header {
  DType dtype = DType::f32;
  bool swapped = false, fortran = false;
  std::vector<int64_t> dims;
};

/// Reads the dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Header parse() {
    expect('{');
    bool descr = false, order = false, shape = false;
    while (!accept('}')) {
      std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !descr)
        descr = true, parse_descr(quoted());
      else if (key == "fortran_order" && !order)
        order = true, header_.fortran = boolean();
      else if (key == "shape" && !shape)
        shape = true, parse_shape();
      else
        bad("an unexpected key");
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!descr || !order || !shape) bad("descr, fortran_order or shape is missing");
    return header_;
  }

 private:
  [[noreturn]] void bad(const char* why) const { fail(ErrorCode::parse, "npy header: {} at character {}", why, at_); }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(ErrorCode::parse, "npy header: '{}' expected at character {}", c, at_);
  }
  std::string_view quoted() {
    skip();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) bad("a string expected");
    size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) bad("a string without end");
    std::string_view found = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return found;
  }
  bool boolean() {
    skip();
    for (bool value : {false, true}) {
      std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    bad("True or False expected");
  }
  void parse_descr(std::string_view descr) {
    char order = descr.empty() ? ' ' : descr[0];
    if (std::string_view("<>|=").find(order) == std::string_view::npos)
      bad("a descr of a single element type expected");
    for (const Descr& d : kDescrs) {
      if (d.code != descr.substr(1)) continue;
      header_.dtype = d.dtype;
      header_.swapped = order == '>' && size_of(d.dtype) > 1;
      return;
    }
    fail(ErrorCode::unsupported, "npy: element type '{}'", descr);
  }
  void parse_shape() {
    expect('(');
    while (!accept(')')) {
      skip();
      int64_t dim = -1;
      auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), dim);
      if (error != std::errc() || dim < 0) bad("a dimension expected");
      at_ = static_cast<size_t>(end - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote 3L
      header_.dims.push_back(dim);
      if (header_.dims.size() > kMostRank) bad("too many dimensions");
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  Header header_;
};

void swap_bytes(ir::Tensor& tensor) {
  auto* bytes = static_cast<char*>(tensor.mutable_data());
  size_t size = size_of(tensor.dtype());
  for (size_t i = 0; i < tensor.bytes(); i += size) std::reverse(bytes + i, bytes + i + size);
}

/// Elements from column-major to row-major order.
ir::Tensor to_row_major(const ir::Tensor& tensor) {
  std::vector<int64_t> dims = to_ints(tensor.shape()), index(dims.size(), 0), strides(dims.size(), 1);
  for (size_t d = 1; d < dims.size(); ++d) strides[d] = strides[d - 1] * dims[d - 1];
  ir::Tensor result = ir::Tensor::allocate(tensor.type());
  size_t size = size_of(tensor.dtype());
  const auto* from = static_cast<const char*>(tensor.data());
  auto* to = static_cast<char*>(result.mutable_data());
  int64_t offset = 0;
  for (int64_t i = 0, n = tensor.elements(); i < n; ++i, to += size) {
    std::memcpy(to, from + offset * static_cast<int64_t>(size), size);
    for (size_t d = dims.size(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < dims[d]) break;
      offset -= strides[d] * dims[d];
      index[d] = 0;
    }
  }
  return result;
}

}  // namespace

ir::Tensor parse_npy(std::string_view bytes) {
  if (bytes.size() < 10 || bytes.substr(0, 6) != kMagic) fail(ErrorCode::parse, "not a npy file");
  int major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3) fail(ErrorCode::unsupported, "npy format {}", major);
  size_t start = major == 1 ? 10 : 12;
  if (bytes.size() < start) fail(ErrorCode::parse, "npy: cut short in the header");
  size_t length = 0;
  std::memcpy(&length, bytes.data() + 8, start - 8);
  if (length > kMostHeader || length > bytes.size() - start)
    fail(ErrorCode::parse, "npy: a header of {} bytes in a file of {}", length, bytes.size());
  Header header = HeaderParser(bytes.substr(start, length)).parse();
  ir::TensorType type{header.dtype, ir::to_shape(header.dims)};
  std::string_view data = bytes.substr(start + length);
  int64_t elements = type.elements();  // throws where it overflows
  auto size = static_cast<int64_t>(size_of(header.dtype));
  if (elements > std::numeric_limits<int64_t>::max() / size || static_cast<int64_t>(data.size()) != elements * size)
    fail(ErrorCode::parse, "npy: {} bytes of data for {}", data.size(), to_string(type));
  ir::Tensor tensor = ir::Tensor::allocate(type);
  if (!data.empty()) std::memcpy(tensor.mutable_data(), data.data(), data.size());
  if (header.dtype == DType::boolean)  // any other byte in a bool is undefined behaviour
    for (char& b : std::span(static_cast<char*>(tensor.mutable_data()), tensor.bytes())) b = b != 0;
  if (header.swapped) swap_bytes(tensor);
  return header.fortran && type.rank() > 1 ? to_row_major(tensor) : tensor;
}

std::string format_npy(const ir::Tensor& tensor) {
  auto descr =
      std::find_if(std::begin(kDescrs), std::end(kDescrs), [&](const Descr& d) { return d.dtype == tensor.dtype(); });
  std::string shape;
  for (const ir::Dim& dim : tensor.shape())
    shape += fmt::format("{},{}", dim.value(), tensor.type().rank() > 1 ? " " : "");
  if (tensor.type().rank() > 1) shape.resize(shape.size() - 2);
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                 size_of(tensor.dtype()) == 1 ? '|' : '<', descr->code, shape);
  text.append(64 - (10 + text.size() + 1) % 64, ' ');
  text += '\n';
  std::string bytes(kMagic);
  bytes += {'\x01', '\x00', static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  bytes += text;
  bytes.append(static_cast<const char*>(tensor.data()), tensor.bytes());
  return bytes;
}

}  // namespace weft::runtime
