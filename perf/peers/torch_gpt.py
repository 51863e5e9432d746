"""GPT-2 in PyTorch, as the peers of perf/compare and perf/net train it."""
import torch
import torch.nn.functional as F


class Block(torch.nn.Module):
    def __init__(self, job):
        super().__init__()
        e = job.embed
        self.heads, self.ln_1, self.ln_2 = job.heads, torch.nn.LayerNorm(e), torch.nn.LayerNorm(e)
        self.qkv, self.out = torch.nn.Linear(e, 3 * e), torch.nn.Linear(e, e)
        self.up, self.down = torch.nn.Linear(e, 4 * e), torch.nn.Linear(4 * e, e)

    def forward(self, x):
        b, s, e = x.shape
        q, k, v = (t.view(b, s, self.heads, e // self.heads).transpose(1, 2)
                   for t in self.qkv(self.ln_1(x)).split(e, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, s, e))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Gpt(torch.nn.Module):
    def __init__(self, job):
        super().__init__()
        self.wte, self.wpe = torch.nn.Embedding(job.vocab, job.embed), torch.nn.Embedding(job.positions, job.embed)
        self.blocks, self.ln_f = (torch.nn.ModuleList(Block(job) for _ in range(job.layers)),
                                  torch.nn.LayerNorm(job.embed))

    def forward(self, x, y):
        h = self.wte(x) + self.wpe.weight[: x.shape[1]]
        for b in self.blocks:
            h = b(h)
        return F.cross_entropy((self.ln_f(h) @ self.wte.weight.T).flatten(0, 1), y.flatten())

    @torch.no_grad()
    def load(self, job):
        p = {k: torch.from_numpy(v) for k, v in job.parameters().items()}
        e = job.embed

        def put(to, x):
            if hasattr(to, "placements"):
                x = torch.distributed.tensor.distribute_tensor(x, to.device_mesh, to.placements)
            to.copy_(x)
        put(self.wte.weight, p["wte.weight"]), put(self.wpe.weight, p["wpe"])
        for name in ("weight", "bias"):
            put(getattr(self.ln_f, name), p[f"ln_f.{name}"])
        for i, b in enumerate(self.blocks):
            def leaf(name):
                return p[f"blocks.layer.{name}"][i]
            for norm in ("ln_1", "ln_2"):
                for name in ("weight", "bias"):
                    put(getattr(getattr(b, norm), name), leaf(f"{norm}.{name}"))
            put(b.qkv.weight, torch.cat([leaf(f"attn.{n}.weight").reshape(e, e) for n in "qkv"], 1).T)
            put(b.qkv.bias, torch.cat([leaf(f"attn.{n}.bias").reshape(e) for n in "qkv"]))
            for layer, path in ((b.out, "attn.out"), (b.up, "mlp.up"), (b.down, "mlp.down")):
                (put(layer.weight, leaf(f"{path}.weight").reshape(-1, layer.out_features).T),
                 put(layer.bias, leaf(f"{path}.bias")))
