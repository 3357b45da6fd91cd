// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// llama_text MODEL THREADS: what a llama.cpp makes of a model, one result a line, for
// llama_text.sh, which compares the lines with and without the plugin. Built against the headers of
// that llama.cpp. A token is a byte (random_models.py).
//
//   perplexity   of 700 tokens that no model expects, with all digits
//   greedy       64 tokens after a prompt of 200
//   restored     the last 44 of them, from a state saved after the first 20
//   parallel     three sequences at once, prompts of different lengths; then two go on

#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

using Tokens = std::vector<llama_token>;

[[noreturn]] void stop(const char* why) {
  std::fprintf(stderr, "llama_text: %s\n", why);
  std::exit(1);
}

Tokens random_tokens(size_t count, uint32_t seed) {
  Tokens tokens(count);
  for (llama_token& token : tokens) {
    seed = seed * 1664525u + 1013904223u;
    token = static_cast<llama_token>(seed >> 24);
  }
  return tokens;
}

class Session {
 public:
  Session(llama_model* model, int threads)
      : vocabulary_(llama_vocab_n_tokens(llama_model_get_vocab(model))) {
    llama_context_params p = llama_context_default_params();
    p.n_ctx = 4096, p.n_batch = 1024, p.n_ubatch = 128, p.n_seq_max = 4;
    p.n_threads = p.n_threads_batch = threads;
    // Attention in 16 bits, the default, makes a difference of 5e-4 out of one of a rounding.
    p.type_k = p.type_v = GGML_TYPE_F32, p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    context_.reset(llama_init_from_model(model, p));
    if (context_ == nullptr) stop("no context");
  }

  struct Piece {
    llama_seq_id sequence;
    llama_pos first;
    Tokens tokens;
    bool every_logit = false;  // else the last token's
  };
  // Piece by piece, in one batch.
  void decode(const std::vector<Piece>& pieces) {
    llama_batch batch = llama_batch_init(1024, 0, 1);
    for (const Piece& piece : pieces) {
      for (size_t i = 0; i < piece.tokens.size(); ++i) {
        const int32_t n = batch.n_tokens++;
        batch.token[n] = piece.tokens[i];
        batch.pos[n] = piece.first + static_cast<llama_pos>(i);
        batch.n_seq_id[n] = 1, batch.seq_id[n][0] = piece.sequence;
        batch.logits[n] = piece.every_logit || i + 1 == piece.tokens.size();
      }
    }
    if (llama_decode(context_.get(), batch) != 0) stop("llama_decode failed");
    llama_batch_free(batch);
  }

  const float* logits(int32_t of_token) {
    const float* l = llama_get_logits_ith(context_.get(), of_token);
    return l != nullptr ? l : (stop("no logits"), nullptr);
  }
  llama_token likeliest(int32_t of_token) {
    const float* l = logits(of_token);
    return static_cast<llama_token>(std::max_element(l, l + vocabulary_) - l);
  }
  double surprise(int32_t of_token, llama_token next) {
    const float* l = logits(of_token);
    const double most = *std::max_element(l, l + vocabulary_);
    double sum = 0;
    for (int i = 0; i < vocabulary_; ++i) sum += std::exp(l[i] - most);
    return most + std::log(sum) - l[next];
  }
  // `count` tokens after the one whose logits are the last.
  Tokens greedy(llama_seq_id sequence, llama_pos first, llama_token token, int count) {
    Tokens text;
    for (int i = 0; i < count; ++i) {
      text.push_back(token);
      decode({{sequence, first + i, {token}}});
      token = likeliest(0);
    }
    return text;
  }
  llama_context* get() const { return context_.get(); }

 private:
  struct Free {
    void operator()(llama_context* c) const { llama_free(c); }
  };
  const int vocabulary_;
  std::unique_ptr<llama_context, Free> context_;
};

void print(const char* what, const Tokens& text) {
  std::printf("%s ", what);
  for (const llama_token token : text) std::printf("%02x", static_cast<unsigned>(token));
  std::printf("\n");
}

void perplexity(llama_model* model, int threads) {
  const Tokens text = random_tokens(700, 7);
  Session session(model, threads);
  session.decode({{0, 0, text, true}});
  double sum = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i)
    sum += session.surprise(static_cast<int32_t>(i), text[i + 1]);
  std::printf("perplexity %.10g\n", std::exp(sum / static_cast<double>(text.size() - 1)));
}

void greedy_and_restored(llama_model* model, int threads) {
  const Tokens prompt = random_tokens(200, 11);
  Session session(model, threads);
  session.decode({{0, 0, prompt}});
  Tokens text = session.greedy(0, 200, session.likeliest(199), 20);
  const llama_token next = session.likeliest(0);
  std::vector<uint8_t> state(llama_state_get_size(session.get()));
  state.resize(llama_state_get_data(session.get(), state.data(), state.size()));
  const Tokens rest = session.greedy(0, 220, next, 44);
  text.insert(text.end(), rest.begin(), rest.end());
  print("greedy", text);

  Session other(model, threads);
  if (llama_state_set_data(other.get(), state.data(), state.size()) != state.size())
    stop("the state was not taken whole");
  print("restored", other.greedy(0, 220, next, 44));
}

void parallel(llama_model* model, int threads) {
  constexpr int kSequences = 3;
  Session session(model, threads);
  std::vector<Session::Piece> pieces;
  std::vector<llama_pos> at;
  std::vector<llama_token> next;
  std::vector<Tokens> text(kSequences);
  int32_t last = -1;
  for (int s = 0; s < kSequences; ++s) {
    pieces.push_back({s, 0, random_tokens(50 + 37 * static_cast<size_t>(s), 13 + s)});
    at.push_back(static_cast<llama_pos>(pieces.back().tokens.size()));
  }
  session.decode(pieces);
  for (const Session::Piece& piece : pieces)
    next.push_back(session.likeliest(last += static_cast<int32_t>(piece.tokens.size())));
  for (int step = 0; step < 48; ++step) {
    if (step == 32) llama_memory_seq_rm(llama_get_memory(session.get()), 1, -1, -1);
    pieces.clear();
    for (int s = 0; s < kSequences; ++s)
      if (s != 1 || step < 32) pieces.push_back({s, at[s]++, {next[s]}});
    session.decode(pieces);
    for (size_t i = 0; i < pieces.size(); ++i) {
      const int s = pieces[i].sequence;
      text[s].push_back(next[s]);
      next[s] = session.likeliest(static_cast<int32_t>(i));
    }
  }
  for (const Tokens& t : text) print("parallel", t);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) stop("usage: llama_text MODEL THREADS");
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level >= GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  ggml_backend_load_all();
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) stop("the model was not loaded");
  const int threads = std::atoi(argv[2]);
  perplexity(model, threads);
  greedy_and_restored(model, threads);
  parallel(model, threads);
  llama_model_free(model);
  return 0;
}
