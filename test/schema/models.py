"""Models of one node, described in words, and what Octet and onnxruntime infer for them."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

Value = str | int | None  # an extent: value, symbol, or not known


@dataclass(frozen=True)
class Tensor:
    """What is known of a value. dims None: not even the rank."""

    dtype: str
    dims: tuple[Value, ...] | None

    def __str__(self) -> str:
        if self.dims is None:
            return self.dtype
        return f"{self.dtype}[{','.join('?' if d is None else str(d) for d in self.dims)}]"


@dataclass
class Result:
    """Outputs (None: absent), or an error. onnxruntime may know the dims only, or have no kernel to tell."""

    outputs: list[Tensor | None] | None = None
    error: str | None = None
    no_kernel: bool = False

    def __str__(self) -> str:
        if self.no_kernel:
            return "no kernel"
        if self.error is not None:
            return "error"
        return "; ".join("" if t is None else str(t) for t in self.outputs or [])


@dataclass
class Case:
    id: str
    op: str
    inputs: list[str]
    outputs: list[str] = field(default_factory=list)
    error: str | None = None
    attributes: dict = field(default_factory=dict)
    domain: str = "com.microsoft"
    opset: int = 1


DTYPES = {"float": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "uint8": TensorProto.UINT8,
          "int8": TensorProto.INT8, "uint16": TensorProto.UINT16, "int16": TensorProto.INT16,
          "int32": TensorProto.INT32, "uint32": TensorProto.UINT32, "uint4": TensorProto.UINT4,
          "int4": TensorProto.INT4}
NAMES = {number: name for name, number in DTYPES.items()}


def parse(text: str) -> Tensor | None:
    """'uint8[2,N,?]', 'uint8' or ''."""
    if not text:
        return None
    match = re.fullmatch(r"(\w+)(?:\[(.*)\])?", text)
    assert match, text
    if match[2] is None:
        return Tensor(match[1], None)
    dims = [d for d in match[2].split(",") if d]
    return Tensor(match[1], tuple(None if d == "?" else int(d) if d.isdigit() else d for d in dims))


def nodes(case: Case) -> tuple[onnx.NodeProto, list[onnx.ValueInfoProto], list[str]]:
    """The node, the graph inputs, and the names of the outputs ('' where absent)."""
    tensors = [parse(text) for text in case.inputs]
    names = [f"in{i}" if t else "" for i, t in enumerate(tensors)]
    values = [helper.make_tensor_value_info(n, DTYPES[t.dtype], t.dims) for n, t in zip(names, tensors) if t]
    outputs = [f"out{i}" if text else "" for i, text in enumerate(case.outputs or ["out"])]
    node = helper.make_node(case.op, names, outputs, name="node", domain=case.domain)
    for name, value in case.attributes.items():
        if value == []:
            node.attribute.append(helper.make_attribute(name, [], attr_type=onnx.AttributeProto.INTS))
        else:
            node.attribute.append(helper.make_attribute(name, value))
    return node, values, outputs


def model(graph_nodes: list[onnx.NodeProto], inputs: list[onnx.ValueInfoProto], outputs: list[str],
          case: Case) -> onnx.ModelProto:
    graph = helper.make_graph(graph_nodes, "graph", inputs, [onnx.ValueInfoProto(name=n) for n in outputs])
    opset = case.opset if case.domain == "" else 21
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def known(dims: list[Value]) -> tuple[Value, ...]:
    """Symbols that an inference made up stand for nothing known."""
    return tuple(None if isinstance(d, str) and d.startswith("unk__") else d for d in dims)


class OctetGraph:
    """liboctet_graph.so."""

    def __init__(self, library: Path) -> None:
        self.lib = ctypes.CDLL(str(library))
        self.lib.octet_graph_last_error.restype = ctypes.c_char_p
        self.lib.octet_graph_infer.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int32, ctypes.c_void_p,
                                               ctypes.POINTER(ctypes.c_uint64)]
        self.lib.octet_graph_check.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int32]

    def last_error(self) -> str:
        return self.lib.octet_graph_last_error().decode()

    def infer_model(self, serialized: bytes, strict: bool = True) -> onnx.ModelProto:
        size = ctypes.c_uint64()
        call = lambda buffer: self.lib.octet_graph_infer(serialized, len(serialized), int(strict), buffer,
                                                         ctypes.byref(size))
        if call(None) != 0:
            raise ValueError(self.last_error())
        buffer = ctypes.create_string_buffer(size.value)
        if call(buffer) != 0:
            raise ValueError(self.last_error())
        return onnx.ModelProto.FromString(buffer.raw[: size.value])

    def infer(self, case: Case) -> Result:
        node, inputs, outputs = nodes(case)
        present = [name for name in outputs if name]
        try:
            inferred = self.infer_model(model([node], inputs, present, case).SerializeToString())
        except ValueError as error:
            return Result(error=str(error))
        types = {value.name: value.type.tensor_type for value in inferred.graph.output}
        return Result([self._tensor(types[name]) if name else None for name in outputs])

    @staticmethod
    def _tensor(tensor: onnx.TypeProto.Tensor) -> Tensor:
        if not tensor.HasField("shape"):
            return Tensor(NAMES.get(tensor.elem_type, "?"), None)
        dims = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in tensor.shape.dim]
        return Tensor(NAMES.get(tensor.elem_type, "?"), known(dims))


class OnnxRuntime:
    """onnxruntime's inference, seen through the types of a session's outputs."""

    def infer(self, case: Case) -> Result:
        node, inputs, outputs = nodes(case)
        present = [name for name in outputs if name]
        # A session shows a value of unknown rank as a scalar; the extent of its Shape tells them apart.
        shapes = [helper.make_node("Shape", [name], [f"{name}_shape"]) for name in present]
        shape_names = [shape.output[0] for shape in shapes]
        try:
            session = self._session(model([node, *shapes], inputs, present + shape_names, case), optimize=False)
        except Exception as error:  # onnxruntime has an exception class for each code
            if "implementation for Shape" in str(error):  # there is none for 4-bit types
                session = self._session(model([node], inputs, present, case), optimize=False)
            elif "NOT_IMPLEMENTED" in str(error):
                return self._without_kernel(model([node, *shapes], inputs, shape_names, case), inputs, outputs)
            else:
                return Result(error=str(error))
        types = {output.name: output for output in session.get_outputs()}
        return Result([self._tensor(types, name) if name else None for name in outputs])

    @staticmethod
    def _tensor(types: dict, name: str) -> Tensor:
        shape = types.get(f"{name}_shape")
        rank_known = isinstance(shape.shape[0], int) if shape else bool(types[name].shape)
        return Tensor(types[name].type[len("tensor("):-1], known(types[name].shape) if rank_known else None)

    def _without_kernel(self, shape_model: onnx.ModelProto, inputs: list[onnx.ValueInfoProto],
                        outputs: list[str]) -> Result:
        """Known extents are folded into constants, which takes the node away, and its type with it."""
        try:
            session = self._session(shape_model, optimize=True)
        except Exception:
            return Result(no_kernel=True)
        feeds = {}
        for value in inputs:
            dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
            feeds[value.name] = np.zeros(dims, helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
        found = iter(session.run(None, feeds))
        return Result([Tensor("?", tuple(int(d) for d in next(found))) if name else None for name in outputs])

    @staticmethod
    def _session(proto: onnx.ModelProto, optimize: bool) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        levels = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = levels.ORT_ENABLE_BASIC if optimize else levels.ORT_DISABLE_ALL
        return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def same(octet: Result, onnxruntime_result: Result) -> bool:
    """Whether two inferences agree, as far as onnxruntime tells."""
    if onnxruntime_result.no_kernel:
        return True
    if octet.error is not None or onnxruntime_result.error is not None:
        return (octet.error is None) == (onnxruntime_result.error is None)
    pairs = zip(octet.outputs or [], onnxruntime_result.outputs or [], strict=True)
    return all(a == b or (b is not None and a is not None and b.dtype == "?" and a.dims == b.dims) for a, b in pairs)
