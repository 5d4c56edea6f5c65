// Writer of Megatron's token files (layout in token_file.h), one document a sequence.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/new_file.h"
#include "data/token_file.h"

namespace trireme::data {

/// A new file that is written front to back in large pieces.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);  // refuses (bad_input) what cannot be created

  void write(const void* bytes, std::size_t count);
  void complete();  // all of it durable
  void publish();   // refuses a name that was taken meanwhile

 private:
  void flush();

  base::NewFile file_;
  std::vector<char> buffer_;
};

/// Streams documents, one after the other. A process that was killed leaves no half file under a final name, a writer that is
/// given up leaves nothing, and of several that write one prefix at once the first to end makes it. Memory: 4 bytes a document.
class TokenWriter {
 public:
  /// ids are 0 .. vocabulary-1: written as uint16 below 65500 of them, else as int32, the rule of Megatron's preprocessing.
  /// Refuses (bad_input) a prefix of which a file exists, or whose folder cannot be written.
  TokenWriter(const std::string& prefix, std::int64_t vocabulary);

  void append(std::span<const std::int32_t> ids);  // to the document at hand
  void end_document();
  /// Both files or none.
  void finish();

 private:
  void write_index();

  IdType type_;
  std::string prefix_;
  OutputFile bin_, idx_;
  std::int64_t length_ = 0;            // tokens of the document at hand
  std::vector<std::int32_t> lengths_;  // [documents]
};

}  // namespace trireme::data
