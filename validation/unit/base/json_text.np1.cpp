// JSON from outside. Oracles: limits counted by hand, positions counted by hand, and the values that the texts spell.
#include "base/json_text.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "store/gpt2_config.h"
#include "store/manifest.h"
#include "store/safetensors.h"
#include "validation/unit/support/expect_error.h"
#include "validation/unit/support/process.h"
#include "view/run_charts.h"

namespace trireme::base {
namespace {

using nlohmann::json;
using test::expect_error;

std::string brackets(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(JsonText, ReadsAnObjectAndKeepsTheOrderWhereThatIsAsked) {
  EXPECT_EQ(json_object<json>(R"({"b": [1, {"c": "\u00e9"}], "a": null})", "f").dump(),
            "{\"a\":null,\"b\":[1,{\"c\":\"\u00e9\"}]}");
  EXPECT_EQ(json_object<nlohmann::ordered_json>(R"({"b": 1, "a": 2})", "f").dump(), R"({"b":1,"a":2})");
}

TEST(JsonText, RefusesWhatIsNestedTooDeepAndSaysWhere) {
  EXPECT_EQ(json_object<json>("{\"k\":" + brackets(99) + "}", "f").size(), 1u);  // 100 with the object's own
  expect_error(Exit::bad_input, {"f: line 2, column 105: brackets are nested more than 100 deep"},
               [] { json_object<json>("\n{\"k\":" + brackets(100) + "}", "f"); });
  // What stands in quotes is no bracket, also behind a quote that a backslash hides; one that hides a backslash hides nothing
  // else.
  EXPECT_EQ(json_object<json>("{\"" + brackets(200) + "\": \"\\\"" + brackets(200) + "\"}", "f").size(), 1u);
  expect_error(Exit::bad_input, {"f: ", "nested"}, [] { json_object<json>(R"({"k\\":)" + brackets(100) + "}", "f"); });
}

TEST(JsonText, RefusesWhatIsNoObjectWithItsPlaceAndTheStatusThatIsAsked) {
  expect_error(Exit::mismatch, {"f: not JSON, or cut or damaged: ", "line 3, column 1"},
               [] { json_object<json>("{\n\"a\": 1,\n}", "f", Exit::mismatch); });
  for (const char* text : {"", "{", "{} {}", "\xff", "{\"a\": 1e999}", "nothing"})
    expect_error(Exit::bad_input, {"f: not JSON, or cut or damaged: "}, [&] { json_object<json>(text, "f"); });
  for (const char* text : {"[]", "1", "null", "\"text\""})
    expect_error(Exit::bad_input, {"f: not a JSON object"}, [&] { json_object<json>(text, "f"); });
  try {
    json_object<json>("{\"" + std::string(1000000, 'x'), "f");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_LT(std::string(error.what()).size(), 1000u);
  }
}

TEST(JsonText, LetsWhatLooksAtTheParserRefuse) {
  const auto look = [](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::key && value == "b") refuse("no b here");
    return true;
  };
  EXPECT_EQ(json_object<json>(R"({"a": 1})", "f", Exit::bad_input, look).size(), 1u);
  expect_error(Exit::bad_input, {"no b here"}, [&] { json_object<json>(R"({"b": 1})", "f", Exit::bad_input, look); });
}

/// Readers of files, each with its status. 257 MiB of blanks are refused before they are looked at.
TEST(JsonText, HoldsEveryReaderToTheSameSize) {
  const test::Folder folder;
  const std::string big = folder / "big.index.json", weights = folder / "big.safetensors", why = "is larger than 256.0 MiB";
  constexpr std::uint64_t length = std::uint64_t{257} << 20;
  std::ofstream(big) << "{}";
  std::filesystem::resize_file(big, length);
  std::ofstream(weights, std::ios::binary).write(reinterpret_cast<const char*>(&length), sizeof length);
  std::filesystem::resize_file(weights, length + 8);
  expect_error(Exit::bad_input, {weights + ": its header", why}, [&] { store::SafetensorsReader reader(weights); });
  expect_error(Exit::bad_input, {big, why}, [&] { store::SafetensorsReader reader(big); });
  expect_error(Exit::bad_input, {big, why}, [&] { store::read_gpt2_config(big); });
  const std::string text(length, ' ');
  expect_error(Exit::mismatch, {"manifest.json", why}, [&] { store::manifest(text, "manifest.json"); });
  expect_error(Exit::mismatch, {"a record", why}, [&] { store::file_record(text, "a record"); });
  expect_error(Exit::bad_input, {"entropy.json", why}, [&] { view::parse_entropy(text, "entropy.json"); });
}

}  // namespace
}  // namespace trireme::base
