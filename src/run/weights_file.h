// Weights from and to .safetensors files with the names of Hugging Face's GPT-2.
#pragma once

#include <string>

#include "spec/local_table.h"
#include "spec/stages.h"
#include "store/gpt2_names.h"
#include "train/replica.h"

namespace trireme::run {

/// Every row of `table` from `file`; each rank reads its own part, and holds one part of one tensor beside it. No communication.
void load_weights(const store::Gpt2Weights& file, const spec::LocalTable& table, kernels::Device& device, kernels::View weights);

/// Every rank. World rank 0 writes `path`, tensor by tensor, from the ranks of data coordinate 0; it holds one whole tensor, the
/// others nothing beside their own. A model.safetensors gets its config.json (store::complete_gpt2_pair). Errors of the files are
/// agreed (grid::Agreed).
void save_weights(const std::string& path, const config::Model& model, const spec::StageMap& map, train::Replica& replica);

}  // namespace trireme::run
