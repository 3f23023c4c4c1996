"""Sessions of the two sides, and what ran in them."""

from __future__ import annotations

import functools
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnxruntime as ort

from .. import provider
from .cases import Array
from .models import Arrays, CannotRun, Model
from .worker import at_work

SIDES = ("onnxruntime", "octet")
LEVELS = {
    "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
    "none": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
}


def open_session(
    model: Model, side: str, level: str, threads: int = 1, profile: Path | None = None, **options: object
) -> Any:
    """`options` are those of Octet's provider. Raises CannotRun: nothing goes on without the provider asked for."""
    at_work(side)
    settings = ort.SessionOptions()
    settings.log_severity_level = 4
    settings.graph_optimization_level = LEVELS[level]
    settings.intra_op_num_threads = threads
    settings.enable_cpu_mem_arena = level != "none"
    # The pool of the session whose turn it is not must not keep a core busy.
    settings.add_session_config_entry("session.force_spinning_stop", "1")
    if profile:
        settings.enable_profiling = True
        settings.profile_file_prefix = str(profile)
    try:
        if side == "octet":
            return provider.session(model.source, session_options=settings, **options)
        return ort.InferenceSession(model.source, settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a class for each of its codes
        raise CannotRun(f"{model.name}: {side}: {error}") from None


def run(session: Any, model: Model, side: str, feeds: Arrays) -> list[Array]:
    at_work(side)
    try:
        outputs: list[Array] = session.run(None, feeds)
        return outputs
    except Exception as error:
        raise CannotRun(f"{model.name}: {side}: {error}") from None


@dataclass
class Coverage:
    """Of one session on Octet: nodes by the provider's own report, time by onnxruntime's profile."""

    isa: str = ""
    onednn: str = ""
    quantized_nodes: int = 0
    quantized_on_octet: int = 0
    nodes_on_octet: int = 0
    time_share: float = 0.0
    operators: list[dict[str, Any]] = field(default_factory=list)  # name, op_type, backend, implementation, runs
    left: list[str] = field(default_factory=list)  # types of quantized nodes that onnxruntime ran

    @property
    def share(self) -> float:
        return self.quantized_on_octet / self.quantized_nodes if self.quantized_nodes else 1.0


def observed(model: Model, level: str, feeds: Arrays, quantized_types: set[str]) -> tuple[list[Array], Coverage]:
    """Runs on Octet under its report and onnxruntime's profile."""
    report, profile = _scratch() / "report.json", _scratch() / "profile"
    session = open_session(model, "octet", level, profile=profile, report=report)
    outputs = run(session, model, "octet", feeds)
    events = _taken(Path(session.end_profiling()))
    del session  # the report is written when the session ends
    counters = _taken(report)
    kernels = [event for event in events if event["name"].endswith("_kernel_time")]
    on_octet = [event for event in kernels if event["args"]["provider"] == provider.get_ep_name()]
    others = [event["args"]["op_name"] for event in kernels if event not in on_octet]
    total = sum(event["dur"] for event in kernels)
    return outputs, Coverage(
        counters["isa"],
        counters["onednn"],
        counters["quantized_nodes"],
        counters["quantized_taken"],
        counters["nodes_taken"],
        sum(event["dur"] for event in on_octet) / total if total else 0.0,
        counters["operators"],
        sorted({name for name in others if name in quantized_types}),
    )


def run_on_octet(model: Model, feeds: Arrays) -> tuple[list[Array], list[dict[str, Any]]]:
    """Without optimizer and profile; the operators of the provider's report."""
    report = _scratch() / "report.json"
    session = open_session(model, "octet", "none", report=report)
    outputs = run(session, model, "octet", feeds)
    del session
    return outputs, _taken(report)["operators"]


@functools.cache
def _scratch() -> Path:
    """Of this process; the program removes it (worker.py)."""
    return Path(tempfile.mkdtemp())


def _taken(path: Path) -> Any:
    content = json.loads(path.read_text())
    path.unlink()
    return content


def timed(call: Callable[[], object]) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3
