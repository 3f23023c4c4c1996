"""The case tables of all operators, each case a model of one node on Octet, against the scalar reference."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from octet_cases import DATA_TYPES, Case, load_table, make_inputs, table_files
from octet_reference import Reference
from onnxruntime_ep_octet.compare.case_models import CARRIERS, case_model

from octet_sessions import Level, octet_session

PER_GROUP = 40  # cases of a group of the table, evenly drawn; fixed ones come all
ALL_ON_OCTET = {"min_coverage": "1"}
# What onnxruntime says where its own schema, not Octet, refuses a node.
REFUSED_BY_SCHEMA = re.compile(r"ShapeInferenceError|TypeInferenceError|Type Error|INVALID_GRAPH|ValidateOpset")


def number(dtype: str) -> int:
    return DATA_TYPES[dtype][0]


@dataclass
class Tally:
    equal: int = 0
    refused: list[str] = field(default_factory=list)  # by onnxruntime's schema
    failed: list[str] = field(default_factory=list)


def same(actual: np.ndarray, expected: np.ndarray) -> bool:
    """Equal bits; any NaN for a NaN."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return False
    bits = f"u{actual.dtype.itemsize}"
    equal = np.ascontiguousarray(actual).view(bits) == np.ascontiguousarray(expected).view(bits)
    if actual.dtype.kind == "f":
        equal |= np.isnan(actual) & np.isnan(expected)
    return bool(equal.all())


def run_case(case: Case, reference: Reference, tally: Tally) -> None:
    inputs = make_inputs(case)
    model, feeds = case_model(case, inputs)
    try:
        session = octet_session(model.proto, ALL_ON_OCTET, Level.ORT_DISABLE_ALL)  # nothing is folded
        outputs = session.run(None, feeds)
    except Exception as failure:
        text = f"{case}: {failure}"
        (tally.refused if REFUSED_BY_SCHEMA.search(text) else tally.failed).append(text)
        return
    ports = [port for port in case.outputs if port is not None]
    wanted = [None if port is None else (number(port.dtype), port.dims) for port in case.outputs]
    expected = reference.run(
        case.domain, case.op_type, case.opset_version, case.attributes, inputs, wanted
    )
    for port, a, e in zip(ports, outputs, expected, strict=True):
        if not same(a, e.astype(DATA_TYPES[CARRIERS.get(port.dtype, port.dtype)][1])):
            tally.failed.append(f"{case}: differs from the reference")
            return
    tally.equal += 1


def selected(path: Path) -> list[Case]:
    groups: dict[str, list[Case]] = {}
    for case in load_table(path):
        groups.setdefault(case.group, []).append(case)
    drawn = []
    for group in groups.values():
        drawn += group[:: 1 if group[0].fixed else max(1, len(group) // PER_GROUP)]
    return drawn


@pytest.fixture(scope="session")
def reference() -> Reference:
    return Reference()


@pytest.mark.parametrize("path", table_files(), ids=lambda path: path.stem)
def test_table(reference: Reference, path: Path) -> None:
    tally = Tally()
    for case in selected(path):
        run_case(case, reference, tally)
    print(f"{path.stem}: {tally.equal} equal, {len(tally.refused)} refused by onnxruntime {ort.__version__}")
    for text in tally.refused + tally.failed:
        print(text)
    assert not tally.failed
    assert tally.equal > len(tally.refused)
