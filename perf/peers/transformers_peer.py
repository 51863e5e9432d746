"""transformers' side of perf/compare, with peft's adapters: transformers_peer.py THREADS. BORA_COMPARE_MODELS names the
folder of all models; `transformers_peer.py make FOLDER` makes one of them from random numbers."""
import os
import pathlib
import sys

import torch
import torch.nn.functional as F
import transformers

from common import integers, serve

transformers.logging.set_verbosity_error()
CONFIGS = {
    "llama_110m": lambda: transformers.LlamaConfig(
        vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=12, num_attention_heads=12,
        max_position_embeddings=1024, tie_word_embeddings=True),
    "t5_small": lambda: transformers.T5Config(dropout_rate=0.0, decoder_start_token_id=0)}   # its defaults: t5-small
JOBS = {"llama_110m": ("llama_110m", 1, 1024, 0, False), "lora_110m": ("llama_110m", 1, 1024, 0, True),
        "t5_small": ("t5_small", 4, 128, 512, False)}
RATE = 1e-4


def make(folder):
    """Written beside the place and renamed, so that a folder that is there is whole."""
    beside = folder.with_suffix(".new")
    config = CONFIGS[folder.name]()
    torch.manual_seed(0)
    kind = transformers.AutoModelForSeq2SeqLM if config.is_encoder_decoder else transformers.AutoModelForCausalLM
    model = kind.from_config(config)
    model.save_pretrained(beside)
    if not config.is_encoder_decoder:
        import peft
        adapters = peft.get_peft_model(model, peft.LoraConfig(
            r=8, lora_alpha=16, target_modules="all-linear", init_lora_weights=False))   # none is zero
        adapters.save_pretrained(beside / "adapters")
    beside.rename(folder)


def training(name, dtype=torch.float32):
    stem, batch, tokens, inputs, lora = JOBS[name]
    folder = pathlib.Path(os.environ["BORA_COMPARE_MODELS"]) / stem
    kind = transformers.AutoModelForSeq2SeqLM if inputs else transformers.AutoModelForCausalLM
    held = {}

    def begin():
        model = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa")
        model.config.use_cache = False
        if lora:
            import peft
            model = peft.PeftModel.from_pretrained(model, folder / "adapters", is_trainable=True)
        held.setdefault("model", model.train())
        with torch.no_grad():
            for to, x in zip(held["model"].parameters(), model.parameters(), strict=True):
                to.copy_(x)
        learnt = [p for p in held["model"].parameters() if p.requires_grad]
        held["optimizer"] = torch.optim.AdamW(learnt, lr=RATE, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    begin()
    model = held["model"]
    vocabulary = model.config.vocab_size
    targets = torch.from_numpy(integers(2, (batch, tokens), vocabulary)).long()
    if inputs:
        start = torch.full((batch, 1), model.config.decoder_start_token_id)
        fed = {"input_ids": torch.from_numpy(integers(1, (batch, inputs), vocabulary)).long(),
               "decoder_input_ids": torch.cat((start, targets[:, :-1]), 1)}
    else:
        fed = {"input_ids": torch.from_numpy(integers(1, (batch, tokens), vocabulary)).long()}

    def loss_of(fed, targets):
        with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
            logits = model(**fed, use_cache=False).logits
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())

    def step(call):
        held["optimizer"].zero_grad(set_to_none=True)
        loss = call(fed, targets)
        loss.backward()
        held["optimizer"].step()
        return loss.item()

    def losses(call):
        begin()
        return {"losses": [step(call) for _ in range(3)]}
    callers = {"eager": loss_of, "compile": torch.compile(loss_of)}
    return {v: (lambda call=call: step(call), lambda call=call: losses(call)) for v, call in callers.items()}


if sys.argv[1] == "make":
    make(pathlib.Path(sys.argv[2]))
else:
    torch.set_num_threads(int(sys.argv[1]))
    serve({name: lambda name=name: training(name) for name in JOBS}
          | {f"{name}_bf16": lambda name=name: training(name, torch.bfloat16) for name in JOBS})
