// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/re_use/config.h"

#include <cmath>

#include "io/json.h"

namespace hiss::models::re_use {
namespace {

using Json = nlohmann::json;

// The value of `key` in its group, or at the top; nullptr: neither has it.
const Json* find(const Json& root, const char* group, const char* key) {
  if (auto g = root.find(group); g != root.end() && g->is_object())
    if (auto v = g->find(key); v != g->end()) return &*v;
  auto v = root.find(key);
  return v == root.end() ? nullptr : &*v;
}

// Reads keys into fields, remembering the first thing that is wrong.
class Reader {
 public:
  explicit Reader(const Json& root) : root_(root) {}

  void integer(const char* group, const char* key, int64_t low, int64_t high, int64_t& field) {
    const Json* v = find(root_, group, key);
    if (v == nullptr) return fail(std::string(key) + ": missing");
    if (!v->is_number_integer() || (v->is_number_unsigned() && v->get<uint64_t>() > INT64_MAX) ||
        v->get<int64_t>() < low || v->get<int64_t>() > high)
      return fail(got(key, *v) + "an integer from " + std::to_string(low) + " to " +
                  std::to_string(high));
    field = v->get<int64_t>();
  }
  void optional_number(const char* group, const char* key, double low, double high, double& field) {
    const Json* v = find(root_, group, key);
    if (v == nullptr) return;
    if (!v->is_number() || !(v->get<double>() >= low && v->get<double>() <= high))
      return fail(got(key, *v) + "a number from " + Json(low).dump() + " to " + Json(high).dump());
    field = v->get<double>();
  }
  // A key that, where it is given, must have the one value that is implemented.
  void only(const char* group, const char* key, const Json& value) {
    const Json* v = find(root_, group, key);
    if (v != nullptr && *v != value && status_.ok())
      status_ = Unsupported("model configuration: " + got(key, *v) + value.dump());
  }
  const Status& status() const { return status_; }

 private:
  static std::string got(const char* key, const Json& v) {
    const std::string text = v.dump(-1, ' ', true, Json::error_handler_t::replace);
    return std::string(key) + ": got " +
           (v.is_string() ? io::printable(v.get<std::string>()) : text.substr(0, 60)) + ", want ";
  }
  void fail(const std::string& text) {
    if (status_.ok()) status_ = InvalidArgument("model configuration: " + text);
  }

  const Json& root_;
  Status status_;
};

// The metadata's strings as the JSON values they spell.
Json flat_metadata(const io::Safetensors& file) {
  Json root = Json::object();
  for (const auto& [key, text] : file.metadata()) {
    Result<Json> value = io::parse_json(text);
    root[key] = value ? std::move(value).value() : Json(text);
  }
  return root;
}

Result<ReUseConfig> from_json(const Json& root) {
  ReUseConfig c;
  Reader reader(root);
  reader.integer("model_cfg", "num_tfmamba", 1, 1024, c.blocks);
  reader.integer("model_cfg", "hid_feature", 1, 4096, c.channels);
  reader.integer("model_cfg", "expand", 1, 64, c.expand);
  reader.integer("model_cfg", "d_state", 1, 1024, c.d_state);
  reader.integer("model_cfg", "d_conv", 1, 64, c.d_conv);
  c.dt_rank = (c.channels + 15) / 16;
  if (const Json* v = find(root, "model_cfg", "dt_rank"); v != nullptr && *v != "auto")
    reader.integer("model_cfg", "dt_rank", 1, 4096, c.dt_rank);
  reader.optional_number("model_cfg", "norm_epsilon", 1e-12, 1.0, c.norm_epsilon);
  reader.only("model_cfg", "input_channel", 2);
  reader.only("model_cfg", "output_channel", 1);
  reader.only("model_cfg", "compress_factor", "relu_log1p");
  reader.only("model_cfg", "mapping", true);
  reader.only("model_cfg", "inner_mamba_nlayer", 1);
  reader.integer("stft_cfg", "n_fft", 2, 65536, c.n_fft);
  reader.integer("stft_cfg", "hop_size", 1, c.n_fft, c.hop_size);
  reader.integer("stft_cfg", "win_size", 1, c.n_fft, c.win_size);
  reader.integer("stft_cfg", "sampling_rate", 1000, 384000, c.sampling_rate);
  reader.only("stft_cfg", "sfi", true);
  if (!reader.status().ok()) return reader.status();
  return c;
}

Result<ReUseBypass> parse_bypass(const std::string& text) {
  const Result<Json> root = io::parse_json(text);
  if (!root || !root->is_object())
    return InvalidArgument("model configuration: bypass: got " + io::printable(text) +
                           ", want a JSON object with low_db, high_db, bins, frames");
  ReUseBypass rule{.low_db = NAN, .high_db = NAN};
  Reader reader(*root);
  reader.optional_number("bypass", "low_db", -200, 200, rule.low_db);
  reader.optional_number("bypass", "high_db", -200, 200, rule.high_db);
  reader.integer("bypass", "bins", 0, 1024, rule.bins);
  reader.integer("bypass", "frames", 0, 1024, rule.frames);
  if (!reader.status().ok()) return reader.status();
  if (!(rule.low_db < rule.high_db))
    return InvalidArgument("model configuration: bypass: got " + io::printable(text) +
                           ", want low_db below high_db");
  return rule;
}

}  // namespace

Result<ReUseConfig> parse_config(std::string_view config_json) {
  HISS_ASSIGN_OR_RETURN(const Json root, io::parse_json(config_json));
  if (!root.is_object()) return InvalidArgument("model configuration: not a JSON object");
  return from_json(root);
}

Result<ReUseConfig> read_config(const io::Safetensors& file, std::string_view config_json) {
  const auto& metadata = file.metadata();
  Result<ReUseConfig> config = InvalidArgument(
      "no model configuration: neither in the file's metadata nor in a config.json beside it");
  if (auto text = metadata.find("config"); text != metadata.end())
    config = parse_config(text->second);
  else if (metadata.contains("num_tfmamba"))
    config = from_json(flat_metadata(file));
  else if (!config_json.empty())
    config = parse_config(config_json);
  if (!config) return config;

  if (auto level = metadata.find("input_rms_dbfs"); level != metadata.end()) {
    const Result<Json> value = io::parse_json(level->second);
    if (!value || !value->is_number() || std::abs(value->get<double>()) > 200)
      return InvalidArgument("model configuration: input_rms_dbfs: got " +
                             io::printable(level->second) + ", want a level in dB, -200 to 200");
    config->input_rms_dbfs = value->get<double>();
  }
  if (auto rule = metadata.find("bypass"); rule != metadata.end()) {
    HISS_ASSIGN_OR_RETURN(config->bypass, parse_bypass(rule->second));
  }
  return config;
}

}  // namespace hiss::models::re_use
