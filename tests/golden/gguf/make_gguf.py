#!/usr/bin/env python3
"""Writes GGUF files beside this one: small models of each architecture and encoding, blocks of each encoding with their
numbers, and golden.safetensors with logits of transformers and the ids that it continues with.

  python make_gguf.py        gguf 0.19.0, transformers 5.24.0, torch 2.13.0

Names are gguf's own table of names; what llama.cpp's conversion does to numbers is repeated here (rows of queries and
keys, transposed matrices of GPT-2, norms of Gemma), and checked: transformers' own reader of GGUF files gives the same
logits for each file whose architecture it knows (of Gemma none)."""
import json
import pathlib

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as T
from gguf import quants
from safetensors.torch import save_file
from transformers import (AutoModelForCausalLM, Gemma2Config, Gemma2ForCausalLM, GemmaConfig, GemmaForCausalLM,
                          GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM,
                          Qwen3Config, Qwen3ForCausalLM)

here = pathlib.Path(__file__).parent
golden = {}
IDS = [3, 17, 40, 5, 62, 90, 33, 71]


def permuted(w, heads):
    """Of llama.cpp's conversion: numbers that turn together lie side by side."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def unpermuted(w, heads):
    return w.reshape(heads, w.shape[0] // heads // 2, 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def vocabulary(writer, kind, pre, size):
    """The tokens of a committed tokenizer."""
    if kind is None:
        writer.add_tokenizer_model("no_vocab")
        return
    if kind == "llama":
        fields = pieces_of(here.parent / "tokenizer_llama.model")
        writer.add_tokenizer_model("llama")
        writer.add_tokenizer_pre("default")
        writer.add_token_list([p[0] for p in fields])
        writer.add_token_scores([p[1] for p in fields])
        writer.add_token_types([p[2] for p in fields])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_unk_token_id(0)
        writer.add_chat_template("{% for m in messages %}[{{ m.role }}] {{ m.content }}{{ eos_token }}{% endfor %}")
        return
    j = json.loads((here.parent / f"tokenizer_{kind}.json").read_text())
    tokens, types = [None] * size, [int(gguf.TokenType.UNUSED)] * size
    for token, id in j["model"]["vocab"].items():
        tokens[id], types[id] = token, int(gguf.TokenType.NORMAL)
    for t in j["added_tokens"]:
        special = gguf.TokenType.CONTROL if t["special"] else gguf.TokenType.USER_DEFINED
        tokens[t["id"]], types[t["id"]] = t["content"], int(special)
    tokens = [t if t is not None else f"[PAD{i}]" for i, t in enumerate(tokens)]
    merges = [m if isinstance(m, str) else " ".join(m) for m in j["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    ends = {"gpt2": ("<|endoftext|>",) * 2, "llama3": ("<|begin_of_text|>", "<|eot_id|>"),
            "qwen2": ("<|endoftext|>", "<|im_end|>")}[kind]
    writer.add_bos_token_id(tokens.index(ends[0]))
    writer.add_eos_token_id(tokens.index(ends[1]))
    if kind == "qwen2":
        writer.add_add_bos_token(False)


def pieces_of(path):
    """(text, score, type) of a SentencePiece model's pieces."""
    def varint(b, i):
        x = shift = 0
        while True:
            x |= (b[i] & 127) << shift
            shift += 7
            i += 1
            if b[i - 1] < 128:
                return x, i

    def fields(b):
        i = 0
        while i < len(b):
            tag, i = varint(b, i)
            if tag & 7 == 0:
                x, i = varint(b, i)
            elif tag & 7 == 5:
                x, i = np.frombuffer(b[i:i + 4], "<f4")[0], i + 4
            else:
                n, i = varint(b, i)
                x, i = b[i:i + n], i + n
            yield tag >> 3, x
    all = []
    for number, message in fields(path.read_bytes()):
        if number == 1:
            f = dict(fields(message))
            all.append((f[1].decode(), float(f.get(2, 0.0)), int(f.get(3, 1))))
    return all


def write(name, arch, model, encoding, kind=None, pre=None, extra=None):
    c = model.config
    torch.manual_seed(len(name))
    state = model.state_dict()
    for key, w in state.items():  # visible numbers, also in norms and biases
        w.copy_(torch.randn_like(w) * (0.3 if w.ndim > 1 else 0.1) + (1 if w.ndim == 1 and "norm" in key and
                                                                   "gemma" not in arch else 0))
    layers = c.n_layer if arch == "gpt2" else c.num_hidden_layers
    table = gguf.get_tensor_name_map(gguf.MODEL_ARCH_NAMES_BY_NAME[arch] if hasattr(gguf, "MODEL_ARCH_NAMES_BY_NAME")
                                     else next(a for a, n in gguf.MODEL_ARCH_NAMES.items() if n == arch), layers)
    writer = gguf.GGUFWriter(here / f"{name}.gguf", arch)
    writer.add_block_count(layers)
    writer.add_context_length(c.n_positions if arch == "gpt2" else c.max_position_embeddings)
    writer.add_embedding_length(c.hidden_size)
    writer.add_vocab_size(c.vocab_size)
    writer.add_head_count(c.num_attention_heads)
    if arch == "gpt2":
        writer.add_feed_forward_length(4 * c.n_embd)
        writer.add_layer_norm_eps(c.layer_norm_epsilon)
    else:
        writer.add_feed_forward_length(c.intermediate_size)
        writer.add_head_count_kv(c.num_key_value_heads)
        writer.add_layer_norm_rms_eps(c.rms_norm_eps)
        writer.add_rope_freq_base(c.rope_parameters["rope_theta"])
        writer.add_rope_dimension_count(c.head_dim if getattr(c, "head_dim", None) else
                                        c.hidden_size // c.num_attention_heads)
        if getattr(c, "head_dim", None):
            writer.add_key_length(c.head_dim)
            writer.add_value_length(c.head_dim)
    if arch == "gemma2":
        writer.add_attn_logit_softcapping(c.attn_logit_softcapping)
        writer.add_final_logit_softcapping(c.final_logit_softcapping)
        writer.add_sliding_window(c.sliding_window)
    vocabulary(writer, kind, pre, c.vocab_size)
    tied = c.tie_word_embeddings
    for key, w in state.items():
        if (tied and key == "lm_head.weight") or key.endswith((".attn.bias", "masked_bias")):
            continue
        x = w.float().numpy().copy()
        turned = arch == "gpt2" and key.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight"))
        heads = 0
        if arch == "llama" and "q_proj" in key:
            heads = c.num_attention_heads
        if arch == "llama" and "k_proj" in key:
            heads = c.num_key_value_heads
        norm = arch.startswith("gemma") and key.endswith("norm.weight")
        x = x.T.copy() if turned else permuted(x, heads) if heads else x + 1 if norm else x
        type = encoding if x.ndim == 2 and x.shape[-1] % 32 == 0 and encoding != "mixed" else T.F32
        if type == T.Q4_0 and "embed" in key:
            type = T.Q8_0
        if encoding == "mixed" and x.ndim == 2:  # as files of Q4_K_M are
            type = T.Q8_0 if x.shape[-1] % 256 else T.Q6_K if "embed" in key or "v_proj" in key else T.Q4_K
        raw = k_blocks(x.shape, type) if type in (T.Q4_K, T.Q6_K) else quants.quantize(x, type)
        their = table.get_name(key, try_suffixes=(".weight", ".bias"))
        assert their, key
        writer.add_tensor(their, raw, raw_dtype=type)
        y = quants.dequantize(raw, type).reshape(x.shape)
        y = y.T if turned else unpermuted(y, heads) if heads else y - 1 if norm else y
        w.copy_(torch.from_numpy(y.copy()))
    if extra is not None:
        writer.add_tensor("rope_freqs.weight", extra)
    if tied:
        model.tie_weights()
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    model.eval()
    ids = torch.tensor([IDS])
    with torch.no_grad():
        logits = model(ids).logits[0]
        more = model.generate(ids, max_new_tokens=8, do_sample=False, eos_token_id=-1, pad_token_id=0)[0, len(IDS):]
    golden[f"{name}.logits"] = logits.float().contiguous()
    golden[f"{name}.more"] = more.to(torch.int32).contiguous()
    if arch == "gemma":
        return
    theirs = AutoModelForCausalLM.from_pretrained(here, gguf_file=f"{name}.gguf", config=c, dtype=torch.float32).eval()
    with torch.no_grad():
        assert torch.equal(theirs(ids).logits[0], logits), name


def k_blocks(shape, type):
    """Random bytes, with scales for which numbers are around 0.3: the package does not write these types."""
    draw = np.random.default_rng(sum(shape) + int(type))
    _, bytes = gguf.GGML_QUANT_SIZES[type]
    n = shape[0] * shape[1] // 256
    raw = draw.integers(0, 256, (n, bytes), dtype=np.uint8)
    for at, x in ((0, 1e-3), (2, 7.5e-3)) if type == T.Q4_K else ((208, 2e-4),):
        raw[:, at:at + 2] = np.full((n, 1), x, np.float16).view(np.uint8)
    return raw.reshape(shape[0], -1)


def sizes(vocab, **more):
    return dict(vocab_size=vocab, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                num_key_value_heads=2, max_position_embeddings=64, attn_implementation="eager") | more


def rope(theta=10000.0, **more):
    return {"rope_type": "default", "rope_theta": theta} | more


def blocks():
    """Of each encoding 8 blocks of random bytes, whose scales are finite, and their numbers by gguf's reference."""
    draw = np.random.default_rng(5)
    writer = gguf.GGUFWriter(here / "blocks.gguf", "llama")
    for type in (T.F32, T.F16, T.BF16, T.Q8_0, T.Q4_0, T.Q4_K, T.Q6_K):
        numbers, bytes = gguf.GGML_QUANT_SIZES[type]
        n = 8 if numbers > 1 else 64
        if type in (T.F32, T.F16, T.BF16):
            raw = quants.quantize(draw.standard_normal((1, n)).astype(np.float32), type)
        else:
            raw = draw.integers(0, 256, (1, n * bytes), dtype=np.uint8).reshape(n, bytes)
            halves = {T.Q8_0: (0,), T.Q4_0: (0,), T.Q4_K: (0, 2), T.Q6_K: (208,)}[type]
            for at in halves:
                raw[:, at:at + 2] = draw.standard_normal((n, 1)).astype(np.float16).view(np.uint8).reshape(n, 2)
            raw = raw.reshape(1, n * bytes)
        writer.add_tensor(type.name, raw, raw_dtype=type)
        golden[f"blocks.{type.name}"] = torch.from_numpy(
            quants.dequantize(raw, type).astype(np.float32).reshape(-1).copy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


blocks()
n = len(pieces_of(here.parent / "tokenizer_llama.model"))
write("llama", "llama", LlamaForCausalLM(LlamaConfig(**sizes(n, tie_word_embeddings=False, rope_parameters=rope()))),
      T.Q8_0, "llama")
factor = 8.0
smooth = [np.clip((8192 / (2 * np.pi * 500000.0 ** (i / 4)) - 1) / 3, 0, 1) for i in range(4)]
write("llama3", "llama", LlamaForCausalLM(LlamaConfig(**sizes(
    705, tie_word_embeddings=True, rope_parameters=rope(500000.0, rope_type="llama3", factor=factor,
                                                        low_freq_factor=1.0, high_freq_factor=4.0,
                                                        original_max_position_embeddings=8192)))),
    T.Q4_0, "llama3", "llama-bpe",
    np.array([1 / ((1 - s) / factor + s) for s in smooth], np.float32))
write("qwen2", "qwen2", Qwen2ForCausalLM(Qwen2Config(**sizes(
    640, tie_word_embeddings=False, use_sliding_window=False, rope_parameters=rope(1e6)))), T.F16, "qwen2", "qwen2")
write("qwen3", "qwen3", Qwen3ForCausalLM(Qwen3Config(**sizes(
    96, head_dim=16, tie_word_embeddings=True, rope_parameters=rope(1e6)))), T.BF16)
write("gemma", "gemma", GemmaForCausalLM(GemmaConfig(**sizes(
    96, head_dim=16, rope_parameters=rope()))), T.F16)
write("gemma2", "gemma2", Gemma2ForCausalLM(Gemma2Config(**sizes(
    96, head_dim=16, query_pre_attn_scalar=16, sliding_window=4, attn_logit_softcapping=5.0,
    final_logit_softcapping=3.0, rope_parameters=rope()))), T.Q8_0)
write("gpt2", "gpt2", GPT2LMHeadModel(GPT2Config(vocab_size=701, n_embd=32, n_layer=2, n_head=4, n_positions=64,
                                                 attn_implementation="eager")), T.Q8_0, "gpt2", "gpt-2")
write("mixed", "llama", LlamaForCausalLM(LlamaConfig(**sizes(
    96, hidden_size=256, intermediate_size=32, num_attention_heads=2, num_key_value_heads=1, head_dim=16,
    num_hidden_layers=1, tie_word_embeddings=True, rope_parameters=rope()))), "mixed")
save_file(golden, here / "golden.safetensors")
