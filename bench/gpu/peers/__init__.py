# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
