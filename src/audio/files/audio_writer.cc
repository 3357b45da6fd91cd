// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "audio/files/aiff_length.h"
#include "audio/files/audio_format.h"
#include "audio/files/audio_reader.h"
#include "audio/files/sndfile_handle.h"
#include "audio/files/tags.h"

namespace hiss::audio {
namespace {

constexpr int64_t kLargestRiff = 0xffffffff - (int64_t{1} << 20);  // leaves room for the tags
constexpr double kLossyQuality = 0.8;                              // of Vorbis and MP3, 0 ... 1

// A sample as libsndfile's left-aligned 32-bit integer, rounded to `bits`, ties to even.
int32_t quantised(double x, int bits) {
  const double half = std::ldexp(1.0, bits - 1);
  const double rounded = std::isnan(x) ? 0 : std::clamp(std::nearbyint(x * half), -half, half - 1);
  return static_cast<int32_t>(static_cast<int64_t>(rounded) * (int64_t{1} << (32 - bits)));
}

// Bytes of the samples, at most.
int64_t bytes_of(const AudioInfo& info) {
  const int subtype = info.format & SF_FORMAT_SUBMASK;
  const SampleKind kind = sample_kind(info.format);
  const bool companded = subtype == SF_FORMAT_ULAW || subtype == SF_FORMAT_ALAW;
  const int bytes = companded                           ? 1
                    : kind.kind == SampleKind::kInteger ? (kind.bits + 7) / 8
                    : subtype == SF_FORMAT_DOUBLE       ? 8
                                                        : 4;
  return info.frames * info.channels * bytes;
}

class SndfileWriter final : public AudioWriter {
 public:
  SndfileWriter(OutputFile output, SndfileHandle handle, const AudioInfo& info,
                std::vector<std::string> notes)
      : output_(std::move(output)),
        handle_(std::move(handle)),
        info_(info),
        kind_(sample_kind(info.format)),
        notes_(std::move(notes)) {}

  const AudioInfo& info() const override { return info_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  Status write(std::span<const float> interleaved) override { return write_any(interleaved); }
  Status write(std::span<const double> interleaved) override { return write_any(interleaved); }
  int64_t limited_samples() const override { return limited_; }
  Status commit() override;

 private:
  template <class Sample>
  Status write_any(std::span<const Sample> interleaved);
  sf_count_t write_as_is(const float* x, int64_t n) { return sf_write_float(handle_.get(), x, n); }
  sf_count_t write_as_is(const double* x, int64_t n) {
    return sf_write_double(handle_.get(), x, n);
  }

  OutputFile output_;
  SndfileHandle handle_;  // closed before output_ is gone
  AudioInfo info_;
  SampleKind kind_;
  std::vector<std::string> notes_;
  int64_t limited_ = 0;
  std::vector<int> integers_;
  std::vector<float> limited_floats_;
};

template <class Sample>
Status SndfileWriter::write_any(std::span<const Sample> interleaved) {
  const int64_t n = static_cast<int64_t>(interleaved.size());
  sf_count_t written = 0;
  if (kind_.kind == SampleKind::kFloat) {
    written = write_as_is(interleaved.data(), n);
  } else {
    limited_ += std::ranges::count_if(interleaved, [](Sample x) { return std::abs(x) > 1; });
  }
  if (kind_.kind == SampleKind::kInteger) {
    integers_.resize(n);
    std::ranges::transform(interleaved, integers_.begin(),
                           [this](Sample x) { return quantised(x, kind_.bits); });
    written = sf_write_int(handle_.get(), integers_.data(), n);
  } else if (kind_.kind == SampleKind::kLossy) {
    limited_floats_.resize(n);
    std::ranges::transform(interleaved, limited_floats_.begin(), [](Sample x) {
      return std::isnan(x) ? 0.0f : static_cast<float>(std::clamp<Sample>(x, -1, 1));
    });
    written = sf_write_float(handle_.get(), limited_floats_.data(), n);
  }
  HISS_RETURN_IF_ERROR(handle_.error());
  if (written != n) return Internal(output_.path() + ": not all samples were written");
  info_.frames += n / info_.channels;
  return {};
}

Status SndfileWriter::commit() {
  HISS_RETURN_IF_ERROR(handle_.close());
  const bool aiff = (info_.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_AIFF;
  if (aiff && info_.channels == 1 && bytes_of(info_) == info_.frames) {
    HISS_RETURN_IF_ERROR(set_aiff_frames(output_.fd(), output_.path(), info_.frames));
  }
  // What a reader will find is the only proof that counts.
  HISS_ASSIGN_OR_RETURN(const SndfileHandle back,
                        SndfileHandle::open_read(output_.fd(), output_.path()));
  const SF_INFO& found = back.info();
  if (found.samplerate != info_.sample_rate || found.channels != info_.channels ||
      found.frames < info_.frames) {
    return Internal(output_.path() + ": reads back as " + std::to_string(found.frames) +
                    " frames, " + std::to_string(found.samplerate) + " Hz, " +
                    std::to_string(found.channels) + " channels");
  }
  return output_.commit();
}

bool is_riff(int format) {
  const int type = format & SF_FORMAT_TYPEMASK;
  return type == SF_FORMAT_WAV || type == SF_FORMAT_WAVEX || type == SF_FORMAT_AIFF;
}

}  // namespace

Result<std::unique_ptr<AudioWriter>> AudioWriter::create(const std::string& path,
                                                         const AudioReader& reader,
                                                         const AudioWriterOptions& options) {
  HISS_ASSIGN_OR_RETURN(FormatChoice choice, choose_format(path, reader.info(), options));
  AudioInfo info = reader.info();
  info.format = choice.format;
  if (is_riff(info.format) && bytes_of(info) > kLargestRiff) {
    if ((info.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_AIFF) {
      return Unsupported(path + ": AIFF cannot hold more than 4 GiB");
    }
    info.format = (info.format & ~(SF_FORMAT_TYPEMASK | SF_FORMAT_ENDMASK)) | SF_FORMAT_RF64;
  }

  HISS_ASSIGN_OR_RETURN(OutputFile output, OutputFile::create(path, {.force = options.force,
                                                                     .not_same = reader.path()}));
  SF_INFO wanted{};
  wanted.samplerate = info.sample_rate;
  wanted.channels = info.channels;
  wanted.format = info.format;
  HISS_ASSIGN_OR_RETURN(SndfileHandle handle, SndfileHandle::open_write(output.fd(), path, wanted));
  // The PEAK chunk holds the time of writing: the same input would not give the same file.
  sf_command(handle.get(), SFC_SET_ADD_PEAK_CHUNK, nullptr, SF_FALSE);
  if ((info.format & SF_FORMAT_SUBMASK) != SF_FORMAT_OPUS) {
    double quality = kLossyQuality;
    sf_command(handle.get(), SFC_SET_VBR_ENCODING_QUALITY, &quality, sizeof(quality));
  }

  std::vector<std::string> notes;
  if (!choice.note.empty()) notes.push_back(choice.note);
  SNDFILE* source = static_cast<const SndfileReader&>(reader).file();
  for (const std::string& name : copy_tags(source, handle.get(), info.channels)) {
    notes.push_back("tag not kept, as " + container_name(info.format) + " has none: " + name);
  }
  info.frames = 0;
  return std::unique_ptr<AudioWriter>(
      new SndfileWriter(std::move(output), std::move(handle), info, std::move(notes)));
}

}  // namespace hiss::audio
