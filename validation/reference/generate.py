"""generate.py DEFINITION.toml FOLDER: writes a validation case: start weights, tokens, input file, reference, tolerances, README.

The reference is computed in float64 from the float32 start weights; run it from the root of the repository, so that the paths
in input.toml are right. Needs the packages of requirements.txt; neither the program nor its tests run it.
"""

import os
import platform
import sys
import textwrap
import tomllib
from importlib.metadata import version

import numpy as np
from safetensors.numpy import save_file

import gpt2
import indexed_tokens

# Hugging Face's names of a layer and Trireme's, in the order of Trireme's parameter table.
LAYER = {"ln_1": "norm1", "attn.c_attn": "attention.qkv", "attn.c_proj": "attention.output", "ln_2": "norm2",
         "mlp.c_fc": "mlp.up", "mlp.c_proj": "mlp.down"}

# Relative limits on what a run in single precision prints, and why.
TOLERANCES = {
    "loss": (2e-6, "a mean of single-precision logarithms, of size ln V: a few roundings of 6e-8 each, and the drift of the weights"),
    "grad_norm": (1e-5, "single-precision products summed over the batch; cancellation makes it a few times worse than the loss"),
    "learning_rate": (1e-12, "double-precision arithmetic and one cosine"),
    "gradients": (2e-5, "as grad_norm, of one tensor; small tensors average less"),
}


def table(layers):
    """Pairs of names, Hugging Face's and Trireme's."""
    pairs = [("wte.weight", "embedding.tokens.weight"), ("wpe.weight", "embedding.positions.weight")]
    for n in range(layers):
        pairs += [(f"h.{n}.{theirs}.{kind}", f"layers.{n}.{ours}.{kind}")
                  for theirs, ours in LAYER.items() for kind in ("weight", "bias")]
    return pairs + [("ln_f.weight", "final_norm.weight"), ("ln_f.bias", "final_norm.bias")]


def start_weights(model, random):
    """float32; gains and biases far from 1 and 0, so that a term left out shows."""
    h = model["hidden"]
    shapes = {"ln_1": None, "attn.c_attn": (h, 3 * h), "attn.c_proj": (h, h), "ln_2": None, "mlp.c_fc": (h, 4 * h),
              "mlp.c_proj": (4 * h, h)}
    weights = {}
    for theirs, _ in table(model["layers"]):
        part, kind = theirs.rsplit(".", 1)
        shape = {"wte": (model["vocabulary"], h), "wpe": (model["sequence"], h)}.get(part) or shapes.get(part.split(".", 2)[-1])
        if shape is None:  # a layer norm
            weights[theirs] = random.normal(1 if kind == "weight" else 0, 0.1, h)
        elif kind == "bias":
            weights[theirs] = random.normal(0, 0.05, shape[1])
        else:
            weights[theirs] = random.normal(0, 0.1, shape)
    return {name: value.astype(np.float32) for name, value in weights.items()}


def token_documents(definition, random):
    """Documents of uneven length. Frequencies fall as 1/rank, so that some rows of the embedding gather many gradients and some none;
    the last id occurs."""
    vocabulary, count = definition["model"]["vocabulary"], definition["tokens"]
    frequency = 1 / (np.arange(vocabulary) + 3.0)
    tokens = random.permutation(vocabulary)[random.choice(vocabulary, count, p=frequency / frequency.sum())]
    tokens[random.integers(count // 4)] = vocabulary - 1
    cuts = np.sort(random.choice(np.arange(1, count), definition["documents"] - 1, replace=False))
    return np.split(tokens, cuts)


def toml(value):
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else repr(value)


def write_input(folder, definition):
    sections = {"model": definition["model"] | {"initial": f"{folder}/model.safetensors"},
                "batch": definition["batch"],
                "optimizer": definition["optimizer"],
                "data": {"tokens": f"{folder}/tokens", "shuffle": False},
                "run": definition["run"] | {"threads": 1}}
    with open(f"{folder}/input.toml", "w") as file:
        file.write(f"# {definition['title']}. Written by validation/reference/generate.py; paths are from the root of the repository.\n")
        for section, keys in sections.items():
            file.write(f"\n[{section}]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in keys.items()))


def write_reference(folder, rows, norms, layers):
    with open(f"{folder}/reference.csv", "w") as file:
        file.write("step,loss,grad_norm,learning_rate\n")
        for row in rows:
            file.write(f"{row['step']},{row['loss']:.17g},{row['grad_norm']:.17g},{row['learning_rate']:.17g}\n")
    with open(f"{folder}/reference_gradients.csv", "w") as file:
        file.write("name,norm\n")
        file.write("".join(f"{ours},{norms[theirs]:.17g}\n" for theirs, ours in table(layers)))


def write_tolerances(folder, single):
    with open(f"{folder}/tolerance.toml", "w") as file:
        file.write("# Relative limits. `single` is what the reference itself differs by when it computes in float32.\n")
        for quantity, (limit, reason) in TOLERANCES.items():
            file.write(f'\n[{quantity}]\nrelative = {limit!r}\nsingle = {single[quantity]:.1e}\nreason = "{reason}"\n')


def write_readme(folder, name, definition, comment, rows):
    packages = ", ".join(f"{package} {version(package)}" for package in ("numpy", "autograd", "safetensors"))
    with open(f"{folder}/README.md", "w") as file:
        file.write(f"""# Case {name}

{textwrap.fill(f"{definition['title']}. {comment}", 120)}

| file | what |
|---|---|
| input.toml | the run, without a layout; paths from the root of the repository |
| model.safetensors | start weights, float32, under Hugging Face's names, matrices [in, out] |
| tokens.bin, tokens.idx | {definition["tokens"]} tokens in {definition["documents"]} documents, {8 * indexed_tokens.DTYPES[definition["token_code"]].itemsize} bits each |
| reference.csv | each step's loss (before its update), norm of the gradient (before clipping), learning rate |
| reference_gradients.csv | norm of each tensor's gradient at step 1, under Trireme's names |
| tolerance.toml | relative limit of each quantity, with its reason |

Loss from {rows[0]["loss"]:.4f} to {rows[-1]["loss"]:.4f}, norms {min(row["grad_norm"] for row in rows):.3g} to {max(row["grad_norm"] for row in rows):.3g}.

`make validate` runs it on several layouts; a run of your own is held against it by `trireme compare {folder} RUN`.

Provenance: `python validation/reference/generate.py validation/reference/{name}.toml {folder}`, float64 on the CPU, Python
{platform.python_version()}, {packages}. The generator is described in validation/reference/README.md.
""")


def float32_differences(rows, norms, single_rows, single_norms):
    def worst(pairs):
        return max(abs(ours - reference) / abs(reference) for ours, reference in pairs)

    result = {key: worst((a[key], b[key]) for a, b in zip(single_rows, rows)) for key in ("loss", "grad_norm", "learning_rate")}
    return result | {"gradients": worst((single_norms[name], norms[name]) for name in norms)}


def generate(path, folder):
    with open(path, "rb") as file:
        text = file.read().decode()
    definition = tomllib.loads(text)
    comment = " ".join(line[2:] for line in text.split("\n") if line.startswith("# "))
    random = np.random.Generator(np.random.PCG64(definition["seed"]))
    weights = start_weights(definition["model"], random)
    documents = token_documents(definition, random)
    os.makedirs(folder, exist_ok=True)
    save_file(weights, f"{folder}/model.safetensors", metadata={"format": "pt"})
    os.chmod(f"{folder}/model.safetensors", 0o644)  # the package makes it private
    indexed_tokens.write(f"{folder}/tokens", documents, definition["token_code"])

    def train(dtype):
        start = {name: value.astype(dtype) for name, value in weights.items()}
        return gpt2.train(start, indexed_tokens.read(f"{folder}/tokens"), definition["model"], definition["batch"]["global"],
                          definition["run"]["steps"], definition["optimizer"])

    (rows, norms, _), (single_rows, single_norms, final) = train(np.float64), train(np.float32)
    assert all(value.dtype == np.float32 for value in final.values())
    write_input(folder, definition)
    write_reference(folder, rows, norms, definition["model"]["layers"])
    single = float32_differences(rows, norms, single_rows, single_norms)
    write_tolerances(folder, single)
    write_readme(folder, os.path.splitext(os.path.basename(path))[0], definition, comment, rows)
    print(os.path.basename(folder), " ".join(f"{key} {value:.1e}" for key, value in single.items()))


if __name__ == "__main__":
    generate(sys.argv[1], sys.argv[2].rstrip("/"))
