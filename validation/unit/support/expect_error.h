// That a call is refused, and in which words.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace trireme::test {

/// `call` throws base::Error of this status, whose message holds all `parts`.
template <class Call>
void expect_error(base::Exit status, const std::vector<std::string>& parts, Call call) {
  try {
    call();
    ADD_FAILURE() << "no error; expected one that says " << parts.back();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), status) << error.what();
    for (const auto& part : parts) EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

}  // namespace trireme::test
