"""Writes torch_layers.txt: results and gradients of layers by torch 2.13 in f64; those that torch lacks (Equinox's
adaptive windows, Flax's MGU cell) by NumPy, from their sources' formulas.

  python make_torch_layers.py > torch_layers.txt

Operands and lines are those of make_networks.py: numbers sin(k + 0.37 i) in Bora's order of axes, x [batch, position,
channels], weights [in.., out..]; "<name>_d" is the gradient by operands 0 and 1."""
import numpy as np
import torch
from torch.nn import functional as F

torch.set_default_dtype(torch.float64)


def operand(k, *shape):
    return torch.tensor(np.sin(k + 0.37 * np.arange(np.prod(shape))).reshape(shape))


def show(name, *ys):
    n = np.concatenate([np.asarray(y.detach()).ravel() for y in ys])
    print(name, n.size, *("%.10g" % v for v in n))


def case(name, f, x, w):
    x.requires_grad_(), w.requires_grad_()
    y = f(x, w)
    show(name, y)
    y.backward(operand(9, *y.shape))
    show(name + "_d", x.grad, w.grad)


def first(x):
    return x.movedim(-1, 1)


def last(x):
    return x.movedim(1, -1)


# ---- MultiheadAttention: embed 8, 2 heads of 4; x [2, 3, 8]; operands 1-4 weights of q, k, v, out, 5-8 their biases,
# 10 and 11 the learned key and value; keys of another sequence are operand 12 [2, 5, 6], their values 13 [2, 5, 7]
def multihead(name, cross=False, more=False, weights=False, **how):
    kdim, vdim = (6, 7) if cross else (8, 8)
    net = torch.nn.MultiheadAttention(8, 2, batch_first=True, add_bias_kv=more, add_zero_attn=more, kdim=kdim,
                                      vdim=vdim)
    k, v, out = operand(2, kdim, 8).T, operand(3, vdim, 8).T, operand(4, 8, 8).T
    rest = {"in_proj_bias": torch.cat([operand(i, 8) for i in (5, 6, 7)]), "out_proj.weight": out,
            "out_proj.bias": operand(8, 8)}
    if more:
        rest |= {"bias_k": operand(10, 1, 1, 8), "bias_v": operand(11, 1, 1, 8)}

    def run(x, q, **kwargs):
        q = q.reshape(8, 8).T
        given = rest | ({"q_proj_weight": q, "k_proj_weight": k, "v_proj_weight": v} if cross else
                        {"in_proj_weight": torch.cat([q, k, v])})
        keys, values = (operand(12, 2, 5, 6), operand(13, 2, 5, 7)) if cross else (x, x)
        return torch.func.functional_call(net, given, (x, keys, values), how | kwargs)
    case(name, lambda x, q: run(x, q, need_weights=False)[0], operand(0, 2, 3, 8), operand(1, 8, 2, 4))
    if weights:
        show(name + "_weights", run(operand(0, 2, 3, 8), operand(1, 8, 2, 4), average_attn_weights=False)[1])


causal = torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)  # torch: true hides
padding = torch.tensor([[False, False, True], [False, False, False]])
multihead("mha_self", weights=True)
multihead("mha_causal", attn_mask=causal)
multihead("mha_padding", key_padding_mask=padding.double().masked_fill(padding, float("-inf")),
          attn_mask=operand(14, 3, 3), weights=True)
multihead("mha_cross", cross=True, key_padding_mask=torch.arange(5)[None] > torch.tensor([[2], [4]]))
multihead("mha_more", more=True, attn_mask=causal, key_padding_mask=padding, weights=True)

# ---- pools
for name, f in ("avg", F.adaptive_avg_pool2d), ("max", F.adaptive_max_pool2d):
    show("adaptive_" + name, last(f(first(operand(0, 2, 5, 7, 3)), (2, 3))))
show("adaptive_longer", last(F.adaptive_avg_pool1d(first(operand(0, 2, 3, 3)), 5)))
show("adaptive_3", last(F.adaptive_max_pool3d(first(operand(0, 1, 4, 5, 3, 2)), (3, 2, 2))))
x = operand(0, 2, 7, 3)  # Equinox: windows [0, 3), [3, 5), [5, 7)
show("adaptive_split", torch.stack([x[:, a:b].mean(1) for a, b in ((0, 3), (3, 5), (5, 7))], 1))

# ---- layers with a weight of another parametrization
case("prelu", lambda x, w: last(F.prelu(first(x), w)), operand(0, 2, 3, 4), operand(1, 4))
case("weight_norm", lambda x, w: F.linear(x, torch._weight_norm(w.T, operand(2, 5, 1) + 2, 0)), operand(0, 2, 4),
     operand(1, 4, 5))
net = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(4, 5, bias=False), n_power_iterations=2)
norm = net.parametrizations.weight[0]
state = {}


def spectral(x, w):
    norm._u.copy_(F.normalize(operand(2, 5), dim=0)), norm._v.copy_(F.normalize(operand(3, 4), dim=0))
    y = torch.func.functional_call(net, {"parametrizations.weight.original": w.T}, (x,))
    return y


case("spectral_norm", spectral, operand(0, 2, 4), operand(1, 4, 5))
show("spectral_state", norm._u, norm._v)

# ---- recurrent cells: x [batch, time, in], input.weight [in, gates, hidden]
rnn = torch.nn.RNN(3, 4, batch_first=True)
case("simple_rnn", lambda x, w: torch.func.functional_call(
    rnn, {"weight_ih_l0": w.reshape(3, 4).T, "weight_hh_l0": operand(3, 4, 4).T, "bias_ih_l0": operand(2, 4),
          "bias_hh_l0": torch.zeros(4)}, (x,))[0], operand(0, 2, 5, 3), operand(1, 3, 1, 4))


def mgu(x, w):
    """flax.linen.MGUCell: f = sigmoid(..), n = tanh(in(x) + f hn(h)), h' = (1 - f) n + f h."""
    h, out = torch.zeros(2, 4), []
    for t in range(5):
        a = torch.einsum("bi,igh->bgh", x[:, t], w) + operand(2, 2, 4)
        b = torch.einsum("bi,igh->bgh", h, operand(3, 4, 2, 4)) + operand(4, 2, 4)
        f = torch.sigmoid(a[:, 0] + b[:, 0])
        n = torch.tanh(a[:, 1] + f * b[:, 1])
        h = (1 - f) * n + f * h
        out.append(h)
    return torch.stack(out, 1)


case("mgu", mgu, operand(0, 2, 5, 3), operand(1, 3, 2, 4))

# ---- feed-forward: layers 4 -> 5 -> 5 -> 3, operands 1-3 the weights, 4-6 the biases
case("deep_mlp", lambda x, w: torch.sigmoid(torch.tanh(torch.tanh(x @ w + operand(4, 5)) @ operand(2, 5, 5) +
                                                       operand(5, 5)) @ operand(3, 5, 3) + operand(6, 3)),
     operand(0, 2, 4), operand(1, 4, 5))
case("dense_general", lambda x, w: torch.einsum("bhi,hio->bho", x, w) + operand(2, 3, 5), operand(0, 2, 3, 4),
     operand(1, 3, 4, 5))
x = 4 * operand(0, 1, 24)[0]
for name, f in {"identity": lambda v: v, "relu": F.relu, "gelu_new": lambda v: F.gelu(v, approximate="tanh"),
                "gelu": F.gelu, "silu": F.silu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "elu": F.elu,
                "celu": F.celu, "selu": F.selu, "leaky_relu": F.leaky_relu, "relu6": F.relu6,
                "relu_squared": lambda v: F.relu(v) ** 2, "softplus": F.softplus, "soft_sign": F.softsign,
                "squareplus": lambda v: (v + torch.sqrt(v * v + 4)) / 2, "mish": F.mish,
                "quick_gelu": lambda v: v * torch.sigmoid(1.702 * v), "hard_tanh": F.hardtanh,
                "hard_sigmoid": F.hardsigmoid, "hard_silu": F.hardswish, "log_sigmoid": F.logsigmoid,
                "sparse_plus": lambda v: torch.where(v <= -1, 0 * v, torch.where(v >= 1, v, (v + 1) ** 2 / 4)),
                "sparse_sigmoid": lambda v: ((v + 1) / 2).clamp(0, 1)}.items():
    show("f_" + name, f(x))
