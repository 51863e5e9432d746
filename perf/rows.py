"""The rows of perf/compare: their names, peers, targets, and the work of one run."""
import dataclasses

MIB = 1 << 20
TORCH, JAX, TUNED = ("torch", "torch-malloc"), ("jax",), ("torch", "torch-malloc", "jax", "jax-malloc")


@dataclasses.dataclass
class Row:
    case: str
    title: str
    target: float
    peers: tuple
    limit: str = ""        # fma, dram, l2
    amount: float = 0      # flops or bytes of one run
    per: int = 1           # steps in one run
    tolerance: float = 1e-3
    fresh: bool = False    # much memory: in new processes, whose peak is told
    folder: str = ""       # of a model, which peers/transformers_peer.py makes


def gpt2_flops(layers, embed, vocab, batch, tokens):   # products of forward and backward, attention causal
    return 6 * batch * tokens * (12 * layers * embed**2 + vocab * embed) + 6 * layers * batch * tokens**2 * embed


def llama_flops(layers, embed, hidden, vocab, tokens, frozen=False):
    weights = 2 if frozen else 3   # products a weight is in: forward, of the gradient of its input, and of its own
    return (2 * weights * tokens * (layers * (4 * embed**2 + 3 * embed * hidden) + vocab * embed)
            + 6 * layers * tokens**2 * embed)


def t5_flops(layers, embed, heads, hidden, vocab, batch, inputs, tokens):   # heads: of all heads together
    encoder = inputs * (6 * embed * heads + 2 * embed * hidden)   # with keys and values for the decoder
    decoder = tokens * (6 * embed * heads + 2 * embed * hidden)
    attention = 2 * heads * (inputs**2 + tokens**2 // 2 + inputs * tokens)
    return 6 * batch * (layers * (encoder + decoder + attention) + tokens * vocab * embed)


def bert_flops(layers, embed, hidden, batch, tokens):
    return 6 * batch * tokens * layers * (4 * embed**2 + 2 * embed * hidden + 2 * tokens * embed)


GPT2, TRANSFORMERS = ("torch-malloc", "jax-malloc"), ("transformers-malloc",)
RANKS = ("transformers-malloc-ranks",)
ATTENTION = 2 * 4 * 12 * 1024 * 1024 * 64   # q k' and weights v, half of each
BIG = 4096 * 4096 * 4
ROWS = [
    Row("gpt2_b4_t256", "GPT-2 124M step, B4 T256", 1.25, GPT2, "fma", gpt2_flops(12, 768, 50304, 4, 256), fresh=True),
    Row("gpt2_b1_t1024", "GPT-2 124M step, B1 T1024", 1.25, GPT2, "fma", gpt2_flops(12, 768, 50304, 1, 1024),
        fresh=True),
    Row("demo", "demo step (4 x 192, B32 T128)", 1.3, TUNED, "fma", gpt2_flops(4, 192, 256, 32, 128), fresh=True),
    Row("demo_ranks_dp", "demo step, 2 ranks, data parallel", 1.3, ("torch-ranks",), "fma",
        gpt2_flops(4, 192, 256, 32, 128), fresh=True),
    Row("demo_ranks_fsdp", "demo step, 2 ranks, FSDP", 1.3, ("torch-ranks",), "fma", gpt2_flops(4, 192, 256, 32, 128),
        fresh=True),
    Row("llama_110m", "Llama 110M step, B1 T1024", 1.1, TRANSFORMERS, "fma", llama_flops(12, 768, 2048, 32000, 1024),
        fresh=True, folder="llama_110m"),
    Row("lora_110m", "its adapters of rank 8 on all layers, step", 1.1, TRANSFORMERS, "fma",
        llama_flops(12, 768, 2048, 32000, 1024, frozen=True), fresh=True, folder="llama_110m"),
    Row("t5_small", "T5-small step, B4, 512 inputs, 128 targets", 1.1, TRANSFORMERS, "fma",
        t5_flops(6, 512, 512, 2048, 32128, 4, 512, 128), fresh=True, folder="t5_small"),
    Row("llama_110m_bf16", "Llama 110M step in bf16", 1.1, TRANSFORMERS, tolerance=2e-2, fresh=True,
        folder="llama_110m"),
    Row("bert_large", "BERT-large 335M fine-tuning step, B8 T128", 1.2, TRANSFORMERS, "fma",
        bert_flops(24, 1024, 4096, 8, 128), fresh=True, folder="bert_large"),
    Row("bert_large_bf16", "the same in bf16", 1.2, TRANSFORMERS, tolerance=2e-2, fresh=True, folder="bert_large"),
    Row("bert_ranks_dp", "12 layers of it, 2 ranks, data parallel", 1.2, RANKS, "fma",
        bert_flops(12, 1024, 4096, 8, 128), fresh=True, folder="bert_half"),
    Row("bert_ranks_dp_bf16", "the same in bf16", 1.2, RANKS, tolerance=2e-2, fresh=True, folder="bert_half"),
    Row("products", "products of GPT-2's layers, T1024", 1.0, TUNED, "fma", 6 * 1024 * 768 * 768 * (3 + 1 + 4 + 4)),
    Row("vocabulary_product", "product with the vocabulary", 1.25, TUNED, "fma", 2 * 1024 * 768 * 50304),
    Row("attention_forward", "causal attention B4 H12 T1024 D64, forward", 1.35, TUNED, "fma", ATTENTION),
    Row("attention_backward", "the same, forward + backward", 1.35, TUNED, "fma", 3 * ATTENTION),
    *(Row(f"{name}_bf16", f"{title}, bf16", 1.5, TUNED, tolerance=3e-2) for name, title in (
        ("products", "products of GPT-2's layers, T1024"), ("attention_forward", "causal attention B4 H12 T1024 D64"),
        ("attention_backward", "the same, forward + backward"))),
    Row("gpt2_b4_t256_bf16", "GPT-2 124M step in bf16, B4 T256", 1.5, GPT2, tolerance=2e-2, fresh=True),
    Row("demo_bf16", "demo step in bf16", 1.5, TUNED, tolerance=2e-2, fresh=True),
    Row("gelu_16k", "gelu(x*a+b)*c, 16 KiB", 3, TUNED, "l2", 5 * 16384),
    Row("gelu_256k", "gelu(x*a+b)*c, 256 KiB", 3, TUNED, "l2", 5 * 262144),
    Row("gelu_64m", "gelu(x*a+b)*c, 64 MiB", 2.5, TUNED, "dram", 5 * 64 * MIB),
    Row("softmax_1024", "softmax [4096, 1024]", 1.3, TUNED, "dram", 2 * 16 * MIB),
    Row("softmax_50304", "softmax [512, 50304]", 1.3, TUNED, "dram", 2 * 512 * 50304 * 4),
    Row("layer_norm", "layer norm [4096, 768], forward + backward", 1.4, TUNED, "dram", 5 * 4096 * 768 * 4),
    Row("cross_entropy", "cross entropy [1024, 50304], forward + backward", 2, TUNED, "dram", 2 * 1024 * 50304 * 4),
    Row("adamw", "AdamW, 64M parameters", 1.05, TUNED, "dram", 7 * 4 * 64 * MIB, fresh=True),
    Row("embedding_in_place", "embedding gradient 8192 x 768, in place", 1.0, TUNED, "dram", 3 * 8192 * 768 * 4),
    Row("embedding_new", "embedding gradient, new [50257, 768]", 4, TUNED, "dram", (50257 + 3 * 8192) * 768 * 4),
    Row("normals", "standard normals, 64M", 2, TUNED, "dram", 256 * MIB, tolerance=1e-3, fresh=True),
    Row("sharded_init", "the same, born on 8 shards of one process", 5, ("jax8",), "dram", 256 * MIB, fresh=True),
    Row("tokenize", "10 MB of English to ids of byte-level BPE, one thread", 1.0, ("tokenizers",), tolerance=0),
    Row("eager_add", "eager add, 8 values", 2, ("numpy", "torch", "jax")),
    Row("jit_call", "jit call, 50 leaves", 20, ("torch", "jax")),
    Row("scan_small", "scan, tanh(x*w+b) on 8 values, a step", 1.0, JAX, per=1000),
    Row("scan_small_gradient", "its gradient, a step", 1.0, JAX, per=1000),
    Row("scan_carries", "scan, 10 carries of 8, a step", 2, JAX, per=1000),
    Row("scan_product", "scan, tanh(M@x) 64, a step", 1.2, JAX, per=1000),
    Row("scan_product_gradient", "its gradient, a step", 1.2, JAX, per=1000),
    Row("heat2d", "heat equation [512, 512], a step", 1, JAX, per=100),
    Row("heat2d_gradient", "its gradient, a step", 1, JAX, per=100),
    Row("heat2d_small", "heat equation [48, 64] in f64, gradient, a step", 1, JAX, per=200),
    Row("compile_gpt2", "trace + compile of the GPT-2 step", 10, JAX, fresh=True),
    Row("data_pipeline", "data: mix 3:1, shuffle, pack, batch; 8k documents", 10, ("grain",), tolerance=0),
    # beyond the table of the goals: kernels that only move and order
    Row("transpose", "transpose [4096, 4096]", 1, TORCH + ("numpy",), "dram", 2 * BIG),
    Row("transpose_heads", "transpose [4, 1024, 12, 64] -> [4, 12, 1024, 64]", 1, TORCH, "dram", 2 * 12 * MIB),
    Row("concatenate", "concatenate [4096, 4096 + 1024]", 1, TORCH + ("numpy",), "dram", 2.5 * BIG),
    Row("pad", "pad [4096, 4096] by 1, 8", 1, TORCH + ("numpy",), "dram", 2 * BIG),
    Row("gather_rows", "take 8192 rows of [50257, 768]", 1, TORCH, "dram", 2 * 8192 * 768 * 4),
    Row("gather_elements", "take 4M of 1M numbers", 1, TORCH + ("numpy",), "dram", 3 * 16 * MIB),
    Row("scatter_elements", "scatter_add 4M into 1M numbers", 1, TORCH + ("numpy",), "dram",
        2 * 16 * MIB + 2 * 4 * MIB),
    Row("sort", "sort 4M numbers", 1, TORCH + ("numpy",)),
    Row("sort_rows", "sort [4096, 1024]", 1, TORCH + ("numpy",)),
    Row("argsort", "stable argsort of 4M numbers", 1, TORCH + ("numpy",), tolerance=0),
    Row("top_k", "top 40 of [64, 50304]", 1, TORCH),
    Row("cumsum", "cumsum of 16M numbers", 1, TORCH + ("numpy",), "dram", 2 * 64 * MIB, tolerance=1e-2),
    Row("cumsum_rows", "cumsum along [4096, 4096]", 1, TORCH + ("numpy",), "dram", 2 * BIG),
    Row("argmax", "argmax of rows [4096, 4096]", 1, TORCH + ("numpy",), "dram", BIG, tolerance=0),
    Row("sum_columns", "sum of columns [4096, 4096]", 1, TORCH + ("numpy",), "dram", BIG, tolerance=1e-2),
    # programs of scientists
    Row("hmc", "HMC, 64 chains of 16, 50 x 10 steps, f64", 1.2, JAX),
    Row("nuts", "NUTS, 64 chains of 3, 50 draws, f64", 1.2, JAX),
    Row("kalman", "Kalman filter, 1000 steps, f64", 1.2, JAX),
    Row("lstm", "LSTM 128, B32, 100 steps, forward + backward", 1.2, JAX),
    Row("gaussian_process", "Gaussian process of 256 points, gradient, f64", 1.2, JAX),
    Row("bodies", "1024 bodies, a step", 1.2, JAX),
    Row("cnn", "convolution by im2col, forward + backward", 1.2, JAX),
    Row("kuramoto", "Kuramoto-Sivashinsky, 512 points, 1000 steps, f64", 1.2, JAX),
    Row("wave", "wave equation 128^3, 10 steps", 1.2, JAX),
    Row("fft", "FFT of 2^20 complex64 numbers", 1.0, JAX + ("numpy",)),
    Row("fft2", "FFT of complex64 [1024, 1024]", 1.0, JAX + ("numpy",)),
    Row("image_u8", "integers of an image u8 [2048, 2048, 3]", 1.2, JAX, "dram", 2 * 12 * MIB, tolerance=0),
    Row("transposed_chain", "tanh(x' * a + b) [2048, 2048]", 1.2, JAX, "dram", 4 * 16 * MIB),
    Row("sum_middle", "sum of squares over the middle of [256, 1024, 64]", 1.2, JAX, "dram", 64 * MIB),
    Row("sum_two_axes", "sum of squares over axes 0, 2, 3 of [64, 64, 56, 56]", 1.2, JAX, "dram", 49 * MIB),
    Row("softmax_short", "softmax(2 x) of [131072, 8]", 1.2, JAX, "l2", 8 * MIB),
    Row("solve_8", "10,000 solves 8 x 8, f64", 1.0, JAX + ("numpy",)),
    Row("solve_64", "1,000 solves 64 x 64, f64", 1.0, JAX + ("numpy",)),
    *(Row(f"{f}_{n}", f"{f} {n} x {n}, f64", 1.0, JAX + ("numpy",)) for n in (512, 2000)
      for f in ("svd", "eigh", "qr", "cholesky")),
    Row("eig_500", "eig 500 x 500, f64", 1.0, JAX + ("numpy",)),
    Row("associative_scan", "associative scan of 16M rotations", 1.2, JAX, "dram", 4 * 64 * MIB, tolerance=1e-2),
    *(Row(name, f"convolution 3 x 3 of 8 images {n} x {n}, {into} to {out} channels, forward + backward", 1.0,
          TORCH + JAX, "fma", 6 * 8 * (n // stride)**2 * 9 * into * out) for name, n, into, out, stride in (
        ("conv2d_56", 56, 64, 64, 1), ("conv2d_56_stride", 56, 64, 128, 2), ("conv2d_14", 14, 256, 256, 1),
        ("conv2d_7", 7, 512, 512, 1))),
    Row("cnn3", "step of three convolutions, 64 images 32 x 32", 1.2, TUNED),
    # For matrices that no host holds: a quarter of the speed of a whole one is enough.
    *(Row(f"sharded_cholesky_{n}", f"cholesky 2000 x 2000, f64, by columns on {n} ranks of one process", 0.25,
          JAX + ("numpy",)) for n in (1, 4)),
]
