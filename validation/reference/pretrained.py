"""pretrained.py RUN FOLDER: holds a run against Hugging Face's library. FOLDER is what `trireme checkpoint export RUN FOLDER` made.

Loads FOLDER by GPT2LMHeadModel.from_pretrained, as anybody would, and computes the mean loss over the run's held-out tokens in
float64. Compares it with the last validation loss of RUN/metrics.csv, which must be that of the exported step, over all samples
(run.evaluate_samples = (tokens - 1) / model.sequence), so that their order does not matter. Then writes some text. Exits with 1
above a relative difference of 1e-5: Trireme computes in float32, whose rounding is 6e-8, over some thousand additions.
"""

import csv
import sys
import tomllib

import torch
from transformers import GPT2LMHeadModel

import indexed_tokens

LIMIT = 1e-5


def last_validation_loss(run):
    with open(f"{run}/metrics.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["validation_loss"]]
    return int(rows[-1]["step"]), float(rows[-1]["validation_loss"])


def mean_loss(model, tokens, sequence):
    samples = (len(tokens) - 1) // sequence
    total = 0.0
    with torch.no_grad():
        for i in range(samples):
            piece = torch.as_tensor(tokens[i * sequence:(i + 1) * sequence + 1])
            logits = model(piece[None, :-1]).logits[0]
            total += torch.nn.functional.cross_entropy(logits, piece[1:], reduction="sum").item()
    return total / (samples * sequence)


def sample_text(model, begin, length):
    """The vocabulary is the 256 bytes: a token is a byte, and text is what the bytes spell."""
    prompt = torch.tensor([list(begin.encode())])
    made = model.generate(prompt, max_new_tokens=length, do_sample=True, temperature=0.8, pad_token_id=0)
    return bytes(made[0].tolist()).decode(errors="replace")


def main():
    run, folder = sys.argv[1:]
    with open(f"{run}/config.toml", "rb") as file:
        config = tomllib.load(file)
    sequence, tokens = config["model"]["sequence"], indexed_tokens.read(config["data"]["validation"])
    if (len(tokens) - 1) // sequence != config["run"]["evaluate_samples"]:
        sys.exit(f"{run}: run.evaluate_samples must be all {(len(tokens) - 1) // sequence} samples of data.validation")
    torch.manual_seed(1)
    model = GPT2LMHeadModel.from_pretrained(folder).double().eval()
    step, ours = last_validation_loss(run)
    theirs = mean_loss(model, tokens, sequence)
    difference = abs(ours - theirs) / theirs
    print(f"validation loss after step {step}: transformers {theirs:.9f}, Trireme {ours:.9f}, relative difference {difference:.1e}")
    if config["model"]["vocabulary"] == 256:
        print(sample_text(model, "The ", min(200, sequence - 5)))
    return 0 if difference <= LIMIT else 1


sys.exit(main())
