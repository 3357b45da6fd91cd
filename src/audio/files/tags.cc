// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/files/tags.h"

#include <memory>

namespace hiss::audio {
namespace {

struct Text {
  int number;
  const char* name;
};
constexpr Text kTexts[] = {
    {SF_STR_TITLE, "title"},       {SF_STR_COPYRIGHT, "copyright"},
    {SF_STR_SOFTWARE, "software"}, {SF_STR_ARTIST, "artist"},
    {SF_STR_COMMENT, "comment"},   {SF_STR_DATE, "date"},
    {SF_STR_ALBUM, "album"},       {SF_STR_LICENSE, "license"},
    {SF_STR_GENRE, "genre"},       {SF_STR_TRACKNUMBER, "track number"},
};

constexpr int kLongHistory = 8192;  // libsndfile refuses 16384
using Broadcast = SF_BROADCAST_INFO_VAR(kLongHistory);
using Cart = SF_CART_INFO_VAR(kLongHistory);
using Cues = SF_CUES_VAR(1000);

// Copies a block of one type by the pair of commands that get and set it; false: it is there and
// cannot be kept. Such a block is too large for the stack.
template <class Block>
bool copy_block(SNDFILE* from, SNDFILE* to, int get, int set) {
  const auto block = std::make_unique<Block>();
  if (!sf_command(from, get, block.get(), sizeof(Block))) return true;
  return sf_command(to, set, block.get(), sizeof(Block)) == SF_TRUE;
}

bool copy_channel_map(SNDFILE* from, SNDFILE* to, int channels) {
  std::vector<int> map(channels);
  const int bytes = static_cast<int>(map.size() * sizeof(int));
  if (!sf_command(from, SFC_GET_CHANNEL_MAP_INFO, map.data(), bytes)) return true;
  return sf_command(to, SFC_SET_CHANNEL_MAP_INFO, map.data(), bytes) == SF_TRUE;
}

}  // namespace

std::vector<std::string> copy_tags(SNDFILE* from, SNDFILE* to, int channels) {
  std::vector<std::string> lost;
  for (const Text& text : kTexts) {
    const char* value = sf_get_string(from, text.number);
    if (value && sf_set_string(to, text.number, value) != 0) lost.push_back(text.name);
  }
  const auto keep = [&](bool kept, const char* name) {
    if (!kept) lost.push_back(name);
  };
  keep(copy_block<Broadcast>(from, to, SFC_GET_BROADCAST_INFO, SFC_SET_BROADCAST_INFO),
       "broadcast information");
  keep(copy_block<Cart>(from, to, SFC_GET_CART_INFO, SFC_SET_CART_INFO), "cart information");
  keep(copy_block<Cues>(from, to, SFC_GET_CUE, SFC_SET_CUE), "cue points");
  keep(copy_block<SF_INSTRUMENT>(from, to, SFC_GET_INSTRUMENT, SFC_SET_INSTRUMENT), "instrument");
  keep(copy_channel_map(from, to, channels), "channel map");
  return lost;
}

}  // namespace hiss::audio
