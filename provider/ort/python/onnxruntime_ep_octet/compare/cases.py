"""The case tables of test/cases: the same cases with the same contents as in C++ (test/cases/README.md)."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

_HERE = Path(__file__).resolve().parent
# Beside this module in the wheel, in test/ of the source tree.
CASE_FOLDER = _HERE / "cases" if (_HERE / "cases").is_dir() else _HERE.parents[4] / "test" / "cases"

# Name in the tables, number of TensorProto.DataType, numpy type. 4-bit elements are held one to an int8 or uint8.
DATA_TYPES: dict[str, tuple[int, Any]] = {
    "float": (1, np.float32),
    "uint8": (2, np.uint8),
    "int8": (3, np.int8),
    "uint16": (4, np.uint16),
    "int16": (5, np.int16),
    "int32": (6, np.int32),
    "int64": (7, np.int64),
    "float16": (10, np.float16),
    "uint32": (12, np.uint32),
    "bfloat16": (16, ml_dtypes.bfloat16),
    "uint4": (21, ml_dtypes.uint4),
    "int4": (22, ml_dtypes.int4),
}
Array = np.ndarray[Any, Any]
FLOAT_TYPES = ("float", "float16", "bfloat16")


@dataclass(frozen=True)
class Port:
    dtype: str
    dims: tuple[int, ...] = ()
    constant: bool = False
    fill: Any = None


@dataclass(frozen=True)
class Case:
    domain: str
    op_type: str
    opset_version: int
    group: str
    name: str
    fixed: bool
    attributes: dict[str, Any] = field(hash=False)
    inputs: tuple[Port | None, ...]
    outputs: tuple[Port | None, ...]

    @property
    def qualified_op(self) -> str:
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type

    def __str__(self) -> str:
        return f"{self.qualified_op}/{self.name}"


def table_files() -> list[Path]:
    return sorted(path for path in CASE_FOLDER.glob("*.json") if path.name != "dispatch.json")


def load_table(path: Path) -> list[Case]:
    table = json.loads(path.read_text())
    return [_make_case(table, group, *variant) for group in table["groups"] for variant in _variants(group)]


def load_cases() -> list[Case]:
    return [case for path in table_files() for case in load_table(path)]


def _resolve(value: Any, bindings: dict[str, Any]) -> Any:
    """Replaces "$name" by what is bound to it; a bound list inside a list is spliced in."""
    if isinstance(value, str) and value.startswith("$"):
        return _resolve(bindings[value[1:]], bindings)
    if isinstance(value, list):
        if all(isinstance(element, (int, float)) for element in value):  # the long ones
            return value
        result: list[Any] = []
        for element in value:
            resolved = _resolve(element, bindings)
            if isinstance(element, str) and isinstance(resolved, list):
                result.extend(resolved)
            else:
                result.append(resolved)
        return result
    if isinstance(value, dict):
        return {key: _resolve(member, bindings) for key, member in value.items()}
    return value


def _label(variable: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return f"no_{variable}"
    text = json.dumps(value, separators=(",", ":"))
    text = text.replace("-", "minus").replace(".", "p").replace(",", "x")
    return variable + re.sub("[^A-Za-z0-9]", "", text)


def _variants(group: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    choices: list[list[tuple[str, dict[str, Any]]]] = []
    if "each" in group:
        choices.append([_row(row) for row in group["each"]])
    for variable, values in group.get("product", {}).items():
        if isinstance(values, dict):
            choices.append([(label, {variable: value}) for label, value in values.items()])
        else:
            choices.append([(_label(variable, value), {variable: value}) for value in values])
    for combination in itertools.product(*choices):
        label = "_".join(part for part, _ in combination if part)
        yield label, {name: value for _, bindings in combination for name, value in bindings.items()}


def _row(row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    bindings = {name: value for name, value in row.items() if name != "label"}
    return row.get("label", "_".join(_label(name, value) for name, value in bindings.items())), bindings


def _make_case(table: dict[str, Any], group: dict[str, Any], label: str, bindings: dict[str, Any]) -> Case:
    attributes = _resolve(group.get("attributes", {}), bindings)
    return Case(
        domain=table.get("domain", ""),
        op_type=table["operator"],
        opset_version=_resolve(group["opset_version"], bindings),
        group=group["name"],
        name=f"{group['name']}/{label}" if label else group["name"],
        fixed=group.get("fixed", False),
        attributes={name: value for name, value in attributes.items() if value is not None},
        inputs=tuple(_port(port) for port in _resolve(group["inputs"], bindings)),
        outputs=tuple(_port(port) for port in _resolve(group["outputs"], bindings)),
    )


def _port(port: dict[str, Any] | None) -> Port | None:
    if port is None:
        return None
    return Port(port["dtype"], tuple(port.get("dims", ())), port.get("constant", False), port.get("fill"))


# --- contents ----------------------------------------------------------------------------------------------------------


def make_inputs(case: Case, seed: int = 0) -> list[Array | None]:
    """Contents for every input; None for absent ones."""
    return [
        None if port is None else filled(port, fnv1a(f"{case.qualified_op}/{case.name}#{index}".encode()) + seed)
        for index, port in enumerate(case.inputs)
    ]


def filled(port: Port, seed: int) -> Array:
    count = int(np.prod(port.dims, dtype=np.int64))
    recipe = port.fill
    if recipe is None:
        recipe = {"uniform": [-8, 8]} if port.dtype in FLOAT_TYPES else "any"
    words = _random_words(seed, count)
    if isinstance(recipe, dict) and "values" in recipe:
        first = _converted([_number(value) for value in recipe["values"]], port.dtype)
        if "rest" not in recipe:
            return np.resize(first, count).reshape(port.dims)
        result = _filled_by(recipe["rest"], words, port.dtype)
        length = min(count, len(first))
        result[:length] = first[:length]
        return result.reshape(port.dims)
    return _filled_by(recipe, words, port.dtype).reshape(port.dims)


def _filled_by(recipe: Any, words: Array, dtype: str) -> Array:
    match recipe:
        case "zeros":
            return np.zeros(len(words), _numpy_type(dtype))
        case "any":
            return _any_bits(words, dtype)
        case "scale":
            mantissa = np.float32(1) + _unit(words)
            return _converted(np.ldexp(mantissa, -3 - (words & np.uint64(7)).astype(np.int32)), dtype)
        case {"uniform": [low, high]}:
            with np.errstate(over="ignore", invalid="ignore"):
                low, high = np.float32(_number(low)), np.float32(_number(high))
                return _converted(low + (high - low) * _unit(words), dtype)
        case {"integers": limits}:
            return _converted(_integers(words, limits), dtype)
        case {"ties": step, "between": limits}:
            ties = (_integers(words, limits).astype(np.float32) + np.float32(0.5)) * np.float32(step)
            return _converted(ties, dtype)
        case {"choose": values}:
            table = _converted([_number(value) for value in values], dtype)
            return table[((words >> np.uint64(32)) % np.uint64(len(values))).astype(np.int64)]
    raise ValueError(f"no such fill: {recipe}")


def _any_bits(words: Array, dtype: str) -> Array:
    match dtype:
        case "uint4":
            return (words & np.uint64(15)).astype(np.uint8).astype(_numpy_type(dtype))
        case "int4":
            nibbles = (words & np.uint64(15)).astype(np.int8)
            return ((nibbles ^ np.int8(8)) - np.int8(8)).astype(_numpy_type(dtype))
    size = np.dtype(_numpy_type(dtype)).itemsize
    bits: Array = words.view(np.uint8).reshape(-1, 8)[:, :size].copy().view(_numpy_type(dtype)).reshape(-1)
    return bits


def _numpy_type(dtype: str) -> Any:
    return DATA_TYPES[dtype][1]


def _number(value: Any) -> float | int:
    return float(value) if isinstance(value, str) else value


def _converted(values: Any, dtype: str) -> Array:
    with np.errstate(over="ignore"):
        if dtype in FLOAT_TYPES:
            return np.asarray(values, np.float64).astype(np.float32).astype(_numpy_type(dtype))
        return np.asarray(values, np.int64).astype(_numpy_type(dtype))


def _integers(words: Array, limits: list[int]) -> Array:
    low, high = limits
    return low + ((words >> np.uint64(11)) % np.uint64(high - low + 1)).astype(np.int64)


def _unit(words: Array) -> Array:
    return (words >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)


def fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def _random_words(seed: int, count: int) -> Array:
    """SplitMix64 at counters 0, 1, ..."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        words = np.uint64(seed % 2**64) + np.arange(1, count + 1, dtype=np.uint64) * golden
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
