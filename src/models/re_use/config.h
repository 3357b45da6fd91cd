// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "hiss/status.h"
#include "io/safetensors.h"
#include "models/re_use/re_use.h"

namespace hiss::models::re_use {

// The checkpoint's configuration. Looked for, in this order, in
//   1. the file's metadata: the text of a config.json under "config", or its keys one by one;
//   2. `config_json`, the text of the config.json beside the file; empty: there is none.
// Besides that, the metadata key "input_rms_dbfs". kInvalidArgument names the key, what it is and
// what it may be; kUnsupported: a valid SE-Mamba that is not laid out as RE-USE.
Result<ReUseConfig> read_config(const io::Safetensors& file, std::string_view config_json);

// The same from the text of a config.json: groups "model_cfg" and "stft_cfg", or all keys at the
// top.
Result<ReUseConfig> parse_config(std::string_view config_json);

}  // namespace hiss::models::re_use
