// Training against validation/cases: losses, gradient norms, learning rates and the norm of every gradient tensor, computed by an
// independent implementation in float64 (validation/reference), on every layout of this many ranks and in every compute type.
// Limits are those of each case's tolerance.toml, tolerance_bf16.toml and tolerance_fp16.toml, which give their reasons.
#pragma once

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "config/check.h"
#include "run/origin.h"
#include "run/sources.h"
#include "validation/unit/support/layouts.h"
#include "validation/unit/support/mpi_main.h"
#include "validation/unit/support/small_run.h"

namespace trireme::test {

using Row = std::vector<std::string>;

inline std::vector<Row> read_csv(const std::string& path) {
  std::ifstream file(path);
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  if (rows.size() < 2) throw std::runtime_error(path + ": no rows");
  rows.erase(rows.begin());
  return rows;
}

/// section -> relative limit, from lines "[section]" and "relative = x".
inline std::map<std::string, double> read_limits(const std::string& path) {
  std::ifstream file(path);
  std::map<std::string, double> limits;
  std::string section;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("[")) section = line.substr(1, line.find(']') - 1);
    if (line.starts_with("relative")) limits[section] = std::stod(line.substr(line.find('=') + 1));
  }
  return limits;
}

/// NaN fails.
inline void expect_relative(double ours, double reference, double limit, const std::string& what) {
  EXPECT_TRUE(std::abs(ours - reference) <= limit * std::abs(reference))
      << what << ": ours " << ours << ", reference " << reference << ", relative difference " << std::abs(ours / reference - 1)
      << " above " << limit;
}

/// A case and a compute type.
class Reference : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  std::string file(const std::string& name) const {
    return std::string("validation/cases/") + std::get<0>(GetParam()) + "/" + name;
  }
  std::string compute() const { return std::get<1>(GetParam()); }
  std::string limits_file() const { return file(compute() == "fp32" ? "tolerance.toml" : "tolerance_" + compute() + ".toml"); }

  void compare(const config::Resolved& resolved, const Layout& layout) {
    SCOPED_TRACE(layout.name());
    const config::Config& config = resolved.config;
    run::Origin origin;
    origin.file.emplace(config.model.initial, spec::model_parameters(config.model));
    train::Trainer trainer = make_trainer(world(), config, {}, run::state_source(origin));
    const auto limits = read_limits(limits_file());
    const auto steps = read_csv(file("reference.csv"));
    ASSERT_EQ(std::ssize(steps), config.run.steps);
    for (std::int64_t k = 0; k < config.run.steps; ++k) {
      const train::StepResult step = trainer.step(k);
      const std::string at = " at step " + steps[k][0];
      expect_relative(step.loss, std::stod(steps[k][1]), limits.at("loss"), "loss" + at);
      expect_relative(step.gradient_norm, std::stod(steps[k][2]), limits.at("grad_norm"), "gradient norm" + at);
      expect_relative(step.learning_rate, std::stod(steps[k][3]), limits.at("learning_rate"), "learning rate" + at);
      if (k == 0) compare_tensors(config, trainer.updater().gradient_norms(), limits.at("gradients"));
    }
  }

  void compare_tensors(const config::Config& config, const std::vector<double>& ours, double limit) {
    const auto parameters = spec::model_parameters(config.model);
    std::map<std::string, double> reference;
    for (const Row& row : read_csv(file("reference_gradients.csv"))) reference[row[0]] = std::stod(row[1]);
    ASSERT_EQ(reference.size(), parameters.size());
    for (std::size_t k = 0; k < parameters.size(); ++k)
      expect_relative(ours[k], reference.at(parameters[k].name), limit, "gradient of " + parameters[k].name);
  }
};

TEST_P(Reference, EveryLayoutTrainsAsTheReference) {
  const std::string input = file("input.toml");
  const std::string text = base::read_file(input);
  const auto alone = config::read_config(input, text, {});
  const auto all = layouts(alone.config, world().size());
  ASSERT_FALSE(all.empty());
  for (const Layout& layout : all) {
    std::vector<std::string> values = layout.overrides();
    values.push_back("precision.compute=" + compute());
    const auto resolved = config::read_config(input, text, values);
    check_layout(resolved, world().size());
    compare(resolved, layout);
  }
}

}  // namespace trireme::test

/// The file NAME.npN.cpp: the cases that have layouts of N ranks.
#define TRIREME_REFERENCE_TEST(ranks, ...)                                                                           \
  namespace trireme::test {                                                                                          \
  INSTANTIATE_TEST_SUITE_P(Cases, Reference,                                                                         \
                           testing::Combine(testing::Values(__VA_ARGS__), testing::Values("fp32", "bf16", "fp16"))); \
  }                                                                                                                  \
  TRIREME_TEST_MAIN(ranks)
