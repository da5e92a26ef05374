#include "ir/import/onnx/einsum.hpp"

#include <algorithm>
#include <cctype>

#include "ir/import/onnx/emit.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

/// Axes of an operand by label. Letters stand for themselves; the axes of `...` are numbered from the back: '\1',
/// '\2'...
struct Term {
  Ref x;
  std::string labels;
};

std::string expand_dots(const std::string& text, int64_t dots) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (std::isalpha(c)) {
      out += text[i];
    } else if (text.compare(i, 3, "...") == 0) {
      for (int64_t d = dots; d > 0; --d) out += static_cast<char>(d);
      i += 2;
    } else {
      fail(ErrorCode::parse, "equation part '{}' holds '{}', expected letters and '...'", text, text[i]);
    }
  }
  return out;
}

/// Takes the diagonal of axes that share a label, and moves it to the back.
Term diagonals(Builder& b, Term t) {
  for (size_t i = 0; i < t.labels.size(); ++i) {
    size_t j = t.labels.find(t.labels[i], i + 1);
    if (j == std::string::npos) continue;
    Shape shape = b.shape(t.x);
    if (shape[i] != shape[j])
      fail(ErrorCode::type_mismatch, "label '{}' has sizes {} and {}", t.labels[i], shape[i].text(), shape[j].text());
    Ints perm;
    std::string labels;
    for (size_t k = 0; k < shape.size(); ++k)
      if (k != i && k != j) {
        perm.push_back(static_cast<int64_t>(k));
        labels += t.labels[k];
      }
    perm.push_back(static_cast<int64_t>(i));
    perm.push_back(static_cast<int64_t>(j));
    int64_t size = shape[i].value();
    Ref moved = transpose(b, t.x, perm);
    Shape flat(b.shape(moved).begin(), b.shape(moved).end() - 2);
    flat.push_back(size * size);
    int64_t last = static_cast<int64_t>(flat.size()) - 1;
    t = diagonals(b, {slice(b, reshape(b, moved, flat), last, 0, size * size, size + 1), labels + t.labels[i]});
    break;
  }
  return t;
}

Term sum_out(Builder& b, Term t, const std::string& keep) {
  Ints axes;
  std::string labels;
  for (size_t i = 0; i < t.labels.size(); ++i) {
    if (keep.find(t.labels[i]) == std::string::npos)
      axes.push_back(static_cast<int64_t>(i));
    else
      labels += t.labels[i];
  }
  if (!axes.empty()) t.x = reduce(b, Op::reduce_sum, t.x, axes, false);
  return {t.x, labels};
}

/// The axes in the order of `labels`; those that are missing have size 1.
Ref arrange(Builder& b, const Term& t, const std::string& labels) {
  Ints perm;
  Shape shape;
  for (char c : labels) {
    size_t at = t.labels.find(c);
    if (at != std::string::npos) perm.push_back(static_cast<int64_t>(at));
    shape.push_back(at == std::string::npos ? Dim(1) : b.shape(t.x)[at]);
  }
  return reshape(b, transpose(b, t.x, perm), shape);
}

Dim size_of_label(Builder& b, const Term& t, char label) {
  size_t at = t.labels.find(label);
  return at == std::string::npos ? Dim(1) : b.shape(t.x)[at];
}

/// Product of two terms, summed over labels that nobody needs later: one matrix product.
Term contract(Builder& b, Term x, Term y, const std::string& keep) {
  auto has = [](const std::string& s, char c) { return s.find(c) != std::string::npos; };
  x = sum_out(b, x, keep + y.labels);
  y = sum_out(b, y, keep + x.labels);
  std::string batch, rows, columns, inner;
  for (char c : x.labels) (has(y.labels, c) ? (has(keep, c) ? batch : inner) : rows) += c;
  for (char c : y.labels)
    if (!has(x.labels, c)) columns += c;
  Ref left = arrange(b, x, batch + rows + inner), right = arrange(b, y, batch + inner + columns);
  if (inner.empty()) {
    Ref a = arrange(b, x, batch + rows + columns), c = arrange(b, y, batch + rows + columns);
    return {binary(b, Op::mul, a, c), batch + rows + columns};
  }
  Shape shape, m, n, k;
  for (char c : batch) {
    Dim p = size_of_label(b, x, c), q = size_of_label(b, y, c);
    shape.push_back(p.is(1) ? q : p);
  }
  for (char c : inner)
    if (size_of_label(b, x, c) != size_of_label(b, y, c))
      fail(ErrorCode::type_mismatch, "label '{}' has sizes {} and {}", c, size_of_label(b, x, c).text(),
           size_of_label(b, y, c).text());
  for (char c : rows) m.push_back(size_of_label(b, x, c));
  for (char c : columns) n.push_back(size_of_label(b, y, c));
  for (char c : inner) k.push_back(size_of_label(b, x, c));
  auto matrices = [&](Ref r, const Dim& first, const Dim& second) {
    Shape s(b.shape(r).begin(), b.shape(r).begin() + static_cast<ptrdiff_t>(batch.size()));
    s.push_back(first);
    s.push_back(second);
    return reshape(b, r, s);
  };
  Ref product_ = matmul(b, matrices(left, product(m), product(k)), matrices(right, product(k), product(n)));
  shape.insert(shape.end(), m.begin(), m.end());
  shape.insert(shape.end(), n.begin(), n.end());
  return {reshape(b, product_, shape), batch + rows + columns};
}

std::vector<std::string> split_terms(const std::string& text) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// Without `->`: labels that occur once, in alphabetical order, behind the axes of `...`.
std::string implicit_output(const std::string& all, int64_t dots) {
  std::string out;
  for (int64_t d = dots; d > 0; --d) out += static_cast<char>(d);
  std::string sorted = all;
  std::sort(sorted.begin(), sorted.end());
  for (char c : sorted)
    if (std::isalpha(static_cast<unsigned char>(c)) && std::count(sorted.begin(), sorted.end(), c) == 1) out += c;
  return out;
}

}  // namespace

Ref einsum(Builder& b, const std::string& equation, const Refs& operands) {
  std::string text = equation;
  std::erase_if(text, [](unsigned char c) { return std::isspace(c); });
  size_t arrow = text.find("->");
  std::vector<std::string> parts = split_terms(text.substr(0, arrow));
  if (parts.size() != operands.size())
    fail(ErrorCode::parse, "equation '{}' has {} terms for {} inputs", equation, parts.size(), operands.size());
  int64_t dots = 0;
  std::vector<Term> terms;
  std::string all;
  for (size_t i = 0; i < parts.size(); ++i) {
    int64_t letters = std::count_if(parts[i].begin(), parts[i].end(), [](unsigned char c) { return std::isalpha(c); });
    int64_t mine = parts[i].find("...") == std::string::npos ? 0 : b.rank(operands[i]) - letters;
    std::string labels = expand_dots(parts[i], std::max<int64_t>(mine, 0));
    if (static_cast<int64_t>(labels.size()) != b.rank(operands[i]))
      fail(ErrorCode::type_mismatch, "term '{}' for {}", parts[i], b.describe(operands[i]));
    dots = std::max(dots, mine);
    all += labels;
    terms.push_back({operands[i], std::move(labels)});
  }
  std::string out = arrow == std::string::npos ? implicit_output(all, dots) : expand_dots(text.substr(arrow + 2), dots);
  for (char c : out)
    if (all.find(c) == std::string::npos || std::count(out.begin(), out.end(), c) > 1)
      fail(ErrorCode::parse, "output label '{}' of equation '{}'", c, equation);
  for (Term& t : terms) t = diagonals(b, std::move(t));
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string keep = out;
    for (size_t j = i + 1; j < terms.size(); ++j) keep += terms[j].labels;
    result = contract(b, std::move(result), std::move(terms[i]), keep);
  }
  return arrange(b, sum_out(b, std::move(result), out), out);
}

}  // namespace weft::ir::onnx_import
