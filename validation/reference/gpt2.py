"""GPT-2 training in numpy, gradients by the autograd package: slow, plain and independent of Trireme.

Parameters are a dict under Hugging Face's names, matrices [in, out]. Everything runs in the dtype of the parameters.
Letters as in the papers: a heads, B global batch, h hidden, s sequence, V vocabulary.
"""

import math

import autograd.numpy as np
from autograd import value_and_grad


def layer_norm(x, weight, bias):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred**2, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * weight + bias


def gelu(x):  # the tanh form, "gelu_new"
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def log_sum_exp(x):
    largest = np.max(x, axis=-1, keepdims=True)
    return largest + np.log(np.sum(np.exp(x - largest), axis=-1, keepdims=True))


def attention(x, heads, weight, bias):
    batch, sequence, hidden = x.shape
    qkv = np.reshape(x @ weight + bias, (batch, sequence, 3, heads, hidden // heads))
    q, k, v = (np.transpose(qkv[:, :, i], (0, 2, 1, 3)) for i in range(3))  # [B, a, s, h/a]
    scores = q @ np.transpose(k, (0, 1, 3, 2)) / math.sqrt(hidden // heads)
    scores = np.where(np.tril(np.ones((sequence, sequence), dtype=bool)), scores, -np.inf)
    mixed = np.exp(scores - log_sum_exp(scores)) @ v
    return np.reshape(np.transpose(mixed, (0, 2, 1, 3)), (batch, sequence, hidden))


def mean_loss(p, samples, layers, heads):
    """Cross-entropy, mean over the B s tokens of samples [B, s + 1]."""
    inputs, targets = samples[:, :-1], samples[:, 1:]
    x = p["wte.weight"][inputs] + p["wpe.weight"]
    for n in range(layers):
        def at(name):
            return p[f"h.{n}.{name}.weight"], p[f"h.{n}.{name}.bias"]

        mixed = attention(layer_norm(x, *at("ln_1")), heads, *at("attn.c_attn"))
        weight, bias = at("attn.c_proj")
        x = x + mixed @ weight + bias
        weight, bias = at("mlp.c_fc")
        inner = gelu(layer_norm(x, *at("ln_2")) @ weight + bias)
        weight, bias = at("mlp.c_proj")
        x = x + inner @ weight + bias
    logits = layer_norm(x, p["ln_f.weight"], p["ln_f.bias"]) @ np.transpose(p["wte.weight"])
    batch, sequence = targets.shape
    chosen = logits[np.arange(batch)[:, None], np.arange(sequence)[None, :], targets]
    return np.mean(log_sum_exp(logits)[..., 0] - chosen)


def learning_rate(step, o):
    """Of step k from 0: linear warm-up, then cosine from the largest to the smallest rate; constant when decay_steps is 0."""
    largest, smallest, warmup, decay = (
        o["learning_rate"], o["min_learning_rate"], o["warmup_steps"], o["decay_steps"])
    if step < warmup:
        return largest * (step + 1) / warmup
    if decay == 0:
        return largest
    progress = min(1.0, (step + 1 - warmup) / (decay - warmup))
    return smallest + (largest - smallest) / 2 * (1 + math.cos(math.pi * progress))


def samples_of(tokens, sequence, batch, step):
    """[B, s + 1]: sample i is tokens[i s .. i s + s], taken in order, around again after the last."""
    count = (len(tokens) - 1) // sequence
    rows = [(step * batch + i) % count for i in range(batch)]
    return np.stack([tokens[row * sequence : row * sequence + sequence + 1] for row in rows])


def train(parameters, tokens, model, batch, steps, o):
    """Runs `steps` steps of AdamW with a clip of the global norm (0: off).

    Returns rows {step, loss, grad_norm, learning_rate} (step from 1, loss before its update, norm before clipping), the norm of
    each gradient at step 1, and the last parameters.
    """
    p = dict(parameters)
    first = {name: np.zeros_like(value) for name, value in p.items()}
    second = {name: np.zeros_like(value) for name, value in p.items()}
    gradient_of = value_and_grad(mean_loss)
    rows, norms = [], None
    for step in range(steps):
        samples = samples_of(tokens, model["sequence"], batch, step)
        loss, gradient = gradient_of(p, samples, model["layers"], model["heads"])
        by_tensor = {name: math.sqrt(float(np.sum(np.asarray(g, dtype=np.float64) ** 2))) for name, g in gradient.items()}
        norms = norms or by_tensor
        norm = math.sqrt(sum(value**2 for value in by_tensor.values()))
        factor = min(1.0, o["clip"] / (norm + 1e-6)) if o["clip"] > 0 else 1.0
        rate = learning_rate(step, o)
        rows.append({"step": step + 1, "loss": float(loss), "grad_norm": norm, "learning_rate": rate})
        for name in p:
            g = gradient[name] * factor
            first[name] = o["beta1"] * first[name] + (1 - o["beta1"]) * g
            second[name] = o["beta2"] * second[name] + (1 - o["beta2"]) * g * g
            update = (first[name] / (1 - o["beta1"] ** (step + 1))) / (
                np.sqrt(second[name] / (1 - o["beta2"] ** (step + 1))) + o["epsilon"])
            decay = o["weight_decay"] if p[name].ndim == 2 else 0.0
            p[name] = p[name] - rate * (update + decay * p[name])
    return rows, norms, p
