"""model_mlx.py FOLDER BITS - the decoder of bench/model.c in MLX on the CPU, with random weights that it leaves in FOLDER.

Prints JSON: the prompt, the likeliest tokens after it, and tokens per second of a prefill and of a step at 64.
"""
import json
import os
import statistics
import sys
import time

import mlx.core as mx

mx.set_default_device(mx.cpu)
LAYERS, WIDTH, HIDDEN, WORDS, HEADS, SHARED, HEAD, EPSILON, PROMPT, COUNT = 4, 1024, 2816, 8192, 16, 8, 64, 1e-5, 64, 8
CONFIG = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": LAYERS, "hidden_size": WIDTH,
    "intermediate_size": HIDDEN, "vocab_size": WORDS, "num_attention_heads": HEADS, "num_key_value_heads": SHARED,
    "head_dim": HEAD, "max_position_embeddings": 2048, "rms_norm_eps": EPSILON, "rope_theta": 10000.0, "hidden_act": "silu",
    "tie_word_embeddings": False, "attention_bias": False, "mlp_bias": False, "torch_dtype": "float32",
}
MATRICES = [("self_attn.q_proj", HEADS * HEAD, WIDTH), ("self_attn.k_proj", SHARED * HEAD, WIDTH),
            ("self_attn.v_proj", SHARED * HEAD, WIDTH), ("self_attn.o_proj", WIDTH, HEADS * HEAD),
            ("mlp.gate_proj", HIDDEN, WIDTH), ("mlp.up_proj", HIDDEN, WIDTH), ("mlp.down_proj", WIDTH, HIDDEN)]


def make_weights(folder):
    weights = {name + ".weight": mx.random.uniform(-0.03, 0.03, (WORDS, WIDTH)) for name in ("model.embed_tokens", "lm_head")}
    weights["model.norm.weight"] = mx.ones(WIDTH)
    for layer in range(LAYERS):
        for name, rows, columns in MATRICES:
            weights[f"model.layers.{layer}.{name}.weight"] = mx.random.uniform(-0.03, 0.03, (rows, columns))
        for name in "input_layernorm", "post_attention_layernorm":
            weights[f"model.layers.{layer}.{name}.weight"] = mx.ones(WIDTH)
    os.makedirs(folder, exist_ok=True)
    mx.save_safetensors(os.path.join(folder, "model.safetensors"), weights)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(CONFIG, file)
    return weights


class Matrix:
    def __init__(self, weight, bits):
        self.bits = bits
        self.parts = mx.quantize(weight, 64, bits) if bits else [weight.T]
        mx.eval(self.parts)

    def __call__(self, x):
        return mx.quantized_matmul(x, *self.parts, transpose=True, group_size=64, bits=self.bits) if self.bits else x @ self.parts[0]


@mx.compile
def gated(gate, up):
    return gate * mx.sigmoid(gate) * up


class Model:
    def __init__(self, weights, bits):
        names = [f"model.layers.{layer}.{name}" for layer in range(LAYERS) for name, _, _ in MATRICES] + ["lm_head"]
        self.matrices = {name: Matrix(weights[name + ".weight"], bits) for name in names}
        self.weights, embedding = weights, weights["model.embed_tokens.weight"]
        self.embedding = mx.dequantize(*mx.quantize(embedding, 64, bits), 64, bits) if bits else embedding
        mx.eval(self.embedding)

    def norm(self, x, name):
        return mx.fast.rms_norm(x, self.weights[name + ".weight"], EPSILON)

    def attend(self, x, name, cache):
        rows, length = x.shape[:2]
        offset = cache[0].shape[2] if cache else 0

        def heads(part, count):
            return self.matrices[f"{name}.self_attn.{part}_proj"](x).reshape(rows, length, count, HEAD).transpose(0, 2, 1, 3)

        def turned(y):
            return mx.fast.rope(y, HEAD, traditional=False, base=10000.0, scale=1.0, offset=offset)

        q, k, v = turned(heads("q", HEADS)), turned(heads("k", SHARED)), heads("v", SHARED)
        if cache:
            k, v = mx.concatenate([cache[0], k], 2), mx.concatenate([cache[1], v], 2)
        seen = mx.fast.scaled_dot_product_attention(q, k, v, scale=HEAD**-0.5, mask="causal" if length > 1 else None)
        return self.matrices[name + ".self_attn.o_proj"](seen.transpose(0, 2, 1, 3).reshape(rows, length, -1)), (k, v)

    def __call__(self, tokens, caches):
        x, after = self.embedding[tokens], []
        for layer in range(LAYERS):
            name = f"model.layers.{layer}"
            seen, cache = self.attend(self.norm(x, name + ".input_layernorm"), name, caches[layer] if caches else None)
            after.append(cache)
            x = x + seen
            normal = self.norm(x, name + ".post_attention_layernorm")
            gate, up = (self.matrices[f"{name}.mlp.{part}_proj"](normal) for part in ("gate", "up"))
            x = x + self.matrices[name + ".mlp.down_proj"](gated(gate, up))
        token = mx.argmax(self.matrices["lm_head"](self.norm(x[:, -1:], "model.norm")), -1)
        mx.eval(token, after)
        return token, after


def rate(tokens, work):
    times = []
    for number in range(9):
        start = time.perf_counter()
        work()
        if number >= 2:
            times.append(time.perf_counter() - start)
    return tokens / statistics.median(times)


def main():
    folder, bits = sys.argv[1], int(sys.argv[2])
    model = Model(make_weights(folder), bits)
    prompt = [i * 2654435761 % (1 << 32) % WORDS for i in range(PROMPT)]
    read = mx.array([prompt])
    first, caches = model(read, None)
    tokens, token, following = [first.item()], first, caches
    while len(tokens) < COUNT:
        token, following = model(token, following)
        tokens.append(token.item())
    print(json.dumps({"prompt": prompt, "tokens": tokens, "prefill": rate(PROMPT, lambda: model(read, None)),
                      "decode": rate(1, lambda: model(first, caches))}))


main()
