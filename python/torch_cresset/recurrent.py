"""What torch.lstm, gru, rnn_tanh and rnn_relu are made of on the device: layers, each a loop over its steps, forward and backward.

PyTorch's own decomposition has the operators of every step one after the other, which take as long to compile as there are steps. It is left what layers don't do: projections, second
derivatives, torch.func's transforms, and reporting arguments that don't fit.
"""

import functools

import torch

_MODES = {"rnn_relu": 0, "rnn_tanh": 1, "lstm": 2, "gru": 3}


def _stepwise(name, x, h, c, weights, reverse):
    """A layer as PyTorch decomposes it, which has second derivatives."""
    x = x.flip(0) if reverse else x
    state = [h[None], c[None]] if name == "lstm" else h[None]
    op = getattr(torch.ops.aten, name).input
    results = op._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, x, state, list(weights), len(weights) == 4, 1, 0.0, False, False, False)
    output = results[0].flip(0) if reverse else results[0]
    return output, results[1][0], results[2][0] if name == "lstm" else None


class _Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, reverse, x, h, c, *weights):
        ctx.name, ctx.rest = name, (_MODES[name], h.shape[-1], 1, len(weights) == 4)
        ctx.reverse = reverse
        padded = weights if len(weights) == 4 else (*weights, h, h)
        output, hy, cy, workspace = torch.ops.aten.mkldnn_rnn_layer(x, *padded, h, h if c is None else c, reverse, [], *ctx.rest, False, False, True)
        ctx.save_for_backward(x, h, c, output, hy, cy, workspace, *weights)
        ctx.set_materialize_grads(False)
        return (output, hy, cy) if name == "lstm" else (output, hy)

    @staticmethod
    def backward(ctx, *gradients):
        x, h, c, output, hy, cy, workspace, *weights = ctx.saved_tensors
        if torch.is_grad_enabled():
            return _second(ctx, gradients, (x, h, c, *weights))
        padded = weights if len(weights) == 4 else (*weights, h, h)
        gradients = (*gradients, None)[:3]
        found = torch.ops.aten.mkldnn_rnn_layer_backward(x, *padded, h, h if c is None else c, output, hy, cy, *gradients, ctx.reverse, *ctx.rest, True, False, [], False, workspace)
        return None, None, found[0], *found[5:6], found[6] if ctx.name == "lstm" else None, *found[1:1 + len(weights)]


def _second(ctx, gradients, inputs):
    """Gradients that have gradients."""
    results = _stepwise(ctx.name, inputs[0], inputs[1], inputs[2], inputs[3:], ctx.reverse)
    used = [(r, g) for r, g in zip(results, gradients) if g is not None]
    wanted = [t for t, w in zip(inputs, ctx.needs_input_grad[2:]) if w]
    found = iter(torch.autograd.grad([r for r, _ in used], wanted, [g for _, g in used], create_graph=True, allow_unused=True))
    return None, None, *[next(found) if w else None for w in ctx.needs_input_grad[2:]]


def _fits(name, x, states, weights, has_biases, layers, directions, batch_first):
    each = 4 if has_biases else 2
    if x.dim() != 3 or x.numel() == 0 or len(weights) != each * layers * directions or len(states) != (2 if name == "lstm" else 1):
        return False
    if any(t.dtype != x.dtype or t.device != x.device for t in (*states, *weights)) or torch._C._functorch.peek_interpreter_stack() is not None:
        return False
    hidden, features = weights[1].shape[-1], x.shape[2]
    gates = {"lstm": 4, "gru": 3}.get(name, 1) * hidden
    if any(s.shape != (layers * directions, x.shape[0 if batch_first else 1], hidden) for s in states):
        return False
    for i in range(0, len(weights), each):
        if i == each * directions:
            features = hidden * directions
        if [tuple(w.shape) for w in weights[i:i + each]] != [(gates, features), (gates, hidden), (gates,), (gates,)][:each]:
            return False
    return True


def _autocast(tensors):
    """As autocast converts what oneDNN's layers are given on the CPU."""
    device = tensors[0].device.type
    if not torch.is_autocast_enabled(device):
        return tensors
    dtype = torch.get_autocast_dtype(device)
    return [t.to(dtype) if t.is_floating_point() and t.dtype != torch.float64 else t for t in tensors]


def _network(name, decomposition, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    count, directions, each = 2 if name == "lstm" else 1, 2 if bidirectional else 1, 4 if has_biases else 2
    x, *rest = _autocast([input, *(hx if name == "lstm" else [hx]), *params])
    states, weights = rest[:count], rest[count:]
    if not _fits(name, x, states, weights, has_biases, num_layers, directions, batch_first):
        return decomposition(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    x, last = x.transpose(0, 1) if batch_first else x, []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            i = layer * directions + direction
            h, c = states[0][i], states[1][i] if name == "lstm" else None
            output, *after = _Layer.apply(name, direction == 1, x, h, c, *weights[i * each:(i + 1) * each])
            outputs.append(output)
            last.append(after)
        x = torch.cat(outputs, 2) if bidirectional else outputs[0]
        if train and dropout and layer + 1 < num_layers:
            x = torch.dropout(x, dropout, True)
    return x.transpose(0, 1) if batch_first else x, *map(torch.stack, zip(*last))


def layers(operator, decomposition):
    """What computes an operator by layers, and by `decomposition` where that is not possible; of operators that are no recurrent networks `decomposition` itself."""
    name, _, overload = operator.partition(".")
    if name not in _MODES or overload != "input":
        return decomposition
    return lambda *args, **kwargs: _network(name, decomposition, *args, **kwargs)


def _in_layers(name, function, *args):
    is_packed = not isinstance(args[2], (list, tuple))
    return function(*args) if is_packed else _network(name, function, *args)


# For forward and backward that are programs of their own: layers pass what they have computed on to their gradients, which whole networks would compute again.
in_layers = {function: functools.partial(_in_layers, name, function) for name in _MODES for function in [getattr(torch, name)]}
