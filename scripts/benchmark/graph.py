"""Models in the making."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NODES = 16
DOMAIN = "com.microsoft"
ELEMENT = {
    "uint8": TensorProto.UINT8,
    "int8": TensorProto.INT8,
    "int32": TensorProto.INT32,
    "float": TensorProto.FLOAT,
}
SHORT = {"uint8": "u8", "int8": "s8", "int32": "s32", "float": "f32", "bfloat16": "bf16"}


class Model:
    """Nodes, constants, inputs and outputs in the making."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants[name] = value
        return name

    def input(self, name: str, element: str, shape: list) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, ELEMENT[element], shape))
        return name

    def output(self, name: str, element: str, shape: list) -> str:
        self.outputs.append(helper.make_tensor_value_info(name, ELEMENT[element], shape))
        return name

    def serialized(self) -> bytes:
        initializers = [numpy_helper.from_array(v, n) for n, v in self.constants.items()]
        graph = helper.make_graph(self.nodes, "bench", self.inputs, self.outputs, initializers)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def random_integers(element: str, shape: tuple, seed: int) -> np.ndarray:
    """Values of the type's whole range."""
    limits = np.iinfo(element)
    generator = np.random.default_rng(seed)
    return generator.integers(limits.min, limits.max, shape, np.dtype(element), endpoint=True)
