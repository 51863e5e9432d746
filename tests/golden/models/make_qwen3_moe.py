"""Two Qwen 3s with experts (transformers 5.24.0): the weights of the chosen experts add up to 1, with the routers'
loss; and they do not, with windows, biases and another activation."""
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

from common import make


def in_files(name, x):
    """The experts' tensors, which the model of transformers 5 stacks: gate and up as one."""
    moe, _, part = name.partition("experts.")
    if not part:
        return {name: x}
    parts = {"down_proj": x}
    if part == "gate_up_proj":
        parts = dict(zip(("gate_proj", "up_proj"), (x[:, :x.shape[1] // 2], x[:, x.shape[1] // 2:])))
    return {f"{moe}experts.{e}.{w}.weight": p[e] for w, p in parts.items() for e in range(x.shape[0])}


SIZES = dict(vocab_size=64, hidden_size=16, intermediate_size=40, moe_intermediate_size=8, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2, head_dim=6, max_position_embeddings=32, pad_token_id=0,
             bos_token_id=1, eos_token_id=2, attn_implementation="eager", experts_implementation="eager")


def model(**options):
    return Qwen3MoeForCausalLM(Qwen3MoeConfig(**{**SIZES, **options}))


make("qwen3_moe", model(num_experts=4, num_experts_per_tok=2, norm_topk_prob=True, output_router_logits=True,
                        router_aux_loss_coef=0.02), in_files=in_files)
make("qwen3_moe_options", model(num_experts=3, num_experts_per_tok=2, use_sliding_window=True, sliding_window=3,
                                attention_bias=True, tie_word_embeddings=True, hidden_act="gelu_pytorch_tanh",
                                rope_parameters={"rope_type": "default", "rope_theta": 1000.0}),
     seed=1, in_files=in_files)
