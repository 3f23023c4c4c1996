"""The graph builder of graph.h through ctypes."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int32, c_int64, c_uint64, c_void_p
from pathlib import Path

import numpy as np
from onnx import helper

ROOT = Path(__file__).resolve().parents[2]
TYPES = {"int32_t": c_int32, "int64_t": c_int64, "uint64_t": c_uint64, "float": c_float, "double": c_double}

LSTM_INPUTS = ("X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P", "W_scale", "W_zero_point",
               "R_scale", "R_zero_point")


class GraphError(RuntimeError):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def ctype(text: str) -> type | None:
    """What a type of the header is to ctypes; every pointer but strings and arrays of them is an address."""
    text = text.replace("const ", "").strip()
    if text == "void":
        return None
    if text == "char*":
        return c_char_p
    if "**" in text or "* const*" in text or "*const*" in text:
        return POINTER(c_char_p)
    return c_void_p if "*" in text else TYPES[text]


def declarations(header: str) -> dict[str, tuple[type | None, list[type | None]]]:
    """Result and parameter types of every function that the header declares."""
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    found = {}
    for result, name, parameters in re.findall(r"OCTET_API ([\w ]+?\*?) ?(octet_\w+)\(([^)]*)\);", header):
        types = [re.sub(r"\w+$", "", " ".join(parameter.split())) for parameter in parameters.split(",")]
        found[name] = (ctype(result), [] if parameters == "void" else [ctype(text) for text in types])
    return found


def floats(values: Sequence[float]) -> ctypes.Array:
    return (c_float * len(values))(*values)


def strings(values: Sequence[str | None]) -> ctypes.Array:
    return (c_char_p * len(values))(*[value.encode() if value is not None else None for value in values])


class Library:
    def __init__(self, path: Path) -> None:
        self.lib = ctypes.CDLL(str(path))
        self.functions = declarations((ROOT / "include/octet/graph.h").read_text())
        for name, (result, parameters) in self.functions.items():
            function = getattr(self.lib, name)
            function.restype, function.argtypes = result, parameters

    def last_error(self) -> str:
        return self.lib.octet_graph_last_error().decode()

    def check(self, code: int) -> None:
        if code != 0:
            raise GraphError(code, self.last_error())

    def handle(self, pointer: int | None) -> int:
        if pointer is None:
            raise GraphError(self.lib.octet_graph_last_error_code(), self.last_error())
        return pointer

    def create(self, opset: int = 0) -> Graph:
        return Graph(self, self.handle(self.lib.octet_graph_builder_create(opset)))

    def from_model(self, model: bytes, directory: Path | None = None) -> Graph:
        buffer = ctypes.create_string_buffer(model, len(model))
        folder = str(directory).encode() if directory else None
        return Graph(self, self.handle(self.lib.octet_graph_builder_from_model(buffer, len(model), folder)))

    def from_file(self, path: Path) -> Graph:
        return Graph(self, self.handle(self.lib.octet_graph_builder_from_file(str(path).encode())))

    def quantize_lstm_weight(self, weight: np.ndarray, dtype: int, symmetric: bool, per_channel: bool
                             ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float]:
        """data, scale, zero point, largest and root mean square error of a float [directions, gates, columns]."""
        directions, gates, columns = weight.shape
        numpy_type = helper.tensor_dtype_to_np_dtype(dtype)
        parameters = (directions, gates) if per_channel else (directions,)
        data, scale = np.empty((directions, columns, gates), numpy_type), np.empty(parameters, np.float32)
        zero_point, largest, rms = np.empty(parameters, numpy_type), c_double(), c_double()
        self.check(self.lib.octet_graph_quantize_lstm_weight(
            weight.ctypes.data, directions, gates, columns, dtype, symmetric, per_channel, data.ctypes.data,
            scale.ctypes.data, zero_point.ctypes.data, byref(largest), byref(rms)))
        return data, scale, zero_point, largest.value, rms.value


    def run(self, model: bytes, feeds: Sequence[np.ndarray], options: str | None = None) -> dict[str, np.ndarray]:
        """The outputs of a model, by name, run by Octet alone."""
        buffer = ctypes.create_string_buffer(model, len(model))
        loaded = self.handle(self.lib.octet_graph_model_from_bytes(buffer, len(model), None,
                                                                   options.encode() if options else None))
        run = self.handle(self.lib.octet_graph_run_create(loaded))
        try:
            names = self._output_names(loaded)
            self.lib.octet_graph_model_release(loaded)
            loaded = None
            for i, array in enumerate(feeds):
                self.check(self.lib.octet_graph_run_set_input(
                    run, i, helper.np_dtype_to_tensor_dtype(array.dtype), (c_int64 * array.ndim)(*array.shape),
                    array.ndim, array.ctypes.data, array.nbytes))
            self.check(self.lib.octet_graph_run_execute(run))
            return {name: self._output(run, i) for i, name in enumerate(names)}
        finally:
            self.lib.octet_graph_run_release(run)
            self.lib.octet_graph_model_release(loaded)

    def _output_names(self, model: int) -> list[str]:
        inputs, outputs = c_uint64(), c_uint64()
        self.check(self.lib.octet_graph_model_counts(model, byref(inputs), byref(outputs)))
        names = []
        for function, count in ((self.lib.octet_graph_model_input_name, inputs.value),
                                (self.lib.octet_graph_model_output_name, outputs.value)):
            names = []
            for i in range(count):
                size = c_uint64()
                self.check(function(model, i, None, byref(size)))
                buffer = ctypes.create_string_buffer(size.value)
                self.check(function(model, i, buffer, byref(size)))
                names.append(buffer.value.decode())
        return names

    def _output(self, run: int, index: int) -> np.ndarray:
        dtype, rank, size = c_int32(), c_int32(), c_uint64()
        self.check(self.lib.octet_graph_run_output_info(run, index, byref(dtype), byref(rank), byref(size)))
        dims = (c_int64 * rank.value)()
        self.check(self.lib.octet_graph_run_output_dims(run, index, dims, rank.value))
        array = np.empty(tuple(dims), helper.tensor_dtype_to_np_dtype(dtype.value))
        assert array.nbytes == size.value
        self.check(self.lib.octet_graph_run_copy_output(run, index, array.ctypes.data, size.value))
        return array


class Graph:
    """A builder; values are numbers."""

    def __init__(self, library: Library, builder: int) -> None:
        self.library, self.lib, self.builder = library, library.lib, builder

    def __del__(self) -> None:
        self.lib.octet_graph_builder_release(self.builder)

    def input(self, name: str, dtype: int, dims: Sequence[int | str]) -> int:
        value = c_uint64()
        extents = (c_int64 * len(dims))(*[-1 if isinstance(d, str) else d for d in dims])
        symbols = strings([d if isinstance(d, str) else None for d in dims])
        self.library.check(self.lib.octet_graph_builder_add_input(
            self.builder, name.encode(), dtype, extents, symbols, len(dims), byref(value)))
        return value.value

    def constant(self, array: np.ndarray, name: str = "") -> int:
        value = c_uint64()
        array = np.asarray(array, order="C")  # ascontiguousarray makes 1 dimension of none
        self.library.check(self.lib.octet_graph_builder_add_constant(
            self.builder, name.encode(), helper.np_dtype_to_tensor_dtype(array.dtype),
            (c_int64 * array.ndim)(*array.shape), array.ndim, array.ctypes.data, array.nbytes, byref(value)))
        return value.value

    def node(self, op_type: str, inputs: Mapping[str, int | Sequence[int]], domain: str = "com.microsoft",
             name: str = "", metadata: Mapping[str, str] | None = None, **attributes) -> list[int]:
        node = self.library.handle(self.lib.octet_graph_node_create(domain.encode(), op_type.encode(), name.encode()))
        try:
            for port, values in inputs.items():
                for value in values if isinstance(values, (list, tuple)) else [values]:
                    self.library.check(self.lib.octet_graph_node_add_input(node, port.encode(), value))
            for attribute, content in attributes.items():
                self._set_attribute(node, attribute.encode(), content)
            for key, text in (metadata or {}).items():
                self.library.check(self.lib.octet_graph_node_set_metadata(node, key.encode(), text.encode()))
            outputs, count = (c_uint64 * 8)(), c_uint64(8)
            self.library.check(self.lib.octet_graph_builder_add_node(self.builder, node, outputs, byref(count)))
            return list(outputs[: count.value])
        finally:
            self.lib.octet_graph_node_release(node)

    def _set_attribute(self, node: int, name: bytes, value: object) -> None:
        lib = self.lib
        if isinstance(value, (list, tuple)):
            kind = type(value[0]) if value else int
            arrays = {int: (lib.octet_graph_node_set_ints, lambda v: (c_int64 * len(v))(*v)),
                      float: (lib.octet_graph_node_set_floats, floats),
                      str: (lib.octet_graph_node_set_strings, strings)}
            function, convert = arrays[kind]
            self.library.check(function(node, name, convert(value), len(value)))
        elif isinstance(value, str):
            self.library.check(lib.octet_graph_node_set_string(node, name, value.encode()))
        else:
            function = lib.octet_graph_node_set_int if isinstance(value, int) else lib.octet_graph_node_set_float
            self.library.check(function(node, name, value))

    def lstm(self, inputs: Mapping[str, int], name: str = "", activation_alpha: Sequence[float] = (),
             activation_beta: Sequence[float] = (), activations: Sequence[str] = (), clip: float = 0,
             direction: str | None = None, hidden_size: int = 0, input_forget: bool = False, training: bool = True,
             lda_coeff: float = 1) -> list[int]:
        outputs = (c_uint64 * 3)()
        values = (c_uint64 * 12)(*[inputs.get(port, 0) for port in LSTM_INPUTS])
        self.library.check(self.lib.octet_graph_builder_add_dynamic_quantize_lstm(
            self.builder, name.encode(), values, floats(activation_alpha), len(activation_alpha),
            floats(activation_beta), len(activation_beta), strings(activations), len(activations), clip,
            direction.encode() if direction else None, hidden_size, input_forget, training, lda_coeff, outputs))
        return list(outputs)

    def output(self, value: int, name: str = "") -> None:
        self.library.check(self.lib.octet_graph_builder_add_output(self.builder, value, name.encode()))

    def remove_output(self, value: int) -> None:
        self.library.check(self.lib.octet_graph_builder_remove_output(self.builder, value))

    def value(self, name: str) -> int:
        value = c_uint64()
        self.library.check(self.lib.octet_graph_builder_find_value(self.builder, name.encode(), byref(value)))
        return value.value

    def values(self, kind: str) -> list[int]:
        """Of "inputs" or "outputs"."""
        function = getattr(self.lib, f"octet_graph_builder_{kind}")
        count = c_uint64()
        self.library.check(function(self.builder, None, byref(count)))
        values = (c_uint64 * count.value)()
        self.library.check(function(self.builder, values, byref(count)))
        return list(values)

    def _text(self, function, *arguments: int) -> str:
        size = c_uint64()
        self.library.check(function(self.builder, *arguments, None, byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self.library.check(function(self.builder, *arguments, buffer, byref(size)))
        return buffer.value.decode()

    def name(self, value: int) -> str:
        return self._text(self.lib.octet_graph_builder_value_name, value)

    def type_of(self, value: int) -> tuple[int, list[int | str | None] | None]:
        """Element type and extents, as far as they are known."""
        dtype, rank = c_int32(), c_int32()
        self.library.check(self.lib.octet_graph_builder_value_info(self.builder, value, byref(dtype), byref(rank)))
        if rank.value < 0:
            return dtype.value, None
        dims = (c_int64 * rank.value)()
        self.library.check(self.lib.octet_graph_builder_value_dims(self.builder, value, dims, rank.value))
        symbols = [self._text(self.lib.octet_graph_builder_value_symbol, value, d) for d in range(rank.value)]
        return dtype.value, [d if d >= 0 else symbol or None for d, symbol in zip(dims, symbols)]

    def verify(self) -> None:
        self.library.check(self.lib.octet_graph_builder_check(self.builder))

    def serialize(self) -> bytes:
        size = c_uint64()
        self.library.check(self.lib.octet_graph_builder_serialize(self.builder, None, byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self.library.check(self.lib.octet_graph_builder_serialize(self.builder, buffer, byref(size)))
        return buffer.raw[: size.value]

    def save(self, path: Path, threshold: int = 1 << 20) -> None:
        self.library.check(self.lib.octet_graph_builder_save(self.builder, str(path).encode(), threshold))
