"""Models with made-up weights for perf/serve/compare: folders of Hugging Face's, and the same as GGUF files for
llama.cpp. GPT-2 124M in f32, and the shape of TinyLlama 1.1 B in bf16; each token of their tokenizer is a byte or a
pair of bytes. Needs NumPy and the package gguf."""
import json
import subprocess

import numpy as np

SHAPES = {
    "gpt2": {"layers": 12, "embed": 768, "heads": 12, "kv": 12, "hidden": 3072, "vocabulary": 50257, "positions": 1024,
             "dtype": "F32"},
    "llama": {"layers": 22, "embed": 2048, "heads": 32, "kv": 4, "hidden": 5632, "vocabulary": 32000, "positions": 2048,
              "dtype": "BF16"}}


def weights_of(name):
    """Numbers that a token reads: those of all products, in the layers and in the head."""
    s = SHAPES[name]
    e, kv = s["embed"], s["embed"] // s["heads"] * s["kv"]
    mlp = (2 if name == "gpt2" else 3) * e * s["hidden"]
    return s["layers"] * (2 * e * e + 2 * e * kv + mlp), s["vocabulary"] * e


def cache_bytes(name, positions, size=2):
    s = SHAPES[name]
    return 2 * s["layers"] * s["embed"] // s["heads"] * s["kv"] * positions * size


def tensors(name):
    """(Hugging Face's name, GGUF's name, shape [out, in] or [n])"""
    s = SHAPES[name]
    e, h, kv, v = s["embed"], s["hidden"], s["embed"] // s["heads"] * s["kv"], s["vocabulary"]
    if name == "gpt2":
        yield "wte.weight", "token_embd.weight", (v, e)
        yield "wpe.weight", "position_embd.weight", (s["positions"], e)
        for i in range(s["layers"]):
            for hf, gguf, shape in (("ln_1", "attn_norm", (e,)), ("attn.c_attn", "attn_qkv", (3 * e, e)),
                                    ("attn.c_proj", "attn_output", (e, e)), ("ln_2", "ffn_norm", (e,)),
                                    ("mlp.c_fc", "ffn_up", (h, e)), ("mlp.c_proj", "ffn_down", (e, h))):
                yield f"h.{i}.{hf}.weight", f"blk.{i}.{gguf}.weight", shape
                yield f"h.{i}.{hf}.bias", f"blk.{i}.{gguf}.bias", shape[:1]
        yield "ln_f.weight", "output_norm.weight", (e,)
        yield "ln_f.bias", "output_norm.bias", (e,)
        return
    yield "model.embed_tokens.weight", "token_embd.weight", (v, e)
    for i in range(s["layers"]):
        for hf, gguf, shape in (("input_layernorm", "attn_norm", (e,)), ("self_attn.q_proj", "attn_q", (e, e)),
                                ("self_attn.k_proj", "attn_k", (kv, e)), ("self_attn.v_proj", "attn_v", (kv, e)),
                                ("self_attn.o_proj", "attn_output", (e, e)),
                                ("post_attention_layernorm", "ffn_norm", (e,)), ("mlp.gate_proj", "ffn_gate", (h, e)),
                                ("mlp.up_proj", "ffn_up", (h, e)), ("mlp.down_proj", "ffn_down", (e, h))):
            yield f"model.layers.{i}.{hf}.weight", f"blk.{i}.{gguf}.weight", shape
    yield "model.norm.weight", "output_norm.weight", (e,)
    yield "lm_head.weight", "output.weight", (v, e)


def number(name, shape, seed):
    """f32; for BF16 the numbers that bf16 has."""
    if len(shape) == 1:
        return np.full(shape, 0 if name.endswith("bias") else 1, np.float32)
    x = np.random.default_rng(seed).standard_normal(shape, np.float32)
    x *= 0.02
    return (x.view(np.uint32) & np.uint32(0xffff0000)).view(np.float32)


def vocabulary(n):
    """Tokens of byte-level BPE in its alphabet, and its merges; the last one ends a text."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(b) for b in plain] + [chr(256 + i) for i in range(256 - len(plain))]
    pairs = [(a, b) for a in letters for b in letters][:n - 257]
    return [*letters, *(a + b for a, b in pairs), "<|end|>"], [f"{a} {b}" for a, b in pairs]


def make(name, folder):
    """The folder and NAME.gguf beside it, written elsewhere and renamed, so that what is there is whole."""
    s, beside = SHAPES[name], folder.with_suffix(".new")
    beside.mkdir(parents=True, exist_ok=True)
    e, end = s["embed"], s["vocabulary"] - 1
    config = {"vocab_size": s["vocabulary"], "bos_token_id": end, "eos_token_id": end,
              "torch_dtype": "float32" if s["dtype"] == "F32" else "bfloat16"}
    if name == "gpt2":
        config |= {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": e, "n_layer": s["layers"],
                   "n_head": s["heads"], "n_positions": s["positions"], "n_ctx": s["positions"],
                   "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
    else:
        config |= {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": e,
                   "intermediate_size": s["hidden"], "num_hidden_layers": s["layers"],
                   "num_attention_heads": s["heads"], "num_key_value_heads": s["kv"], "rms_norm_eps": 1e-5,
                   "rope_theta": 10000.0, "max_position_embeddings": s["positions"], "hidden_act": "silu",
                   "tie_word_embeddings": False}
    (beside / "config.json").write_text(json.dumps(config))
    tokens, merges = vocabulary(s["vocabulary"])
    added = [{"id": end, "content": "<|end|>", "special": True, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False}]
    bytes_of = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    (beside / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": bytes_of, "post_processor": None, "decoder": bytes_of,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  "vocab": {t: i for i, t in enumerate(tokens)}, "merges": merges}}))
    (beside / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "GPT2TokenizerFast", "bos_token": "<|end|>", "eos_token": "<|end|>"}))
    files(name, beside / "model.safetensors", beside.with_suffix(".new.gguf"), tokens, merges)
    beside.with_suffix(".new.gguf").rename(folder.with_suffix(".gguf"))
    beside.rename(folder)


def files(name, safetensors, gguf_file, tokens, merges):
    import gguf
    s = SHAPES[name]
    w = gguf.GGUFWriter(gguf_file, name)
    w.add_context_length(s["positions"])
    w.add_embedding_length(s["embed"])
    w.add_block_count(s["layers"])
    w.add_feed_forward_length(s["hidden"])
    w.add_head_count(s["heads"])
    if name == "gpt2":
        w.add_layer_norm_eps(1e-5)
    else:
        w.add_head_count_kv(s["kv"])
        w.add_layer_norm_rms_eps(1e-5)
        w.add_rope_dimension_count(s["embed"] // s["heads"])
        w.add_rope_freq_base(10000.0)
        w.add_vocab_size(s["vocabulary"])
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(tokens)
    w.add_token_types([gguf.TokenType.NORMAL] * (len(tokens) - 1) + [gguf.TokenType.CONTROL])
    w.add_token_merges(merges)
    w.add_bos_token_id(len(tokens) - 1)
    w.add_eos_token_id(len(tokens) - 1)
    size, at, header, all_tensors = 4 if s["dtype"] == "F32" else 2, 0, {}, list(tensors(name))
    for hf, _, shape in all_tensors:
        turned = shape[::-1] if name == "gpt2" and len(shape) == 2 and hf.startswith("h.") else shape
        end = at + int(np.prod(shape)) * size
        header[hf] = {"dtype": s["dtype"], "shape": turned, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(safetensors, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for i, (hf, its, shape) in enumerate(all_tensors):
            x = number(hf, shape, i)
            short = (x.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
            turned = list(header[hf]["shape"]) != list(shape)
            f.write(np.ascontiguousarray((x if size == 4 else short).T if turned else (x if size == 4 else short)).data)
            if len(shape) == 1 or size == 4:
                w.add_tensor(its, x)
            else:
                w.add_tensor(its, short.view(np.uint8).reshape(shape[0], -1), raw_dtype=gguf.GGMLQuantizationType.BF16)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def gguf_of(folder, kind, tools):
    """NAME.KIND.gguf, which llama-quantize makes."""
    own = folder.with_suffix(".gguf")
    if kind.upper() == SHAPES[folder.name]["dtype"]:
        return own
    made = folder.with_suffix(f".{kind}.gguf")
    if not made.exists():
        beside = made.with_suffix(".new")
        subprocess.run([tools / "bin/llama-quantize", "--allow-requantize", *(["--pure"] if kind in ("F32", "BF16") else
                       []), own, beside, kind], check=True, capture_output=True)
        beside.rename(made)
    return made
