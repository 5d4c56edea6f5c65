// The documents hold what they say: the commands of every README run as printed and print what the page shows, targets and files
// that a page names exist, and every page keeps to its length. Oracle: the pages.
#include <regex>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "validation/unit/support/page.h"
#include "validation/unit/support/process.h"

namespace trireme::test {
namespace {

/// The folder that holds the Makefile: tests are started there.
fs::path project() { return fs::current_path(); }

/// A copy of the project's folder, made of links, in which commands may leave files; `mpiexec` is the launcher of these tests.
void make_scratch(const Folder& folder) {
  for (const auto& entry : fs::directory_iterator(project())) {
    const std::string name = entry.path().filename().string();
    if (name != "runs" && name != "data" && name != ".git" && name != "build")
      fs::create_symlink(entry.path(), folder.path() / name);
  }
  fs::create_directories(folder.path() / "build");
  fs::create_symlink(fs::absolute(program()), folder.path() / "build/trireme");
  fs::create_directories(folder.path() / "bin");
  std::ofstream(folder / "bin/mpiexec") << fmt::format("#!/bin/sh\nexec {} \"$@\"\n", launcher());
  fs::permissions(folder / "bin/mpiexec", fs::perms::owner_all);
}

Result run_commands(const std::string& commands, const Folder& scratch) {
  const std::string script =
      fmt::format("set -e -o pipefail; cd '{0}'; export PATH='{0}/bin':$PATH\n{1}", scratch.path().string(), commands);
  const Folder outputs;
  return Process({"bash", "-c", script}, outputs).wait(100);
}

std::set<std::string> make_targets() {
  std::set<std::string> targets;
  std::istringstream lines(read_text(project() / "Makefile"));
  const std::regex target("([a-z-]+):.*");
  std::smatch found;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, found, target)) targets.insert(found[1]);
  return targets;
}

/// `command`: a line of a block, or code within a sentence.
void expect_targets_exist(const std::string& command, const std::string& where) {
  static const std::set<std::string> targets = make_targets();
  static const std::regex make("(^|.*[;&|] *)make((?: +[^ ;&|#]+)*).*"), word("[a-z][a-z-]*");
  std::smatch found;
  if (!std::regex_match(command, found, make)) return;
  std::istringstream words(found[2].str());
  for (std::string name; words >> name;)
    EXPECT_TRUE(!std::regex_match(name, word) || targets.contains(name)) << where << ": make has no target '" << name << "'";
}

/// Code within a sentence that looks like a file of the project, named from the project's folder or from the page's.
void expect_file_exists(const std::string& code, const Page& page) {
  static const std::regex file("(src|kernels|input|jobscripts|validation)/[A-Za-z0-9_./-]*[a-z0-9/]");
  static const std::regex placeholder(".*(NAME|FOLDER|LAYER).*");
  const fs::path folder = project() / fs::path(page.path).parent_path();
  if (std::regex_match(code, file) && !std::regex_match(code, placeholder)) {
    EXPECT_TRUE(fs::exists(project() / code) || fs::exists(folder / code)) << page.path << ": there is no " << code;
  }
}

void expect_marked(const Block& block, const Page& page) {
  EXPECT_FALSE(block.mark.empty()) << page.path << ":" << block.line << ": no mark says whether these commands are run by a test";
  EXPECT_TRUE(block.is_run() || block.mark.starts_with("not run: ")) << page.path << ":" << block.line << ": " << block.mark;
}

TEST(Documents, EveryCommandRunsAsPrinted) {
  for (const std::string& path : all_pages(project())) {
    const Folder scratch;
    make_scratch(scratch);
    for (const Block& block : read_page(project(), path).blocks) {
      if (!block.is_run()) continue;
      const Result result = run_commands(block.commands, scratch);
      const std::string where = fmt::format("{}:{}:\n{}", path, block.line, block.commands);
      EXPECT_EQ(result.status, block.status()) << where << result.out << result.err;
      EXPECT_EQ(first_missing_line(block.output, result.out + result.err, block.varying()), "")
          << where << result.out << result.err;
    }
  }
}

TEST(Documents, EveryBlockOfCommandsSaysWhetherItIsRun) {
  for (const std::string& path : all_pages(project())) {
    const Page page = read_page(project(), path);
    for (const Block& block : page.blocks) expect_marked(block, page);
  }
}

TEST(Documents, NothingIsSaidToVaryThatIsNotShown) {
  for (const std::string& path : all_pages(project()))
    for (const Block& block : read_page(project(), path).blocks)
      for (const std::string& piece : block.varying())
        EXPECT_NE(normal(block.output).find(piece), std::string::npos) << path << ":" << block.line << ": " << piece;
}

TEST(Documents, NameTargetsAndFilesThatExist) {
  for (const std::string& path : all_pages(project())) {
    const Page page = read_page(project(), path);
    for (const std::string& code : page.spans) {
      expect_targets_exist(code, path);
      expect_file_exists(code, page);
    }
    for (const Block& block : page.blocks) {
      std::istringstream lines(block.commands);
      for (std::string line; std::getline(lines, line);) expect_targets_exist(line, fmt::format("{}:{}", path, block.line));
    }
  }
}

TEST(Documents, TheFirstPageIsShort) { EXPECT_LE(read_page(project(), "README.md").lines.size(), 110U); }

TEST(Documents, LinksLeadSomewhere) {
  const std::regex link("\\]\\(([^)#:]+)(#[^)]*)?\\)");
  for (const std::string& path : all_pages(project())) {
    const fs::path folder = project() / fs::path(path).parent_path();
    for (const std::string& line : read_page(project(), path).lines)
      for (std::sregex_iterator it(line.begin(), line.end(), link), end; it != end; ++it)
        EXPECT_TRUE(fs::exists(folder / (*it)[1].str())) << path << ": " << (*it)[0].str();
  }
}

// The tests' own rules, on pages made for them.
TEST(Page, KnowsMarksCommandsAndOutputs) {
  const Folder folder;
  std::ofstream(folder / "README.md") << "Say `make run`.\n<!-- run: exit 2 -->\n```sh\nfalse\n```\n\n```text\nfoo 12.5 ms\n```\n"
                                      << "```sh\ntrue\n```\n<!-- not run: needs a cluster -->\n```sh\nsbatch x\n```\n";
  const Page page = read_page(folder.path(), "README.md");
  ASSERT_EQ(page.blocks.size(), 3U);
  EXPECT_EQ(page.blocks[0].commands, "false\n");
  EXPECT_EQ(page.blocks[0].status(), 2);
  EXPECT_EQ(page.blocks[0].output, "foo 12.5 ms\n");
  EXPECT_EQ(page.blocks[0].line, 4);
  EXPECT_EQ(page.blocks[1].mark, "");
  EXPECT_FALSE(page.blocks[2].is_run());
  EXPECT_EQ(page.spans, std::vector<std::string>{"make run"});
}

TEST(Page, ComparesOutputsButForSpaceAndWhatVaries) {
  const std::string printed = "step 1/20  loss 5.61\nstep 2/20  loss 5.02\ndone, 3 files (all)\n";
  EXPECT_EQ(first_missing_line("step 1/20 loss 5.61\n...\ndone, ...\n", printed), "");
  EXPECT_EQ(first_missing_line("step 1/20 loss 0.1\n", printed, {"loss 0.1"}), "");
  EXPECT_EQ(first_missing_line("step 1/20 loss 0.1\n", printed), "step 1/20 loss 0.1") << "a number that is not said to vary";
  EXPECT_EQ(first_missing_line("step 7/20 loss 0.1\n", printed, {"loss 0.1"}), "step 7/20 loss 0.1") << "another number";
  EXPECT_EQ(first_missing_line("done, 3 files (all)\n", printed), "") << "signs are themselves";
  EXPECT_EQ(first_missing_line("done. 3 files (all)\n", printed), "done. 3 files (all)");
  EXPECT_EQ(first_missing_line("step 1/20  losses 5.61\n", printed), "step 1/20  losses 5.61");
  EXPECT_EQ(first_missing_line("done, ...\nstep 1/20 ...\n", printed), "step 1/20 ...") << "in this order";
  EXPECT_EQ(first_missing_line("step ...\nstep ...\nstep ...\n", printed), "step ...");
  const Block block{1, "run: exit 3; varies: 83 ms, loss 5.5 at 3", "", ""};
  EXPECT_EQ(block.varying(), (std::vector<std::string>{"83 ms", "loss 5.5 at 3"}));
  EXPECT_EQ(block.status(), 3);
  EXPECT_TRUE(block.is_run());
}

}  // namespace
}  // namespace trireme::test
