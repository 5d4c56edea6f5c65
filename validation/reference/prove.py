"""prove.py FOLDER...: holds gpt2.py against references that another implementation computed in float64.

A folder holds model.safetensors (Hugging Face's names), tokens.bin and .idx, run.json (model, batch, optimizer, steps),
reference.json (steps: loss, grad_norm, learning_rate; grad_norm_by_tensor in the first) and, if any, final.safetensors (float32).
Prints the largest relative difference of each quantity; exits with 1 above 1e-11, a thousand roundings of float64 sums.
"""

import json
import os
import sys

import numpy as np
from safetensors.numpy import load_file

import gpt2
import indexed_tokens


def relative(ours, reference):
    return abs(ours - reference) / abs(reference)


def differences(folder):
    with open(f"{folder}/run.json") as file:
        run = json.load(file)
    with open(f"{folder}/reference.json") as file:
        reference = json.load(file)["steps"]
    start = {name: value.astype(np.float64) for name, value in load_file(f"{folder}/model.safetensors").items()}
    tokens = indexed_tokens.read(f"{folder}/tokens")
    rows, norms, final = gpt2.train(start, tokens, run["model"], run["batch"]["global"], run["steps"], run["optimizer"])
    if len(rows) != len(reference) or set(norms) != set(reference[0]["grad_norm_by_tensor"]):
        raise ValueError(f"{folder}: other steps or other tensors than the reference")
    worst = {key: max(relative(row[key], there[key]) for row, there in zip(rows, reference))
             for key in ("loss", "grad_norm", "learning_rate")}
    worst["gradients"] = max(relative(norms[name], value) for name, value in reference[0]["grad_norm_by_tensor"].items())
    return worst, final


def final_difference(folder, final):
    """Largest absolute difference of the last weights; float32 in the file. The key third of c_attn.bias, whose gradient is zero
    but for rounding, is left out."""
    worst = 0.0
    for name, value in load_file(f"{folder}/final.safetensors").items():
        difference = np.abs(final[name] - value)
        if name.endswith("attn.c_attn.bias"):
            difference = np.delete(difference.reshape(3, -1), 1, axis=0)
        worst = max(worst, float(difference.max()))
    return worst


if __name__ == "__main__":
    failed = False
    for folder in sys.argv[1:]:
        worst, final = differences(folder)
        print(os.path.basename(os.path.normpath(folder)), " ".join(f"{key} {value:.1e}" for key, value in worst.items()), end="")
        print(f" final {final_difference(folder, final):.1e}" if os.path.exists(f"{folder}/final.safetensors") else "")
        failed = failed or max(worst.values()) > 1e-11
    sys.exit(1 if failed else 0)
