"""Two gpt-oss (transformers 5.24.0): with YaRN's angles and a limit that some gates reach; and with plain angles, no
biases of attention, windows in other layers and the routers' loss.

And one whose experts have 4 bits, as OpenAI's files have them, in ../gpt_oss_mxfp4: scores.safetensors has ids i32
[batch, position], logits f32 [batch, position, vocab] in f64 of the numbers that transformers reads, and `experts`, the
first layer's gate_up_proj of them, bf16 [experts, embed, 2 hidden]."""
import json
import os

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import GptOssConfig, GptOssForCausalLM, Mxfp4Config

from common import HERE, make, randomize

SIZES = dict(vocab_size=64, hidden_size=16, intermediate_size=8, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, head_dim=8, max_position_embeddings=32, num_local_experts=4,
             num_experts_per_tok=2, sliding_window=3, pad_token_id=0, bos_token_id=1, eos_token_id=2,
             attn_implementation="eager", experts_implementation="eager")


def model(**options):
    return GptOssForCausalLM(GptOssConfig(**{**SIZES, **options}))


make("gpt_oss", model(swiglu_limit=0.8, rope_parameters={
    "rope_type": "yarn", "rope_theta": 100.0, "factor": 8.0, "beta_fast": 2.0, "beta_slow": 0.5, "truncate": False,
    "original_max_position_embeddings": 8}))
make("gpt_oss_options", model(attention_bias=False, swiglu_alpha=1.2, num_local_experts=3, num_key_value_heads=4,
                              layer_types=["full_attention", "sliding_attention"], tie_word_embeddings=True,
                              output_router_logits=True, router_aux_loss_coef=0.02,
                              rope_parameters={"rope_type": "default", "rope_theta": 1000.0}), seed=1)


def four_bits(folder):
    """Blocks of random codes, scales near 1/8."""
    small = model(vocab_size=32, hidden_size=32, intermediate_size=32, num_local_experts=3).float()
    randomize(small, 2)
    random = np.random.RandomState(7)
    tensors = {}
    for name, x in small.state_dict().items():
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            experts, inputs, outputs = x.shape
            shape = (experts, outputs, inputs // 32)
            tensors[name + "_blocks"] = torch.tensor(random.randint(0, 256, shape + (16,)), dtype=torch.uint8)
            tensors[name + "_scales"] = torch.tensor(random.randint(122, 126, shape), dtype=torch.uint8)
        else:
            tensors[name] = x.bfloat16().contiguous()
    small.config.save_pretrained(folder)
    save_file(tensors, folder + "/model.safetensors", metadata={"format": "pt"})
    with open(folder + "/config.json") as file:
        fields = json.load(file)
    fields["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}
    with open(folder + "/config.json", "w") as file:
        json.dump(fields, file, indent=2)
    read = GptOssForCausalLM.from_pretrained(folder, quantization_config=Mxfp4Config(dequantize=True),
                                             dtype=torch.bfloat16, attn_implementation="eager",
                                             experts_implementation="eager").eval()
    experts = read.model.layers[0].mlp.experts.gate_up_proj.detach().clone()
    ids = torch.tensor(random.randint(3, 32, (2, 8)))
    with torch.no_grad():
        logits = read.double()(ids, use_cache=False).logits
    save_file({"ids": ids.int(), "logits": logits.float(), "experts": experts}, folder + "/scores.safetensors")
    print("gpt_oss_mxfp4: logits to", float(logits.abs().max()), "experts to", float(experts.abs().max()))


four_bits(os.path.join(os.path.dirname(HERE), "gpt_oss_mxfp4"))
