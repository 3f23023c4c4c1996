"""Element-wise operators, reductions and concatenation: cases and their models."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper

from .graph import DOMAIN, NODES, SHORT, Model, random_integers

INTEGERS = ("uint8", "int8")
FLAT = [(1,), (64,), (1024,), (16384,), (1 << 20,), (1 << 22,)]
MATRIX, SMALL_IMAGES, IMAGES = (128, 768), (1, 256, 14, 14), (1, 64, 56, 56)
DIMS = [*FLAT, MATRIX, SMALL_IMAGES, IMAGES]
# With each form, the extents on which it differs from the others.
BINARY = {
    "same": DIMS,
    "scalar": DIMS[2:],
    "last": [MATRIX, IMAGES, (4096, 1024)],
    "channel": [SMALL_IMAGES, IMAGES],
    "outer": [MATRIX, (2048, 2048)],
}
REDUCTIONS = {
    "all": DIMS,
    "last": [MATRIX, (4096, 1024)],
    "first": [MATRIX, (4096, 1024)],
    "spatial": [SMALL_IMAGES, IMAGES, (1, 2048, 7, 7)],
}
FORMS = {
    "QLinearAdd": BINARY,
    "QLinearMul": BINARY,
    "MulInteger": BINARY,
    "QLinearLeakyRelu": {"same": DIMS},
    "QLinearSigmoid": {"same": DIMS},
    "QLinearConcat": {"equal": DIMS, "different": DIMS},
    "QLinearReduceMean": REDUCTIONS,
    "ReduceSumInteger": REDUCTIONS,
}
# onnxruntime has no kernels of these: they are measured in C++ only.
NATIVE_ONLY = {"MulInteger", "QLinearReduceMean", "ReduceSumInteger"}


@dataclass(frozen=True)
class Elementwise:
    """One operator on a tensor of `dims`; `form` tells the other operand, the axes, or the scales."""

    operator: str
    integer: str
    form: str
    dims: tuple[int, ...]
    threads: int = 1

    @property
    def variant(self) -> str:
        return f"{SHORT[self.integer]}, {self.form}"

    @property
    def shape(self) -> str:
        return "x".join(map(str, self.dims))

    @property
    def name(self) -> str:
        return f"{self.operator} {SHORT[self.integer]} {self.form} {self.shape} t{self.threads}"

    @property
    def elements(self) -> int:
        return math.prod(self.dims)

    def native_line(self, copies: int) -> str:
        dims = " ".join(map(str, self.dims))
        return f"elementwise {self.operator} {self.integer} {self.form} {len(self.dims)} {dims}"


def elementwise() -> Iterator[Elementwise]:
    for operator, forms in FORMS.items():
        for integer in INTEGERS:
            for form, all_dims in forms.items():
                for dims in all_dims:
                    yield Elementwise(operator, integer, form, dims)


def operand_dims(case: Elementwise) -> list[tuple[int, ...]]:
    """Extents of the tensors that a node reads."""
    dims = case.dims
    if case.operator == "QLinearConcat":
        return [dims, dims]
    if case.operator in ("QLinearLeakyRelu", "QLinearSigmoid"):
        return [dims]
    second = {"same": dims, "scalar": (), "last": dims[-1:], "channel": (1, *dims[1:2], 1, 1)}
    if case.form == "outer":
        return [(dims[0], 1), (1, dims[1])]
    return [dims, second[case.form]]


def concat_axis(case: Elementwise) -> int:
    return min(1, len(case.dims) - 1)


def output_dims(case: Elementwise) -> tuple[int, ...]:
    if case.operator != "QLinearConcat":
        return case.dims
    axis = concat_axis(case)
    return tuple(2 * d if i == axis else d for i, d in enumerate(case.dims))


def elementwise_model(case: Elementwise) -> bytes:
    """Nodes that read the same tensors; they differ in the output's zero point."""
    model = Model()
    names = [
        model.input(f"X{i}", case.integer, list(dims)) for i, dims in enumerate(operand_dims(case))
    ]
    scale, other_scale = (model.constant(n, np.float32(v)) for n, v in (("s", 0.02), ("t", 0.03)))
    zero = model.constant("z", np.array(3, case.integer))
    for i in range(NODES):
        y = model.output(f"Y{i}", case.integer, list(output_dims(case)))
        y_zero = model.constant(f"y_zero{i}", np.array(i, case.integer))
        model.nodes.append(node(case, names, (scale, other_scale, zero, y_zero), y, i))
    return model.serialized()


def node(
    case: Elementwise, x: list[str], parameters: tuple[str, ...], y: str, i: int
) -> onnx.NodeProto:
    scale, other_scale, zero, y_zero = parameters
    attributes: dict[str, object] = {}
    if case.operator == "QLinearConcat":
        # "equal": a copy, with the output's parameters; node by node another zero point.
        own = (scale, y_zero) if case.form == "equal" else (other_scale, zero)
        inputs = [scale, y_zero, x[0], *own, x[1], *own]
        attributes["axis"] = concat_axis(case)
    elif len(x) == 1:
        inputs = [x[0], scale, zero, other_scale, y_zero]
        if case.operator == "QLinearLeakyRelu":
            attributes["alpha"] = 0.1
    else:
        inputs = [x[0], scale, zero, x[1], other_scale, zero, other_scale, y_zero]
    return helper.make_node(case.operator, inputs, [y], f"node{i}", domain=DOMAIN, **attributes)


def arrays(case: Elementwise) -> dict[str, np.ndarray]:
    return {
        f"X{i}": random_integers(case.integer, dims, i)
        for i, dims in enumerate(operand_dims(case))
    }
