"""transformers' side of perf/compare, with peft's adapters: transformers_peer.py THREADS. BORA_COMPARE_MODELS names the
folder of all models; `transformers_peer.py make FOLDER` makes one of them from random numbers. As one of several ranks
(RANK, WORLD_SIZE, ..) it joins a gloo group, and each rank has its part of the rows."""
import dataclasses
import os
import pathlib
import sys

import torch
import torch.nn.functional as F
import transformers

from common import integers, serve

transformers.logging.set_verbosity_error()
RANKS = int(os.environ.get("WORLD_SIZE", 1))


@dataclasses.dataclass
class Job:
    folder: str
    batch: int
    tokens: int
    inputs: int = 0       # of an encoder in front of a decoder
    lora: bool = False
    rate: float = 1e-4


def bert(layers):   # large
    return transformers.BertConfig(
        hidden_size=1024, intermediate_size=4096, num_hidden_layers=layers, num_attention_heads=16,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


CONFIGS = {
    "llama_110m": lambda: transformers.LlamaConfig(
        vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=12, num_attention_heads=12,
        max_position_embeddings=1024, tie_word_embeddings=True),
    "t5_small": lambda: transformers.T5Config(dropout_rate=0.0, decoder_start_token_id=0),   # its defaults: t5-small
    "bert_large": lambda: bert(24), "bert_half": lambda: bert(12)}
JOBS = {"llama_110m": Job("llama_110m", 1, 1024), "lora_110m": Job("llama_110m", 1, 1024, lora=True),
        "t5_small": Job("t5_small", 4, 128, 512), "bert_large": Job("bert_large", 8, 128, rate=2e-5),
        "bert_ranks_dp": Job("bert_half", 8, 128, rate=2e-5)}
KINDS = {"llama": transformers.AutoModelForCausalLM, "t5": transformers.AutoModelForSeq2SeqLM,
         "bert": transformers.AutoModelForSequenceClassification}


def make(folder):
    """Written beside the place and renamed, so that a folder that is there is whole."""
    beside = folder.with_suffix(".new")
    config = CONFIGS[folder.name]()
    torch.manual_seed(0)
    model = KINDS[config.model_type].from_config(config)
    model.save_pretrained(beside)
    if folder.name == "llama_110m":
        import peft
        adapters = peft.get_peft_model(model, peft.LoraConfig(
            r=8, lora_alpha=16, target_modules="all-linear", init_lora_weights=False))   # none is zero
        adapters.save_pretrained(beside / "adapters")
    beside.rename(folder)


def training(name, dtype=torch.float32):
    job = JOBS[name]
    folder = pathlib.Path(os.environ["BORA_COMPARE_MODELS"]) / job.folder
    config = transformers.AutoConfig.from_pretrained(folder)
    held = {}

    def begin():
        model = KINDS[config.model_type].from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa")
        model.config.use_cache = False
        if job.lora:
            import peft
            model = peft.PeftModel.from_pretrained(model, folder / "adapters", is_trainable=True)
        held.setdefault("model", model.train())
        with torch.no_grad():
            for to, x in zip(held["model"].parameters(), model.parameters(), strict=True):
                to.copy_(x)
        learnt = [p for p in held["model"].parameters() if p.requires_grad]
        held["optimizer"] = torch.optim.AdamW(learnt, lr=job.rate, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    begin()
    model = held["model"]
    vocabulary = config.vocab_size
    texts = config.model_type == "bert"   # classes of whole texts
    below = config.num_labels if texts else vocabulary
    targets = torch.from_numpy(integers(2, (job.batch,) if texts else (job.batch, job.tokens), below)).long()
    if job.inputs:
        start = torch.full((job.batch, 1), config.decoder_start_token_id)
        fed = {"input_ids": torch.from_numpy(integers(1, (job.batch, job.inputs), vocabulary)).long(),
               "decoder_input_ids": torch.cat((start, targets[:, :-1]), 1)}
    else:
        fed = {"input_ids": torch.from_numpy(integers(1, (job.batch, job.tokens), vocabulary)).long()}
    more = {} if texts else {"use_cache": False}
    if RANKS > 1:
        rank, each = torch.distributed.get_rank(), job.batch // RANKS
        rows = slice(rank * each, (rank + 1) * each)
        fed, targets = {k: x[rows] for k, x in fed.items()}, targets[rows]
        model = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)

    def loss_of(fed, targets):
        with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
            logits = model(**fed, **more).logits
        return F.cross_entropy(logits.float().flatten(0, -2), targets.flatten())

    def step(call):
        held["optimizer"].zero_grad(set_to_none=True)
        loss = call(fed, targets)
        loss.backward()
        held["optimizer"].step()
        if RANKS > 1:
            loss = loss.detach()
            torch.distributed.all_reduce(loss)
            loss /= RANKS
        return loss.item()

    def losses(call):
        begin()
        return {"losses": [step(call) for _ in range(3)]}
    callers = {"ddp": loss_of} if RANKS > 1 else {"eager": loss_of, "compile": torch.compile(loss_of)}
    return {v: (lambda call=call: step(call), lambda call=call: losses(call)) for v, call in callers.items()}


if sys.argv[1] == "make":
    make(pathlib.Path(sys.argv[2]))
else:
    torch.set_num_threads(int(sys.argv[1]))
    if RANKS > 1:
        torch.distributed.init_process_group("gloo")
    serve({name: lambda name=name: training(name) for name in JOBS}
          | {f"{name}_bf16": lambda name=name: training(name, torch.bfloat16) for name in JOBS})
