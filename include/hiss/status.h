// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace hiss {

// What went wrong, by what the caller can do about it.
enum class StatusCode {
  kOk = 0,
  kInvalidArgument,    // a contract was broken: the text names the tensor or option, got and want
  kUnsupported,        // valid, but no kernel or no such machine
  kNotFound,           // no such file, kernel, tensor or case
  kAlreadyExists,      // would overwrite something the caller did not offer
  kDataLoss,           // a file is damaged or not what it says it is
  kResourceExhausted,  // memory, disk, device memory
  kCancelled,          // the caller asked to stop
  kInternal,           // our fault, or the operating system's
};

// "invalid argument", "not found" ...
const char* to_string(StatusCode code);

// Success, or a code with one line of text. Never printed by the library.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  // "invalid argument: x: got ..., want ...", or "ok".
  std::string to_string() const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status InvalidArgument(std::string text) {
  return {StatusCode::kInvalidArgument, std::move(text)};
}
inline Status Unsupported(std::string text) { return {StatusCode::kUnsupported, std::move(text)}; }
inline Status NotFound(std::string text) { return {StatusCode::kNotFound, std::move(text)}; }
inline Status AlreadyExists(std::string text) {
  return {StatusCode::kAlreadyExists, std::move(text)};
}
inline Status DataLoss(std::string text) { return {StatusCode::kDataLoss, std::move(text)}; }
inline Status ResourceExhausted(std::string text) {
  return {StatusCode::kResourceExhausted, std::move(text)};
}
inline Status Cancelled(std::string text) { return {StatusCode::kCancelled, std::move(text)}; }
inline Status Internal(std::string text) { return {StatusCode::kInternal, std::move(text)}; }

// A value, or the Status that says why there is none. Member names are std::expected's.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT: a value is a result
  Result(Status error) : error_(std::move(error)) {  // NOLINT: so is an error
    assert(!error_.ok());
  }

  bool has_value() const { return value_.has_value(); }
  explicit operator bool() const { return has_value(); }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  // Ok when there is a value.
  const Status& error() const { return error_; }

 private:
  std::optional<T> value_;
  Status error_;
};

}  // namespace hiss

#define HISS_CONCAT_INNER(a, b) a##b
#define HISS_CONCAT(a, b) HISS_CONCAT_INNER(a, b)

// Returns the Status of `expression` from the calling function unless it is ok.
#define HISS_RETURN_IF_ERROR(expression)                                                  \
  do {                                                                                    \
    if (::hiss::Status hiss_status = (expression); !hiss_status.ok()) return hiss_status; \
  } while (false)

// HISS_ASSIGN_OR_RETURN(auto model, load(path)): the value, or return its error.
#define HISS_ASSIGN_OR_RETURN(declaration, expression) \
  HISS_ASSIGN_OR_RETURN_INNER(HISS_CONCAT(hiss_result_, __LINE__), declaration, expression)
#define HISS_ASSIGN_OR_RETURN_INNER(name, declaration, expression) \
  auto name = (expression);                                        \
  if (!name) return name.error();                                  \
  declaration = *std::move(name)
