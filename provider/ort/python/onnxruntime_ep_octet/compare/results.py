"""What a comparison found: the content of the JSON report (report.schema.json; `schema` names its version)."""

from __future__ import annotations

import dataclasses
import math
import os
import platform
import re
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

import onnxruntime_ep_octet as octet

from .. import library
from .measures import Measure
from .sessions import Coverage

SCHEMA = "octet-compare/1"

# How an output or a node stands.
EQUAL, WITHIN, KNOWN, DIFFERENT = "equal", "within tolerance", "known difference", "different"
# How a model, or the whole, stands, and the program's exit status.
PASSED, DIFFERS, NOT_RUN = "passed", "differs", "could not run"
EXIT_STATUS = {PASSED: 0, DIFFERS: 1, NOT_RUN: 2}
BAD_ARGUMENTS = 3


@dataclass
class Verdict:
    """Largest errors of the two sides against the judge."""

    octet: float
    onnxruntime: float

    @property
    def nearer(self) -> str:
        if self.octet == self.onnxruntime:
            return "both alike"
        return "octet" if self.octet < self.onnxruntime else "onnxruntime"


@dataclass
class OutputResult:
    batch: str
    name: str
    dtype: str
    shape: list[int]
    status: str
    measure: Measure | None = None
    verdict: Verdict | None = None
    note: str = ""


@dataclass
class NodeResult:
    """A node (or a case of --operators) with the same inputs on both sides."""

    name: str
    operator: str
    attributes: dict[str, Any]
    status: str
    max_abs: float = 0.0
    differing: int = 0
    elements: int = 0
    backend: str = ""
    implementation: str = ""
    steps: dict[str, int] = field(default_factory=dict)  # as in Measure, of all 8-bit outputs
    verdict: Verdict | None = None
    as_defined: bool | None = None  # Octet is within the tolerance of the definition; None: that was not asked
    refusal: str = ""  # what onnxruntime said instead of a result: then the definition took its place
    note: str = ""

    def __str__(self) -> str:
        attributes = "".join(f" {name}={value}" for name, value in self.attributes.items())
        return f"{self.name}: {self.operator}{attributes}, {self.backend} {self.implementation}"


@dataclass
class Timing:
    """Milliseconds of one side at one number of threads; `blocks` are medians of repeated runs."""

    side: str
    threads: int
    first: float
    median: float
    p95: float
    blocks: list[float]
    peak_memory_mb: float

    @property
    def noise(self) -> float:
        """How far repeated medians lie from the median of all."""
        return float(np.max(np.abs(np.array(self.blocks) / self.median - 1)))


@dataclass
class ModelResult:
    name: str
    path: str
    sha256: str
    level: str
    status: str = PASSED
    problems: list[str] = field(default_factory=list)
    batches: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[OutputResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    coverage: Coverage | None = None
    nodes: list[NodeResult] = field(default_factory=list)
    saved: str = ""
    timings: list[Timing] = field(default_factory=list)
    baseline: list[str] = field(default_factory=list)

    @property
    def results(self) -> list[OutputResult | NodeResult]:
        return [*self.outputs, *self.nodes]

    @property
    def lines(self) -> list[str]:
        """What is wrong, and what the baseline tells."""
        return [*self.problems, *(f"baseline: {line}" for line in self.baseline)]

    @property
    def num_equal(self) -> int:
        return sum(result.status == EQUAL for result in self.results)

    @property
    def max_abs(self) -> float:
        """Without the known differences."""
        errors = [output.measure.max_abs for output in self.outputs if output.measure and output.status != KNOWN]
        return max([*errors, *(node.max_abs for node in self.nodes if node.status != KNOWN)], default=0.0)

    def remark(self, text: str) -> None:
        """Of what the numbers do not cover; once."""
        if text not in self.notes:
            self.notes.append(text)

    def fail(self, text: str, status: str = DIFFERS) -> None:
        self.problems.append(text)
        if self.status != NOT_RUN:
            self.status = status


@dataclass
class Report:
    models: list[ModelResult]
    environment: dict[str, Any]
    seed: int
    schema: str = SCHEMA

    @property
    def status(self) -> str:
        statuses = {model.status for model in self.models}
        return next((status for status in (NOT_RUN, DIFFERS) if status in statuses), PASSED)

    def as_json(self) -> dict[str, Any]:
        content = {"schema": self.schema, "status": self.status, **dataclasses.asdict(self)}
        for model, plain in zip(self.models, content["models"], strict=True):
            for result, entry in zip(model.results, [*plain["outputs"], *plain["nodes"]], strict=True):
                if result.verdict:
                    entry["verdict"]["nearer"] = result.verdict.nearer
            for timing, entry in zip(model.timings, plain["timings"], strict=True):
                entry["noise"] = timing.noise
            if model.coverage:
                plain["coverage"]["share"] = model.coverage.share
        as_json: dict[str, Any] = _in_json(content)
        return as_json


def _in_json(value: Any) -> Any:
    """JSON has no number for an infinite difference."""
    if isinstance(value, dict):
        return {key: _in_json(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_in_json(element) for element in value]
    return "Infinity" if isinstance(value, float) and math.isinf(value) else value


def environment() -> dict[str, Any]:
    return {
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "octet": octet.__version__,
        "onednn": library.onednn_version(),
        "isa": library.cpu_isa(),
        "onnxruntime": ort.__version__,
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.platform(),
    }


def _cpu_model() -> str:
    match = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return match[1] if match else platform.processor()
