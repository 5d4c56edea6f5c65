// Writer of Megatron's token files (layout in token_file.h), one document a sequence.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/token_file.h"

namespace trireme::data {

/// A file that is written front to back as PATH.partial and gets its name at the end. Errors name the file and the system's
/// reason.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);  // refuses (bad_input) what cannot be created
  ~OutputFile();                                 // without publish(): removes what was written
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* bytes, std::size_t count);
  void sync();     // all is on the disk afterwards
  void publish();  // after sync

 private:
  void flush();

  std::string path_, partial_;
  int file_;
  std::vector<char> buffer_;
};

/// Streams documents, one after the other. A process that was killed leaves no half file under a final name, a writer that is
/// given up leaves nothing. Memory: 4 bytes a document.
class TokenWriter {
 public:
  /// ids are 0 .. vocabulary-1: written as uint16 below 65500 of them, else as int32, the rule of Megatron's preprocessing.
  /// Refuses (bad_input) a prefix of which a file exists, or whose folder cannot be written.
  TokenWriter(const std::string& prefix, std::int64_t vocabulary);

  void append(std::span<const std::int32_t> ids);  // to the document at hand
  void end_document();
  void finish();

 private:
  void write_index();

  IdType type_;
  OutputFile bin_, idx_;
  std::int64_t length_ = 0;            // tokens of the document at hand
  std::vector<std::int32_t> lengths_;  // [documents]
};

}  // namespace trireme::data
