// config.json of Hugging Face's GPT-2, which lies beside the weights: what it says about the function that they are for, held
// against the function that this program computes; and writing one.
#pragma once

#include <string>

#include "config/config.h"
#include "store/safetensors.h"

namespace trireme::store {

/// The config.json in the folder of `weights`, whether or not it is there.
std::string gpt2_config_path(const std::string& weights);

/// The sizes that a config.json tells, 0 for those that it does not. Throws base::Error(bad_input) that names the file and every
/// key, with its value, by which GPT-2 computes something else than this program: there is no key that is passed over although
/// it changes the function. A key that is absent has GPT-2's default, which is what this program computes.
config::Model read_gpt2_config(const std::string& path);

/// The config.json with which `from_pretrained` makes `model` of this program's weights.
std::string gpt2_config_text(const config::Model& model, Dtype dtype);

/// A file called model.safetensors and the config.json beside it are what `from_pretrained` reads of a folder. These two keep
/// such a pair together and do nothing for weights of any other name. Refuses (bad_input) `weights` where a config.json of
/// another model than `model` is there already.
void check_gpt2_pair(const std::string& weights, const config::Model& model);
/// Writes the config.json, unless one is there. base::Error(failure) names the file.
void complete_gpt2_pair(const std::string& weights, const config::Model& model, Dtype dtype);

}  // namespace trireme::store
