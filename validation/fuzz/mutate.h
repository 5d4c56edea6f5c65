// Damages a file, as a pure function of a seeded generator: bits, lengths, order, numbers.
#pragma once

#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace trireme::fuzz {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  /// One to four changes of `bytes`; `other`, a second file of the format, is what pieces are taken from.
  std::string operator()(std::string bytes, const std::string& other) {
    using Change = void (Mutator::*)(std::string&, const std::string&);
    constexpr Change changes[] = {&Mutator::flip,   &Mutator::flip,   &Mutator::cut,       &Mutator::repeat,
                                  &Mutator::splice, &Mutator::digits, &Mutator::digits,    &Mutator::binary,
                                  &Mutator::binary, &Mutator::insert, &Mutator::bracketed, &Mutator::remove_range};
    for (std::size_t k = 1 + below(4); k > 0; --k) (this->*changes[below(std::size(changes))])(bytes, other);
    return bytes;
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  std::size_t place(const std::string& bytes) { return below(bytes.size() + 1); }

  void flip(std::string& bytes, const std::string&) {
    if (bytes.empty()) return;
    char& byte = bytes[below(bytes.size())];
    byte = static_cast<char>(byte ^ (1 << below(8)));
  }
  void cut(std::string& bytes, const std::string&) { bytes.resize(place(bytes)); }
  void remove_range(std::string& bytes, const std::string&) { bytes.erase(place(bytes), 1 + below(16)); }
  void repeat(std::string& bytes, const std::string&) {
    const std::size_t from = place(bytes);
    bytes.insert(place(bytes), bytes.substr(from, 1 + below(64)));
  }
  void splice(std::string& bytes, const std::string& other) {
    bytes = bytes.substr(0, place(bytes)) + other.substr(place(other));
  }
  void insert(std::string& bytes, const std::string&) {
    const std::string chars = std::string("\0\n\r\t\"'\\,.:=#[]{}-+eE0", 21) + "\xff\xc3\xed";
    bytes.insert(place(bytes), 1 + below(8), chars[below(chars.size())]);
  }
  void bracketed(std::string& bytes, const std::string&) {
    const char* const pairs[] = {"[]", "{}"};
    const char* const pair = pairs[below(2)];
    const std::size_t depth = std::size_t{1} << below(17);
    bytes.insert(place(bytes), std::string(depth, pair[0]) + std::string(depth, pair[1]));
  }
  /// A number in the text becomes an extreme one.
  void digits(std::string& bytes, const std::string&) {
    constexpr const char* extremes[] = {"0",
                                        "-1",
                                        "-0",
                                        "4294967296",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "18446744073709551615",
                                        "1e999",
                                        "-1e999",
                                        "1e-400",
                                        "2147483648",
                                        "nan",
                                        "inf",
                                        "1.5",
                                        ""};
    const std::size_t begin = bytes.find_first_of("0123456789", place(bytes));
    if (begin == std::string::npos) return;
    const std::size_t end = bytes.find_first_not_of("0123456789", begin);
    bytes.replace(begin, (end == std::string::npos ? bytes.size() : end) - begin, extremes[below(std::size(extremes))]);
  }
  /// So does one of 1 to 8 bytes.
  void binary(std::string& bytes, const std::string&) {
    constexpr std::uint64_t extremes[] = {0,
                                          1,
                                          0x7f,
                                          0x80,
                                          0xff,
                                          0x7fffffff,
                                          0x80000000,
                                          0x7fffffffffffffff,
                                          0x8000000000000000,
                                          ~std::uint64_t{0},
                                          ~std::uint64_t{7}};
    const std::size_t width = std::size_t{1} << below(4);
    if (bytes.size() < width) return;
    std::memcpy(bytes.data() + below(bytes.size() - width + 1), &extremes[below(std::size(extremes))], width);
  }

  std::mt19937_64 random_;
};

}  // namespace trireme::fuzz
