// trireme checkpoint show|verify|import|export: one process, no MPI.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/file.h"
#include "base/new_file.h"
#include "base/new_folders.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/units.h"
#include "command/arguments.h"
#include "command/commands.h"
#include "command/outputs.h"
#include "config/reader.h"
#include "spec/parameters.h"
#include "store/checkpoint_folder.h"
#include "store/checkpoint_reader.h"
#include "store/gpt2_config.h"
#include "store/gpt2_folder.h"
#include "store/gpt2_names.h"
#include "view/checkpoint_text.h"

namespace trireme::command {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string checkpoint, model, dtype = "fp32";
  std::vector<std::string> overrides;
  bool tensors = false, config = false;
};

int show(const Arguments& arguments) {
  const store::CheckpointReader reader(store::find_checkpoint(arguments.checkpoint));
  const store::Manifest& manifest = reader.manifest();
  if (arguments.config) {
    fmt::print("{}", manifest.config);
    return 0;
  }
  fmt::print("{}", view::checkpoint_summary(reader.folder(), manifest));
  if (arguments.tensors) fmt::print("{}", view::tensor_table(manifest));
  return 0;
}

/// Of the values in all files.
std::int64_t value_bytes(const store::Manifest& manifest) {
  std::int64_t bytes = 0;
  for (const store::FileRecord& file : manifest.files)
    for (const store::SliceRecord& slice : file.slices) bytes += store::elements_of(slice.count) * std::int64_t{sizeof(float)};
  return bytes;
}

int verify(const Arguments& arguments) {
  const store::CheckpointReader reader(store::find_checkpoint(arguments.checkpoint));
  base::ShownProgress progress("checkpoint verify", value_bytes(reader.manifest()));
  const auto& files = reader.manifest().files;
  std::vector<std::string> faults;
  fmt::print("{}\n{}", reader.folder(), view::verdict_heading());
  const auto line = [&](const std::string& name, std::int64_t bytes, const std::vector<std::string>& found) {
    fmt::print("{}", view::verdict_line(name, bytes, found.empty()));
    std::fflush(stdout);  // large files take a while
    faults.insert(faults.end(), found.begin(), found.end());
  };
  for (std::size_t i = 0; i < files.size(); ++i)
    line(files[i].name, files[i].bytes, reader.verify_file(i, [&](std::int64_t bytes) { progress.add(bytes); }));
  line("checkpoint.h5", reader.manifest().master.bytes, reader.verify_master());
  if (faults.empty()) return 0;
  throw base::Error(base::Exit::mismatch, fmt::format("{}", fmt::join(faults, "\n")));
}

/// Refuses sizes that make no model.
config::Model checked(const config::Model& model, const std::string& source) {
  if (model.layers == 0 || model.hidden == 0 || model.sequence == 0 || model.vocabulary == 0)
    base::refuse("{}: not the sizes of a model: layers = {}, hidden = {}, sequence = {}, vocabulary = {}", source, model.layers,
                 model.hidden, model.sequence, model.vocabulary);
  if (model.heads == 0)
    base::refuse(
        "{}: nothing tells the number of heads, neither its metadata nor a config.json beside it: add heads=N to the command "
        "line",
        source);
  if (model.hidden % model.heads != 0)
    base::refuse("{}: model.heads = {} does not divide model.hidden = {}", source, model.heads, model.hidden);
  return model;
}

std::string model_text(const config::Model& model) {
  return fmt::format("[model]\nlayers = {}\nhidden = {}\nheads = {}\nsequence = {}\nvocabulary = {}\n", model.layers,
                     model.hidden, model.heads, model.sequence, model.vocabulary);
}

/// As the file shows it; `overrides` ("heads=12") tell what it does not.
config::Model imported_model(const std::string& path, const std::vector<std::string>& overrides) {
  if (overrides.size() > 1)
    base::refuse("error: trireme checkpoint: {}: only heads=N can be given, and once; the file tells the rest",
                 fmt::join(overrides, " "));
  config::Model model = store::gpt2_model(store::SafetensorsReader(path));
  for (const std::string& value : overrides) {
    if (!value.starts_with("heads=") && !value.starts_with("model.heads="))
      base::refuse("error: trireme checkpoint: {}: only heads=N can be given; the file tells the rest", value);
    model.heads = base::parse_count(value.substr(value.find('=') + 1));
    if (model.heads < 1) base::refuse("error: trireme checkpoint: {}: at least 1", value);
  }
  return checked(model, path);
}

store::TensorPart whole(const spec::Parameter& parameter, std::vector<float>& values) {
  values.resize(static_cast<std::size_t>(parameter.elements()));
  return {store::Quantity::parameters,
          parameter.name,
          parameter.shape,
          store::Shape(parameter.shape.size(), 0),
          parameter.shape,
          values.data()};
}

std::int64_t bytes_of(const std::vector<float>& values) { return std::ssize(values) * std::int64_t{sizeof(float)}; }

std::int64_t parameter_bytes(const config::Model& model) { return spec::parameter_count(model) * std::int64_t{sizeof(float)}; }

/// Everything but the name of the folder.
void write_imported(const std::string& folder, const store::Gpt2Weights& weights, const config::Model& model,
                    const std::string& source) {
  store::Manifest manifest;
  manifest.run_id = "imported from " + fs::path(source).filename().string();
  manifest.moments = false;
  manifest.config = model_text(model);
  store::ShardWriter writer(folder, {manifest.run_id, 0, 0, 0, 0});
  base::ShownProgress progress("checkpoint import", parameter_bytes(model));
  std::vector<float> values;
  for (const spec::Parameter& parameter : spec::model_parameters(model)) {
    const store::TensorPart part = whole(parameter, values);
    weights.read(parameter, {part.start, part.count, 0}, part.data);
    writer.write(part);
    progress.add(bytes_of(values));
    manifest.tensors.push_back({parameter.name, parameter.shape});
  }
  manifest.files.push_back(writer.finish());
  store::complete(folder, std::move(manifest));
}

int import_model(const Arguments& arguments) {
  base::refuse_unexpanded(arguments.checkpoint);
  std::string path = arguments.checkpoint;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (fs::exists(fs::symlink_status(path))) base::refuse("{}: exists already; choose another folder", path);
  const std::string source = store::find_gpt2(arguments.model);
  if (source.empty()) base::refuse("{}: this folder holds no .safetensors file", arguments.model);
  const config::Model model = imported_model(source, arguments.overrides);
  const store::Gpt2Weights weights(source, spec::model_parameters(model));
  const base::NewFolders above(fs::path(path).parent_path());
  const std::string partial = base::make_partial_folder(path);
  try {
    write_imported(partial, weights, model, source);
    base::name_first(partial, path);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    throw;
  }
  base::sync_folder(fs::path(path).parent_path().string());
  fmt::print("{}: {} in {}\n", path, base::counted(spec::parameter_count(model), "parameter"),
             base::counted(model.layers, "layer"));
  return 0;
}

std::vector<std::string> files_of(const store::CheckpointReader& reader) {
  std::vector<std::string> files = {reader.folder() + "/manifest.json", reader.folder() + "/checkpoint.h5"};
  for (const auto& file : reader.manifest().files) files.push_back(reader.folder() + "/" + file.name);
  return files;
}

/// Weights that changed on disk must not leave in a file that nobody can verify.
void refuse_damaged(const store::CheckpointReader& reader) {
  base::ShownProgress progress("checkpoint export, verifying", value_bytes(reader.manifest()));
  std::vector<std::string> faults;
  for (std::size_t i = 0; i < reader.manifest().files.size(); ++i)
    for (std::string& fault : reader.verify_file(i, [&](std::int64_t bytes) { progress.add(bytes); }))
      faults.push_back(std::move(fault));
  if (!faults.empty()) throw base::Error(base::Exit::mismatch, fmt::format("{}", fmt::join(faults, "\n")));
}

/// The file to write: MODEL itself, or in the folder MODEL the one that `from_pretrained` looks for. Refuses the name of a file
/// in another format, which would become the name of a folder.
std::string exported_file(const std::string& given) {
  for (const char* ending : {".bin", ".pt", ".pth", ".ckpt", ".h5", ".gguf", ".npz", ".json", ".safetensor"})
    if (given.ends_with(ending) && !fs::is_directory(given) && !fs::is_regular_file(given))
      base::refuse("{}: only .safetensors can be written; give a name that ends so, or that of a folder", given);
  const bool is_file = given.ends_with(".safetensors") || (fs::exists(given) && !fs::is_directory(given));
  return is_file ? given : (fs::path(given) / store::gpt2_file_name).string();
}

/// A checkpoint of another version may hold what GPT-2's format has no name for.
void refuse_other_tensors(const store::CheckpointReader& reader, const std::vector<spec::Parameter>& parameters) {
  for (const store::TensorRecord& tensor : reader.manifest().tensors)
    if (std::none_of(parameters.begin(), parameters.end(), [&](const auto& one) { return one.name == tensor.name; }))
      base::refuse("{}: holds the tensor {}, for which GPT-2's format has no name; nothing was written", reader.folder(),
                   tensor.name);
}

void write_exported(const store::CheckpointReader& reader, const config::Model& model, const std::string& file,
                    store::Dtype dtype) {
  const auto parameters = spec::model_parameters(model);
  base::ShownProgress progress("checkpoint export, writing", parameter_bytes(model));
  const auto writer = store::create_gpt2(file, parameters, dtype);
  std::vector<float> values;
  for (const spec::Parameter& parameter : parameters) {
    reader.read(whole(parameter, values));
    store::write_gpt2(*writer, parameter, values);
    progress.add(bytes_of(values));
  }
  writer->finish();
}

int export_model(const Arguments& arguments) {
  base::refuse_unexpanded(arguments.model);
  const std::map<std::string, store::Dtype> dtypes = {
      {"fp32", store::Dtype::fp32}, {"bf16", store::Dtype::bf16}, {"fp16", store::Dtype::fp16}};
  const store::CheckpointReader reader(store::find_checkpoint(arguments.checkpoint));
  const auto resolved = config::read_config(reader.folder() + ": its config", reader.manifest().config, {},
                                            config::Missing::allow, config::Unbuilt::allow);
  const config::Model model = checked(resolved.config.model, reader.folder() + ": its config");
  refuse_other_tensors(reader, spec::model_parameters(model));
  const std::string file = exported_file(arguments.model);
  const base::NewFolders made(file == arguments.model ? "" : arguments.model);
  check_outputs(files_of(reader), {{file, base::weights_file}});
  store::check_gpt2_pair(file, model);
  refuse_damaged(reader);
  write_exported(reader, model, file, dtypes.at(arguments.dtype));
  store::complete_gpt2_pair(file, model, dtypes.at(arguments.dtype));
  fmt::print("{}: step {} of {}, {}\n", file, reader.manifest().step, reader.folder(), arguments.dtype);
  return 0;
}

}  // namespace

int checkpoint(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Looks at checkpoints, and converts them from and to Hugging Face's GPT-2.", "trireme checkpoint");
  app.require_subcommand(1);
  const char* const which = "the folder of a checkpoint, or of a run: then its newest checkpoint";
  CLI::App* const shows = app.add_subcommand("show", "Shows what is in a checkpoint.");
  shows->add_option("STEP_DIR", arguments.checkpoint, which)->required();
  shows->add_flag("--tensors", arguments.tensors,
                  "also list each tensor, its shape, and the number of slices in which it is stored");
  shows->add_flag("--config", arguments.config, "print the configuration of its run, and nothing else");
  CLI::App* const verifies =
      app.add_subcommand("verify", "Checks every byte of a checkpoint. It names each file that is wrong, and then ends with 3.");
  verifies->add_option("STEP_DIR", arguments.checkpoint, which)->required();
  CLI::App* const imports =
      app.add_subcommand("import", "Makes a checkpoint of step 0, without moments, from the weights of a GPT-2.");
  imports
      ->add_option("MODEL", arguments.model,
                   "a .safetensors file, the .safetensors.index.json of several, or the folder of either")
      ->required();
  imports->add_option("STEP_DIR", arguments.checkpoint, "the folder of the checkpoint, which must not exist yet")->required();
  imports->add_option("heads=N", arguments.overrides,
                      "the number of heads. Needed only where neither the file nor a config.json beside it tells");
  CLI::App* const exports =
      app.add_subcommand("export", "Writes the weights of a checkpoint as a GPT-2 that Hugging Face's transformers read.");
  exports->add_option("STEP_DIR", arguments.checkpoint, which)->required();
  exports
      ->add_option(
          "MODEL", arguments.model,
          "the folder to write model.safetensors and config.json into, which from_pretrained reads; or a .safetensors file")
      ->required();
  exports->add_option("--dtype", arguments.dtype, "the type of the numbers; they are rounded to the nearest, ties to even")
      ->transform(CLI::IsMember({"fp32", "bf16", "fp16"}, CLI::ignore_case))
      ->capture_default_str();
  if (const std::string help = parse(app, argc, argv); !help.empty()) {
    fmt::print("{}", help);
    return 0;
  }
  if (shows->parsed()) return show(arguments);
  if (verifies->parsed()) return verify(arguments);
  return imports->parsed() ? import_model(arguments) : export_model(arguments);
}

}  // namespace trireme::command
