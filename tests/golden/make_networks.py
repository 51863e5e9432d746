"""Writes networks.txt: results and gradients of layers by torch 2.13 in f64.

  python make_networks.py > networks.txt

Operand k of a case has the numbers sin(k + 0.37 i), in Bora's order of axes: x [batch, spatial.., channels], weights
[window.., in / groups, out]. Every line: name, count, numbers; a case without "_d" has results, "<name>_d" the gradient
of sum(result * operand 9) by operand 0 and 1, one after the other."""
import numpy as np
import torch
from torch.nn import functional as F

torch.set_default_dtype(torch.float64)


def operand(k, *shape):
    return torch.tensor(np.sin(k + 0.37 * np.arange(np.prod(shape))).reshape(shape))


def show(name, *ys):
    n = np.concatenate([y.detach().numpy().ravel() for y in ys])
    print(name, n.size, *("%.10g" % v for v in n))


def first(x):
    """Channels first."""
    return x.movedim(-1, 1)


def last(x):
    return x.movedim(1, -1)


def case(name, f, x, w):
    x.requires_grad_(), w.requires_grad_()
    y = f(x, w)
    show(name, y)
    y.backward(operand(9, *y.shape))
    show(name + "_d", x.grad, w.grad)


def conv(f, **options):
    return lambda x, w: last(f(first(x), w.movedim(-1, 0).movedim(-1, 1), **options))


def transposed(f, **options):
    """torch's transposed convolution is conv's gradient: its window is mirrored, [in, out, window..]."""
    def run(x, w):
        flipped = w.flip(*range(w.ndim - 2)).movedim(-1, 0).movedim(-1, 0)
        return last(f(first(x), flipped, **options))
    return run


case("conv1", conv(F.conv1d), operand(0, 2, 7, 3), operand(1, 3, 3, 4))
case("conv2", conv(F.conv2d, stride=(2, 1), padding=(1, 2), dilation=(1, 2)), operand(0, 2, 6, 7, 3),
     operand(1, 3, 2, 3, 4))
case("conv_groups", conv(F.conv2d, groups=2, padding=1), operand(0, 2, 4, 5, 4), operand(1, 3, 3, 2, 6))
case("conv_depthwise", conv(F.conv2d, groups=4), operand(0, 2, 4, 5, 4), operand(1, 3, 3, 1, 4))
case("conv3", conv(F.conv3d, stride=2), operand(0, 1, 4, 5, 3, 2), operand(1, 2, 2, 2, 2, 3))
case("transpose1", transposed(F.conv_transpose1d, stride=2), operand(0, 2, 4, 3), operand(1, 3, 3, 2))
case("transpose2", transposed(F.conv_transpose2d, stride=(2, 3)), operand(0, 2, 3, 4, 3), operand(1, 3, 4, 3, 2))
case("group_norm", lambda x, w: last(F.group_norm(first(x), 3, w, operand(2, 6))), operand(0, 2, 3, 4, 6),
     operand(1, 6))
case("instance_norm", lambda x, w: last(F.instance_norm(first(x), weight=w, bias=operand(2, 6))),
     operand(0, 2, 3, 4, 6), operand(1, 6))
mean, variance = operand(3, 6), 1.5 + operand(4, 6)
old = variance.clone()
x = operand(0, 2, 3, 4, 6)
case("batch_norm", lambda x, w: last(F.batch_norm(first(x), mean, variance, w, operand(2, 6), True, 0.1)), x,
     operand(1, 6))
n = 24  # torch averages unbiased variances, Flax and Bora biased ones
show("batch_stats", mean, 0.9 * old + (variance - 0.9 * old) * (n - 1) / n)
case("batch_norm_infer", lambda x, w: last(F.batch_norm(first(x), operand(3, 6), 1.5 + operand(4, 6), w,
                                                        operand(2, 6), False)), operand(0, 2, 3, 4, 6), operand(1, 6))


def recurrent(kind, gates):
    """Operands: x [batch, time, in], input.weight [in, gates, hidden], its bias, recurrent.weight, its bias (GRU)."""
    net = kind(3, 4, batch_first=True)

    def run(x, w):
        given = {"weight_ih_l0": w.reshape(3, -1).T, "weight_hh_l0": operand(3, 4, gates * 4).T,
                 "bias_ih_l0": operand(2, gates * 4),
                 "bias_hh_l0": operand(4, gates * 4) if gates == 3 else torch.zeros(gates * 4)}
        return torch.func.functional_call(net, given, (x,))[0]
    return run


case("lstm", recurrent(torch.nn.LSTM, 4), operand(0, 2, 5, 3), operand(1, 3, 4, 4))
case("gru", recurrent(torch.nn.GRU, 3), operand(0, 2, 5, 3), operand(1, 3, 3, 4))
show("max_pool", last(F.max_pool2d(first(operand(0, 2, 5, 6, 3)), (3, 2), (2, 2), (1, 1))))
show("avg_pool", last(F.avg_pool2d(first(operand(0, 2, 5, 6, 3)), (3, 2), (2, 2), (1, 1))))
show("avg_pool_valid", last(F.avg_pool2d(first(operand(0, 2, 5, 6, 3)), (3, 2), (2, 2), (1, 1),
                                         count_include_pad=False)))
