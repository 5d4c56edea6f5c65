// trireme prepare TEXT... --output PREFIX [--tokenizer bytes]: texts into a token file, one document a text.
#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/new_folders.h"
#include "base/output_file.h"
#include "base/progress.h"
#include "base/text.h"
#include "command/arguments.h"
#include "command/commands.h"
#include "data/entropy.h"
#include "data/text_file.h"
#include "data/token_writer.h"

namespace trireme::command {
namespace {

constexpr std::int64_t byte_vocabulary = 256;
constexpr std::size_t block_bytes = 65536;
constexpr std::int64_t entropy_tokens = 1'000'000;  // from here on counts of three tokens mean something

struct Options {
  std::vector<std::string> texts;
  std::string output, tokenizer = "bytes";
};

/// All of them, before anything is written.
std::vector<base::MappedFile> open_texts(const std::vector<std::string>& paths) {
  std::vector<base::MappedFile> texts;
  for (const std::string& path : paths) texts.push_back(data::open_text(path));
  return texts;
}

std::int64_t total_bytes(const std::vector<base::MappedFile>& texts) {
  std::int64_t total = 0;
  for (const base::MappedFile& text : texts) total += std::ssize(text.bytes());
  return total;
}

/// The folder for the files. A prefix is a file's name without ending.
std::string folder_of(const std::string& output) {
  base::refuse_unexpanded(output);
  const std::filesystem::path path(output);
  if (path.filename().empty() || output.ends_with(".bin") || output.ends_with(".idx"))
    base::refuse("error: --output \"{}\": expected a prefix such as data/mine, which makes data/mine.bin and data/mine.idx",
                 output);
  return path.parent_path();
}

void write_tokens(const Options& options) {
  const std::vector<base::MappedFile> texts = open_texts(options.texts);
  const base::NewFolders made(folder_of(options.output));
  data::TokenWriter writer(options.output, byte_vocabulary);
  std::array counters = {data::EntropyCounter(0), data::EntropyCounter(1), data::EntropyCounter(2), data::EntropyCounter(3)};
  base::ShownProgress progress("prepare", total_bytes(texts));
  std::int64_t tokens = 0;
  std::vector<std::int32_t> ids;
  for (const base::MappedFile& text : texts) {
    const auto bytes = text.bytes();
    for (std::size_t first = 0; first < bytes.size(); first += block_bytes) {
      const auto block = bytes.subspan(first, std::min(block_bytes, bytes.size() - first));
      ids.resize(block.size());
      std::transform(block.begin(), block.end(), ids.begin(), [](std::byte byte) { return std::to_integer<std::int32_t>(byte); });
      writer.append(ids);
      for (auto& counter : counters) counter.add(ids);
      tokens += std::ssize(ids);
      progress.add(std::ssize(ids));
    }
    writer.end_document();
  }
  writer.finish();
  fmt::print("{0}.bin, {0}.idx: {1}, {2} (bytes, vocabulary {3})\n", options.output, base::counted(std::ssize(texts), "document"),
             base::counted(tokens, "token"), byte_vocabulary);
  fmt::print("entropy of a token, given the k before it, in nats:");
  for (std::size_t k = 0; k < counters.size(); ++k) fmt::print("{} k={} {:.4f}", k == 0 ? "" : ",", k, counters[k].nats());
  fmt::print("\n");
  if (tokens < entropy_tokens) fmt::print("(counted on a short text, so too low where k > 0)\n");
}

}  // namespace

int prepare(int argc, char** argv) {
  Options options;
  CLI::App app("Makes a token file for training of plain text. Each text is one document.", "trireme prepare");
  app.add_option("TEXT", options.texts, "plain text files: not compressed, no JSON, no pipes")->required();
  app.add_option("--output", options.output, "where the tokens go: PREFIX.bin and PREFIX.idx, which must not exist yet")
      ->option_text("PREFIX")
      ->required();
  app.add_option("--tokenizer", options.tokenizer,
                 "how text becomes tokens; bytes: each byte is a token, so model.vocabulary = 256")
      ->option_text("NAME")
      ->capture_default_str();
  const std::string help = parse(app, argc, argv);
  if (!help.empty()) {
    fmt::print("{}", help);
    return 0;
  }
  if (options.tokenizer != "bytes") base::refuse("--tokenizer {}: only bytes is built yet", options.tokenizer);
  write_tokens(options);
  return 0;
}

}  // namespace trireme::command
