"""The networks of perf/cases/networks.cpp, for PyTorch: images in its own order of dimensions, and channels last."""
import torch
import torch.nn.functional as F

from common import CONV2D, cnn3_inputs, conv2d_inputs


def images(x):
    return torch.from_numpy(x).permute(0, 3, 1, 2)   # a view, channels last in memory


def filters(w):
    return torch.from_numpy(w).permute(3, 2, 0, 1)


def rows(x):
    return x.permute(0, 2, 3, 1)


def conv2d(n, into, out, stride):
    def of(order):
        x, w, d = conv2d_inputs(n, into, out, stride)
        x, w, d = (t.contiguous(memory_format=order) for t in (images(x), filters(w), images(d)))
        x.requires_grad_()
        w.requires_grad_()

        def run():
            y = F.conv2d(x, w, stride=stride, padding=1)
            dx, dw = torch.autograd.grad(y, (x, w), d)
            return rows(y), rows(dx), dw.permute(2, 3, 1, 0)
        return run
    return {"eager": of(torch.contiguous_format), "channels_last": of(torch.channels_last)}


def cnn3():
    def of(order, compiled=False):
        *weights, head, pictures, labels = cnn3_inputs()
        kernels = [filters(w).contiguous(memory_format=order).requires_grad_() for w in weights]
        head = torch.from_numpy(head).requires_grad_()
        x, labels = images(pictures).contiguous(memory_format=order), torch.from_numpy(labels).long()

        def forward(x, *parameters):
            for i in range(3):
                x = F.relu(F.conv2d(x, parameters[i], padding=1))
                if i < 2:
                    x = F.max_pool2d(x, 2)
            return F.cross_entropy(x.mean((2, 3)) @ parameters[3], labels)
        call = torch.compile(forward) if compiled else forward

        def run():
            parameters = (*kernels, head)
            loss = call(x, *parameters)
            slopes = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                after = [p - 0.1 * g for p, g in zip(parameters, slopes)]
            return loss, *(p.permute(2, 3, 1, 0) for p in after[:3]), after[3]
        return run
    return {"eager": of(torch.contiguous_format), "channels_last": of(torch.channels_last),
            "compile": of(torch.channels_last, compiled=True)}


CASES = {**{name: lambda shape=shape: conv2d(*shape) for name, shape in CONV2D.items()}, "cnn3": cnn3}
