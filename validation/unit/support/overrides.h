// Words of a command line that tests share, and change.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace trireme::test {

/// `words`, and `more` behind them; a "key=value" of `more` takes the place of one with its key, which may be given once only.
inline std::vector<std::string> with_values(std::vector<std::string> words, const std::vector<std::string>& more) {
  for (const std::string& word : more) {
    const std::string key = word.substr(0, word.find('=') + 1);
    std::erase_if(words, [&](const std::string& other) { return !key.empty() && other.starts_with(key); });
    words.push_back(word);
  }
  return words;
}

}  // namespace trireme::test
