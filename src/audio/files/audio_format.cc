// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/files/audio_format.h"

#include <sndfile.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <vector>

namespace hiss::audio {
namespace {

struct Container {
  std::string_view name;  // also the file extension
  int format;             // SF_FORMAT_TYPEMASK bits, and those of the one sample format it has
};
constexpr Container kContainers[] = {
    {"wav", SF_FORMAT_WAV},
    {"wave", SF_FORMAT_WAV},
    {"rf64", SF_FORMAT_RF64},
    {"w64", SF_FORMAT_W64},
    {"aiff", SF_FORMAT_AIFF},
    {"aif", SF_FORMAT_AIFF},
    {"aifc", SF_FORMAT_AIFF},
    {"caf", SF_FORMAT_CAF},
    {"au", SF_FORMAT_AU},
    {"snd", SF_FORMAT_AU},
    {"flac", SF_FORMAT_FLAC},
    {"ogg", SF_FORMAT_OGG},
    {"oga", SF_FORMAT_OGG},
    {"opus", SF_FORMAT_OGG | SF_FORMAT_OPUS},
    {"mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III},
};

struct SampleFormat {
  std::string_view name;
  int format;  // SF_FORMAT_SUBMASK bits
};
constexpr SampleFormat kSampleFormats[] = {
    {"u8", SF_FORMAT_PCM_U8},          {"s8", SF_FORMAT_PCM_S8},     {"pcm16", SF_FORMAT_PCM_16},
    {"pcm24", SF_FORMAT_PCM_24},       {"pcm32", SF_FORMAT_PCM_32},  {"float", SF_FORMAT_FLOAT},
    {"double", SF_FORMAT_DOUBLE},      {"vorbis", SF_FORMAT_VORBIS}, {"opus", SF_FORMAT_OPUS},
    {"mp3", SF_FORMAT_MPEG_LAYER_III},
};

template <class Row, size_t N>
const Row* find_row(const Row (&rows)[N], std::string_view name) {
  const Row* row = std::ranges::find(rows, name, &Row::name);
  return row == std::end(rows) ? nullptr : row;
}

template <class Row, size_t N>
std::string names(const Row (&rows)[N]) {
  std::string text;
  for (const Row& row : rows) text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

std::string extension(const std::string& path) {
  std::string text = std::filesystem::path(path).extension().string();
  if (!text.empty()) text.erase(0, 1);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// EXTENSIBLE and RF64 are WAV files to their owners.
int family(int format) {
  const int type = format & SF_FORMAT_TYPEMASK;
  return type == SF_FORMAT_WAVEX || type == SF_FORMAT_RF64 ? SF_FORMAT_WAV : type;
}

// libsndfile writes ALAC by way of a file in /tmp: it crashes when that disk is full, and leaves
// the file behind when a signal ends the program.
bool is_alac(int format) {
  const int subtype = format & SF_FORMAT_SUBMASK;
  return subtype >= SF_FORMAT_ALAC_16 && subtype <= SF_FORMAT_ALAC_32;
}

bool can_write(int format, const AudioInfo& input) {
  if (is_alac(format)) return false;
  SF_INFO info{};
  info.samplerate = input.sample_rate;
  info.channels = input.channels;
  info.format = format;
  return sf_format_check(&info);
}

// What may stand for a sample format where a container does not have it, best first. Lossy formats
// were decoded to floats.
std::vector<int> stand_ins(int subtype) {
  switch (subtype) {
    case SF_FORMAT_PCM_U8:
    case SF_FORMAT_PCM_S8:
      return {SF_FORMAT_PCM_U8, SF_FORMAT_PCM_S8, SF_FORMAT_PCM_16};
    case SF_FORMAT_PCM_16:
    case SF_FORMAT_ALAC_16:
    case SF_FORMAT_ULAW:
    case SF_FORMAT_ALAW:
    case SF_FORMAT_IMA_ADPCM:
    case SF_FORMAT_MS_ADPCM:
    case SF_FORMAT_GSM610:
      return {SF_FORMAT_PCM_16, SF_FORMAT_PCM_24};
    case SF_FORMAT_PCM_24:
    case SF_FORMAT_ALAC_20:
    case SF_FORMAT_ALAC_24:
      return {SF_FORMAT_PCM_24, SF_FORMAT_PCM_32};
    case SF_FORMAT_PCM_32:
    case SF_FORMAT_ALAC_32:
      return {SF_FORMAT_PCM_32, SF_FORMAT_DOUBLE, SF_FORMAT_PCM_24};
    case SF_FORMAT_DOUBLE:
      return {SF_FORMAT_DOUBLE, SF_FORMAT_FLOAT, SF_FORMAT_PCM_32, SF_FORMAT_PCM_24};
    default:
      return {SF_FORMAT_FLOAT, SF_FORMAT_PCM_24, SF_FORMAT_PCM_16};
  }
}

Result<int> choose_container(const std::string& path, const AudioInfo& input,
                             const std::string& asked) {
  if (!asked.empty()) {
    const Container* row = find_row(kContainers, asked);
    if (row) return row->format;
    return InvalidArgument("container: got '" + asked + "', want one of " + names(kContainers));
  }
  const Container* row = find_row(kContainers, extension(path));
  const int own = input.format & SF_FORMAT_TYPEMASK;
  if (!row) return own;
  const bool one_codec = row->format & SF_FORMAT_SUBMASK;
  return one_codec || family(row->format) != family(own) ? row->format : own;
}

}  // namespace

SampleKind sample_kind(int format) {
  switch (format & SF_FORMAT_SUBMASK) {
    case SF_FORMAT_PCM_U8:
    case SF_FORMAT_PCM_S8:
    case SF_FORMAT_DPCM_8:
      return {SampleKind::kInteger, 8};
    case SF_FORMAT_DWVW_12:
      return {SampleKind::kInteger, 12};
    case SF_FORMAT_ALAC_20:
      return {SampleKind::kInteger, 20};
    case SF_FORMAT_PCM_24:
    case SF_FORMAT_ALAC_24:
    case SF_FORMAT_DWVW_24:
      return {SampleKind::kInteger, 24};
    case SF_FORMAT_PCM_32:
    case SF_FORMAT_ALAC_32:
      return {SampleKind::kInteger, 32};
    case SF_FORMAT_FLOAT:
    case SF_FORMAT_DOUBLE:
      return {SampleKind::kFloat, 0};
    case SF_FORMAT_VORBIS:
    case SF_FORMAT_OPUS:
    case SF_FORMAT_MPEG_LAYER_I:
    case SF_FORMAT_MPEG_LAYER_II:
    case SF_FORMAT_MPEG_LAYER_III:
      return {SampleKind::kLossy, 0};
    default:  // 16-bit PCM and all that is made of it: companded, ADPCM, GSM ...
      return {SampleKind::kInteger, 16};
  }
}

std::string container_name(int format) {
  SF_FORMAT_INFO row{format & SF_FORMAT_TYPEMASK, nullptr, nullptr};
  sf_command(nullptr, SFC_GET_FORMAT_INFO, &row, sizeof(row));
  return row.name ? row.name : "unknown container";
}

std::string sample_format_name(int format) {
  SF_FORMAT_INFO row{format & SF_FORMAT_SUBMASK, nullptr, nullptr};
  sf_command(nullptr, SFC_GET_FORMAT_INFO, &row, sizeof(row));
  return row.name ? row.name : "unknown samples";
}

Result<FormatChoice> choose_format(const std::string& path, const AudioInfo& input,
                                   const AudioWriterOptions& options) {
  HISS_ASSIGN_OR_RETURN(const int container, choose_container(path, input, options.container));
  const int type = container & SF_FORMAT_TYPEMASK;
  const std::string holds = path + ": " + container_name(type) + " cannot hold " +
                            std::to_string(input.channels) + " channels of ";
  if (!options.sample_format.empty()) {
    const SampleFormat* row = find_row(kSampleFormats, options.sample_format);
    if (!row) {
      return InvalidArgument("sample_format: got '" + options.sample_format + "', want one of " +
                             names(kSampleFormats));
    }
    if (!can_write(type | row->format, input))
      return Unsupported(holds + sample_format_name(row->format));
    return FormatChoice{.format = type | row->format};
  }

  if (family(type) == family(input.format)) {
    const int same = type | (input.format & (SF_FORMAT_SUBMASK | SF_FORMAT_ENDMASK));
    const bool other_codec = (container & SF_FORMAT_SUBMASK) &&
                             (container & SF_FORMAT_SUBMASK) != (input.format & SF_FORMAT_SUBMASK);
    if (!other_codec && can_write(same, input)) return FormatChoice{.format = same};
  }
  const int subtype = input.format & SF_FORMAT_SUBMASK;
  std::vector<int> candidates = {subtype};
  if (container & SF_FORMAT_SUBMASK) candidates = {container & SF_FORMAT_SUBMASK};
  if (type == SF_FORMAT_OGG && candidates[0] == subtype) candidates.push_back(SF_FORMAT_VORBIS);
  std::ranges::copy(stand_ins(subtype), std::back_inserter(candidates));
  for (const int candidate : candidates) {
    if (!can_write(type | candidate, input)) continue;
    // Between lossy and lossless files a change is in the nature of the wish.
    const bool asked_for = candidate == subtype ||
                           sample_kind(candidate).kind == SampleKind::kLossy ||
                           sample_kind(subtype).kind == SampleKind::kLossy;
    return FormatChoice{.format = type | candidate,
                        .note = asked_for
                                    ? ""
                                    : "samples are written as " + sample_format_name(candidate) +
                                          ": " + container_name(type) + " with " +
                                          sample_format_name(subtype) + " is not written"};
  }
  return Unsupported(holds + sample_format_name(subtype));
}

}  // namespace hiss::audio
