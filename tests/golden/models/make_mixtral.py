"""Two Mixtrals: with the routers' loss, which counts tokens only; without it, one expert a token, of three, windows."""
from transformers import MixtralConfig, MixtralForCausalLM

from common import make

SIZES = dict(vocab_size=96, hidden_size=16, intermediate_size=12, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=32, pad_token_id=0, bos_token_id=1, eos_token_id=2,
             attn_implementation="eager", experts_implementation="eager")


def mixtral(**options):
    return MixtralForCausalLM(MixtralConfig(**{**SIZES, **options}))


make("mixtral", mixtral(num_local_experts=4, num_experts_per_tok=2, output_router_logits=True,
                        router_aux_loss_coef=0.02))
make("mixtral_windows", mixtral(num_local_experts=3, num_experts_per_tok=1, sliding_window=3, head_dim=6,
                                tie_word_embeddings=True, hidden_act="gelu_pytorch_tanh",
                                rope_parameters={"rope_type": "default", "rope_theta": 1000.0}), seed=1)
