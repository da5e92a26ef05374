#pragma once
// Transformers of any depth in the text language, spelled in primitives as exporters write them.
#include <string>

namespace weft {

struct TransformerSize {
  int layers = 2, tokens = 8, hidden = 16, heads = 2, inner = 32;
  int past = 4;  ///< of a decoder: tokens in the cache
};

/// Post-norm encoder (BERT): layer norm, GELU and attention in primitives. Input x: f32[1,tokens,hidden], mask:
/// f32[1,1,1,tokens] that every layer reads; output y. The text is a graph of ir/text.hpp.
std::string encoder_text(const TransformerSize& size);

/// Pre-norm decoder (LLaMA): RMS norm, rotary embedding, key-value cache, SwiGLU, final norm. Inputs x, mask, cosines,
/// sines, and past_k0, past_v0, ... a layer; outputs y, and k0, v0, ... a layer (the cache with the new tokens).
std::string decoder_text(const TransformerSize& size);

}  // namespace weft
