// Whether a text is well-formed XML of the plain kind that drawings are: elements, attributes in double quotes, text.
#pragma once

#include <cctype>
#include <string>
#include <vector>

namespace trireme::test {

/// What is wrong first, or nothing. Numbers that are none ("nan", "inf" in an attribute) count as wrong.
inline std::string xml_fault(const std::string& text) {
  std::vector<std::string> open;
  std::size_t at = 0, roots = 0;
  const auto reference = [&](std::size_t place) {  // an ampersand must begin &name;
    const auto end = text.find(';', place);
    return end != std::string::npos && end - place <= 6;
  };
  while (at < text.size()) {
    if (text[at] != '<') {
      if (open.empty() && !std::isspace(static_cast<unsigned char>(text[at]))) return "text outside the root";
      if (text[at] == '&' && !reference(at)) return "a bare ampersand";
      ++at;
      continue;
    }
    const bool closing = text[at + 1] == '/';
    at += closing ? 2 : 1;
    std::string name;
    while (at < text.size() && std::isalnum(static_cast<unsigned char>(text[at]))) name += text[at++];
    if (name.empty()) return "an element without a name at " + text.substr(at, 20);
    for (;;) {
      while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
      if (at >= text.size()) return "an element without end: " + name;
      if (text[at] == '>' || text[at] == '/') break;
      const auto equal = text.find("=\"", at);
      const auto end = equal == std::string::npos ? equal : text.find('"', equal + 2);
      if (end == std::string::npos) return "an attribute without a value in " + name;
      const std::string attribute = text.substr(at, equal - at), value = text.substr(equal + 2, end - equal - 2);
      if (attribute.find_first_of(" <>&") != std::string::npos) return "attribute " + attribute;
      if (value.find('<') != std::string::npos || value.find("nan") != std::string::npos ||
          value.find("inf") != std::string::npos)
        return attribute + "=" + value;
      at = end + 1;
    }
    if (closing) {
      if (open.empty() || open.back() != name) return "</" + name + "> closes nothing";
      open.pop_back();
    } else if (text[at] == '/') {
      ++at;
    } else {
      roots += open.empty();
      open.push_back(name);
    }
    if (text[at] != '>') return "an element without end: " + name;
    ++at;
  }
  return !open.empty() ? "<" + open.back() + "> is not closed" : roots != 1 ? "not one root" : "";
}

}  // namespace trireme::test
