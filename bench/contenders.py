"""The contenders: each builds a row once and returns `call`, which runs it to the end and returns its result, and `read`, which
makes a NumPy array of that. Compilation happens within the first call, so that it is measured."""

import dataclasses
import importlib.util
import os
import re
import tempfile
from typing import Callable

LEARNING_RATE = 1e-4


def training_step(work, model, wait=lambda: None):
    """The step as users write it: the model may be compiled, the rest is not."""
    import torch

    optimizer = torch.optim.AdamW(work.module.parameters(), lr=LEARNING_RATE, fused=True)

    def step():
        optimizer.zero_grad()
        loss = work.loss(model(*work.inputs), *work.targets)
        loss.backward()
        optimizer.step()
        wait()
        return loss.detach()

    return step


def inference(work, model, wait=lambda: None):
    import torch

    def call():
        with torch.no_grad():
            result = model(*work.inputs)
        wait()
        return result

    return call


def run_with(work, model, *wait):
    step = training_step if work.loss else inference
    return step(work, model, *wait), lambda result: result.detach().float().cpu().numpy()


def eager(row, threads):
    work = row.work()
    return run_with(work, work.module)


def inductor(row, threads):
    import torch

    work = row.work()
    return run_with(work, torch.compile(work.module))


def cresset(row, threads):
    import torch
    import torch_cresset  # noqa: F401

    work = row.work()
    return run_with(work, torch.compile(work.module, backend="cresset"))


def cresset_device(row, threads):
    import torch
    import torch_cresset

    work = row.work()
    work.module.to("cresset")
    work.inputs = tuple(t.to("cresset") for t in work.inputs)
    work.targets = tuple(t.to("cresset") for t in work.targets)
    torch.cresset.synchronize()
    return run_with(work, work.module, torch_cresset.sync)


def cresset_exported(row, threads):
    import torch
    import torch_cresset

    work = row.work()
    with torch.no_grad():
        program = torch.export.export(work.module, work.inputs)
    return run_with(work, torch_cresset.load(program))


def exported(work):
    """The row as StableHLO without composites, and its arguments."""
    import torch
    import torch_cresset

    with torch.no_grad(), torch_cresset.composites("none"):
        program = torch.export.export(work.module, work.inputs)
        text = torch_cresset.stablehlo(program, *work.inputs)
        module = program.module()
    state = dict(module.named_parameters()) | dict(module.named_buffers())
    return text, [t.detach().numpy() for t in (*work.inputs, *state.values())]


def xla(row, threads):
    """Kernels and the MLP as one writes them in JAX; models as our StableHLO, on JAX's XLA."""
    import jax
    import numpy as np

    work = row.work()
    if row.training:
        return jax_training_step(work), np.asarray
    if row.kernel:
        function = jax.jit(jax_kernels()[row.name.partition("@")[0]])
        inputs = [jax.numpy.asarray(t.numpy()) for t in work.inputs]
        return lambda: function(*inputs).block_until_ready(), np.asarray
    from jaxlib import _jax

    text, arrays = exported(work)
    del work
    cpu = jax.local_devices(backend="cpu")[0]
    with jax.enable_x64(True):  # it would narrow 64-bit integers
        arguments = [jax.device_put(a, cpu) for a in arrays]
    program = []

    def call():
        if not program:
            program.append(cpu.client.compile_and_load(text, _jax.DeviceList((cpu,)), _jax.CompileOptions()))
        (result,) = program[0].execute_sharded(arguments).disassemble_into_single_device_arrays()
        return result[0].block_until_ready()

    return call, np.asarray


def jax_kernels():
    import jax
    import jax.numpy as jnp

    def gelu(x):
        return jax.nn.gelu(x, approximate=True)

    def layer_norm(x, weight, bias):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * weight + bias

    def attention(q, k, v):
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
        below = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(jnp.where(below, scores, -jnp.inf), -1), v)

    return dict(gelu=gelu, softmax=lambda x: jax.nn.softmax(x, -1), layer_norm=layer_norm, matmul=jnp.matmul, attention=attention,
                chain=lambda x, bias, scale, residual: gelu(x + bias) * scale + residual, linear_gelu=lambda x, weight, bias: gelu(x @ weight.T + bias))


def jax_training_step(work):
    """The MLP's step with AdamW, all of it one jitted function that updates its state in place."""
    import jax
    import jax.numpy as jnp

    parameters = [jnp.array(p.detach().numpy()) for p in work.module.parameters()]
    (x,), (labels,) = ([jnp.asarray(t.numpy()) for t in tensors] for tensors in (work.inputs, work.targets))

    def loss(parameters, x, labels):
        *hidden, last = zip(parameters[::2], parameters[1::2])
        for weight, bias in hidden:
            x = jax.nn.relu(x @ weight.T + bias)
        scores = jax.nn.log_softmax(x @ last[0].T + last[1])
        return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

    def adamw(p, g, m, v, t, beta1=0.9, beta2=0.999, epsilon=1e-8, decay=1e-2):
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        update = (m / (1 - beta1**t)) / (jnp.sqrt(v / (1 - beta2**t)) + epsilon)
        return p * (1 - LEARNING_RATE * decay) - LEARNING_RATE * update, m, v

    def step(state, x, labels):
        (p, m, v, t), t = state, state[3] + 1
        value, gradient = jax.value_and_grad(loss)(p, x, labels)
        p, m, v = map(list, zip(*(adamw(*each, t) for each in zip(p, gradient, m, v))))
        return (p, m, v, t), value

    step = jax.jit(step, donate_argnums=0)
    zeros = lambda: [jnp.zeros_like(p) for p in parameters]
    state = [(parameters, zeros(), zeros(), jnp.float32(0))]

    def call():
        state[0], value = step(state[0], x, labels)
        jax.block_until_ready(state[0])
        return value

    return call


def iree(row, threads):
    import iree.compiler
    import iree.runtime

    iree.runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
    text, arrays = exported(row.work())
    # The operation that StableHLO has no name for; IREE takes CHLO's, XLA the call.
    text = re.sub(r"stablehlo\.custom_call @mhlo\.erf\((%\w+)\) \{[^\n]*\} : \((\S+)\) -> (\S+)", r"chlo.erf \1 : \2 -> \3", text)
    config = iree.runtime.Config("local-task")
    inputs = [iree.runtime.asdevicearray(config.device, a) for a in arrays]
    main = []

    def call():
        if not main:
            binary = iree.compiler.compile_str(text, input_type="stablehlo", target_backends=["llvm-cpu"],
                                               extra_args=["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3",
                                                           "--iree-llvmcpu-stack-allocation-limit=1048576"])  # as attention needs with AVX-512
            main.append(iree.runtime.load_vm_module(iree.runtime.VmModule.copy_buffer(config.vm_instance, binary), config).main)
        return main[0](*inputs)

    return call, lambda result: result.to_host()


def onnx_file(work):
    import torch

    path = os.path.join(tempfile.mkdtemp(prefix="cresset-bench-"), "row.onnx")
    with torch.no_grad():
        torch.onnx.export(work.module, work.inputs, path, dynamo=True, verbose=False)
    return path, [t.numpy() for t in work.inputs]


def onnxruntime(row, threads):
    import onnxruntime as ort

    path, inputs = onnx_file(row.work())
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = []

    def call():
        if not session:
            session.append(ort.InferenceSession(path, options, providers=["CPUExecutionProvider"]))
        return session[0].run(None, dict(zip((i.name for i in session[0].get_inputs()), inputs)))[0]

    return call, lambda result: result


def openvino(row, threads):
    """In bf16 as its users do it: the model and its inputs stay f32, the runtime computes in bf16."""
    import openvino as ov
    import torch

    precision = "f32" if row.dtype == torch.float32 else "bf16"
    path, inputs = onnx_file(dataclasses.replace(row, dtype=torch.float32).work())
    request = []

    def call():
        if not request:
            core = ov.Core()
            options = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision}
            request.append(core.compile_model(core.read_model(path), "CPU", options).create_infer_request())
            for i, value in enumerate(inputs):
                request[0].set_input_tensor(i, ov.Tensor(value, shared_memory=True))
        request[0].infer()
        return request[0].get_output_tensor(0)

    return call, lambda result: result.data.copy()


def f32_inference(row):
    import torch

    return row.dtype == torch.float32 and not row.training


@dataclasses.dataclass
class Contender:
    title: str
    build: Callable
    needs: tuple = ()                     # modules that must be installed
    ours: bool = False
    cached: bool = False                  # keeps what it compiled on disk for the next process
    runs: Callable = lambda row: True     # whether it can do a row at all


CONTENDERS = dict(
    eager=Contender("eager", eager),
    cresset=Contender("**cresset**, torch.compile", cresset, ("torch_cresset",), ours=True, cached=True),
    cresset_device=Contender("**cresset**, device", cresset_device, ("torch_cresset",), ours=True, cached=True),
    cresset_exported=Contender("**cresset**, exported", cresset_exported, ("torch_cresset",), ours=True, cached=True, runs=lambda row: not row.training),
    inductor=Contender("Inductor", inductor, cached=True),
    xla=Contender("XLA (JAX)", xla, ("jax", "torch_cresset"), runs=lambda row: f32_inference(row) or row.name.startswith("mlp")),
    onnxruntime=Contender("ONNX Runtime", onnxruntime, ("onnxruntime", "onnxscript"), runs=f32_inference),
    openvino=Contender("OpenVINO", openvino, ("openvino", "onnxscript"), runs=lambda row: not row.training),
    iree=Contender("IREE", iree, ("iree", "iree.compiler", "iree.runtime", "torch_cresset"), runs=f32_inference),
)


def installed(name):
    return all(importlib.util.find_spec(module) for module in CONTENDERS[name].needs)
