"""Models and what goes into them."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.inliner
from onnx import helper, numpy_helper

from .cases import Array

Arrays = dict[str, Array]


class CannotRun(Exception):
    """A model, an input or a session that cannot be had; the text says why."""


class BadArgument(Exception):
    """Arguments that contradict themselves or the model; the text says how."""


@dataclass(frozen=True)
class Model:
    name: str
    proto: onnx.ModelProto  # without functions of its own
    path: Path | None = None

    @property
    def source(self) -> str | bytes:
        """What onnxruntime opens: the file, beside which external data may lie."""
        return str(self.path) if self.path else self.proto.SerializeToString()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.path.read_bytes() if self.path else self.proto.SerializeToString()).hexdigest()

    def inputs(self) -> list[onnx.ValueInfoProto]:
        constants = {tensor.name for tensor in self.proto.graph.initializer}
        return [value for value in self.proto.graph.input if value.name not in constants]


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    return {attribute.name: _plain(helper.get_attribute_value(attribute)) for attribute in node.attribute}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, (int, float, str)):
        return value
    return [item.decode(errors="replace") if isinstance(item, bytes) else item for item in value]


@dataclass(frozen=True)
class Scope:
    """A graph of a model: the model's own, whose `path` is "", or the subgraph of a node."""

    path: str
    graph: onnx.GraphProto
    constants: dict[str, onnx.TensorProto]  # those of the graphs around it too

    def named_nodes(self) -> Iterator[tuple[str, onnx.NodeProto]]:
        """With names that no other node of the model has."""
        occurrences = Counter(node.name for node in self.graph.node)
        for index, node in enumerate(self.graph.node):
            own = node.name and occurrences[node.name] == 1
            yield self.path + (node.name if own else f"{node.name or node.op_type}_{index}"), node


def scopes(graph: onnx.GraphProto, path: str = "", around: Mapping[str, onnx.TensorProto] | None = None) -> list[Scope]:
    """The graph, and all graphs in it."""
    scope = Scope(path, graph, {**(around or {}), **{tensor.name: tensor for tensor in graph.initializer}})
    found = [scope]
    for name, node in scope.named_nodes():
        for attribute in node.attribute:
            inner = [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs
            for subgraph in inner:
                found += scopes(subgraph, f"{name}.{attribute.name}/", scope.constants)
    return found


def model_names(paths: Sequence[Path]) -> dict[Path, str]:
    """Names of the files without suffix, or their paths where two files have one name."""
    occurrences = Counter(path.stem for path in paths)
    return {path: path.stem if occurrences[path.stem] == 1 else str(path) for path in paths}


def load_model(path: Path, name: str = "") -> Model:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise CannotRun(f"{path}: the file's name is not UTF-8, which onnxruntime asks for") from None
    try:
        proto = onnx.load(path)
        if proto.functions:  # as onnxruntime does, so that their nodes are nodes of the graph
            proto = onnx.inliner.inline_local_functions(proto)
        return Model(name or path.stem, proto, path)
    except Exception as error:  # onnx and protobuf have many
        raise CannotRun(f"{path}: {error}") from None


def check_names(paths: Sequence[Path], dims: Mapping[str, int], ranges: Mapping[str, tuple[float, float]]) -> None:
    """Raises BadArgument where no model has a name of --dim or --range, which would be ignored in silence."""
    if not dims and not ranges:
        return
    try:
        protos = [onnx.load(path, load_external_data=False) for path in paths]
    except Exception:  # what is no model is told when its turn comes
        return
    values = [value for proto in protos for value in Model("", proto).inputs()]
    extents = {dim.dim_param for value in values for dim in value.type.tensor_type.shape.dim if dim.dim_param}
    for option, given, known in (("--dim", dims, extents), ("--range", ranges, {value.name for value in values})):
        for name in given:
            if name not in known:
                raise BadArgument(
                    f"{option} {name}: the inputs have no such name, but {', '.join(sorted(known)) or 'none'}"
                )


@dataclass(frozen=True)
class Batch:
    """One set of inputs, and where it came from."""

    source: str
    feeds: Arrays

    @property
    def shapes(self) -> dict[str, list[int]]:
        return {name: list(array.shape) for name, array in self.feeds.items()}


def read_batch(model: Model, path: Path) -> Batch:
    """From .npz (arrays by input name), .npy (the only input), or a folder of input_<i>.pb as ONNX's tests have them."""
    names = [value.name for value in model.inputs()]
    try:
        if path.is_dir():
            files = sorted(path.glob("input_*.pb"), key=lambda file: int(file.stem.split("_")[1]))
            tensors = [onnx.load_tensor(file) for file in files]
            feeds = {t.name or names[i]: numpy_helper.to_array(t) for i, t in enumerate(tensors)}
        elif path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                feeds = dict(archive)
        elif path.suffix == ".npy":
            if len(names) != 1:
                raise BadArgument(f"{path}: .npy is for models of one input, this one has {names}")
            feeds = {names[0]: np.load(path, allow_pickle=False)}
        else:
            raise BadArgument(f"{path}: expected .npz, .npy or a folder of input_<i>.pb")
    except BadArgument:
        raise
    except Exception as error:  # zipfile, pickle, protobuf and numpy have many
        raise BadArgument(f"{path}: {error}") from None
    if set(feeds) != set(names):
        raise BadArgument(f"{path} holds {sorted(feeds)}, but the model's inputs are {names}")
    for value in model.inputs():
        _check_form(path, value, feeds[value.name])
    return Batch(str(path), feeds)


def _check_form(path: Path, value: onnx.ValueInfoProto, array: Array) -> None:
    tensor = value.type.tensor_type
    if not tensor.elem_type:  # a sequence or an optional value
        return
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    right = array.dtype.kind in "OSU" if dtype.kind == "O" else array.dtype == dtype
    expected = "text" if dtype.kind == "O" else dtype.name
    if tensor.HasField("shape"):
        extents = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?" for dim in tensor.shape.dim]
        expected += f"[{', '.join(map(str, extents))}]"
        right = right and len(extents) == array.ndim
        right = right and all(isinstance(e, str) or e == given for e, given in zip(extents, array.shape, strict=True))
    if not right:
        given = f"{array.dtype.name}{list(array.shape)}"
        raise BadArgument(f"{path}: input '{value.name}' is {given}, expected {expected}")


def generated_batch(
    model: Model, seed: int, dims: Mapping[str, int], ranges: Mapping[str, tuple[float, float]]
) -> Batch:
    """Contents drawn from types, shapes and ranges."""
    generator = np.random.default_rng(seed)
    try:
        feeds = {value.name: _drawn(value, generator, dims, ranges) for value in model.inputs()}
    except BadArgument as error:
        raise BadArgument(f"{model.name}: {error}") from None
    return Batch(f"seed {seed}", feeds)


def _drawn(
    value: onnx.ValueInfoProto,
    generator: np.random.Generator,
    dims: Mapping[str, int],
    ranges: Mapping[str, tuple[float, float]],
) -> Array:
    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not tensor.HasField("shape"):
        raise BadArgument(f"input '{value.name}' is no tensor of known rank: give inputs with --inputs")
    shape = [_extent(value.name, dim, dims) for dim in tensor.shape.dim]
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    try:
        with np.errstate(over="raise"):
            return _filled(generator, shape, dtype, ranges.get(value.name) or _usual_range(value.name, dtype))
    except (ArithmeticError, MemoryError, ValueError) as error:  # too many elements, or outside of the type
        raise BadArgument(f"input '{value.name}' of {dtype.name}{shape} cannot be generated: {error}") from None


def _extent(name: str, dim: onnx.TensorShapeProto.Dimension, dims: Mapping[str, int]) -> int:
    if dim.HasField("dim_value"):
        return int(dim.dim_value)
    if dim.dim_param in dims:
        return dims[dim.dim_param]
    return 1 if dim.dim_param else _unnamed(name)


def _unnamed(name: str) -> int:
    raise BadArgument(f"input '{name}' has an extent without a name: give inputs with --inputs")


def _usual_range(name: str, dtype: np.dtype[Any]) -> tuple[float, float]:
    if dtype.kind not in "biu":
        return -1.0, 1.0
    if dtype.itemsize == 1 and dtype != np.bool_:
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    # Indices, or masks: where everything is masked, transformers give NaN.
    return (1, 1) if "mask" in name.lower() else (0, 1)


def _filled(
    generator: np.random.Generator, shape: Sequence[int], dtype: np.dtype[Any], limits: tuple[float, float]
) -> Array:
    low, high = limits
    if dtype.kind in "biu":
        return generator.integers(math.ceil(low), math.floor(high), shape, dtype, endpoint=True)
    if dtype == np.object_:
        raise BadArgument("inputs of text cannot be generated: give them with --inputs")
    return generator.uniform(low, high, shape).astype(dtype)


def save_test_case(folder: Path, model: onnx.ModelProto, feeds: Arrays) -> Path:
    """A model with inputs as ONNX's tests lay them out: model.onnx, test_data_set_0/input_<i>.pb."""
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    for other in data.glob("input_*.pb"):  # of an earlier run
        other.unlink()
    onnx.save(model, folder / "model.onnx")
    for index, (name, array) in enumerate(feeds.items()):
        onnx.save_tensor(numpy_helper.from_array(array, name), data / f"input_{index}.pb")
    return folder / "model.onnx"
