"""Two Mixtrals (transformers 5.24.0): with the routers' loss, which counts tokens only; without it, one expert a
token, of three, windows."""
from transformers import MixtralConfig, MixtralForCausalLM

from common import make


def in_files(name, x):
    """The experts' tensors, which the model of transformers 5 stacks: gate and up as one."""
    block, _, name_of = name.partition(".mlp.")
    if not name_of:
        return {name: x}
    moe = block + ".block_sparse_moe."
    if name_of == "gate.weight":
        return {moe + name_of: x}
    parts = {"w2": x}
    if name_of == "experts.gate_up_proj":
        parts = dict(zip(("w1", "w3"), (x[:, :x.shape[1] // 2], x[:, x.shape[1] // 2:])))
    return {f"{moe}experts.{e}.{w}.weight": p[e] for w, p in parts.items() for e in range(x.shape[0])}

SIZES = dict(vocab_size=64, hidden_size=16, intermediate_size=8, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=32, pad_token_id=0, bos_token_id=1, eos_token_id=2,
             attn_implementation="eager", experts_implementation="eager")


def mixtral(**options):
    return MixtralForCausalLM(MixtralConfig(**{**SIZES, **options}))


make("mixtral", mixtral(num_local_experts=4, num_experts_per_tok=2, output_router_logits=True,
                        router_aux_loss_coef=0.02), in_files=in_files)
make("mixtral_windows", mixtral(num_local_experts=3, num_experts_per_tok=1, sliding_window=3, head_dim=6,
                                tie_word_embeddings=True, hidden_act="gelu_pytorch_tanh",
                                rope_parameters={"rope_type": "default", "rope_theta": 1000.0}),
         seed=1, in_files=in_files)
