// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/enhancer.h"

#include <memory>
#include <utility>

#include "enhancer/enhancer_impl.h"
#include "models/re_use/re_use.h"

namespace hiss {

Result<std::unique_ptr<Enhancer>> Enhancer::create(const EnhancerOptions& options) {
  HISS_ASSIGN_OR_RETURN(Context made, Context::create(options.context));
  auto context = std::make_unique<Context>(std::move(made));
  HISS_ASSIGN_OR_RETURN(auto model,
                        models::ReUse::load(options.model, *context, options.precision));
  return internal::make_enhancer(std::move(context), std::move(model), options.model, options);
}

}  // namespace hiss
