"""Sessions on Octet and on the CPU provider, and what ran where in them."""

import gc
import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

OCTET = "OctetExecutionProvider"
CPU = "CPUExecutionProvider"
ROOT = Path(__file__).resolve().parents[2]
LIBRARY = Path(os.environ.get("OCTET_EP_LIBRARY", ROOT / "build/release/libonnxruntime_ep_octet.so"))

IS_ORT_1_24 = ort.__version__.startswith("1.24.")

Level = ort.GraphOptimizationLevel
Arrays = Mapping[str, np.ndarray]


def octet_device() -> Any:
    return next(device for device in ort.get_ep_devices() if device.ep_name == OCTET)


def session_options(
    options: Mapping[str, str] | None = None,
    level: Level = Level.ORT_ENABLE_ALL,
    threads: int = 1,
    entries: Mapping[str, str] | None = None,
) -> ort.SessionOptions:
    """Options of a session on Octet; None for one without it."""
    result = ort.SessionOptions()
    result.log_severity_level = 3  # errors
    result.graph_optimization_level = level
    result.intra_op_num_threads = threads
    for key, value in (entries or {}).items():
        result.add_session_config_entry(key, value)
    if options is not None:
        result.add_provider_for_devices([octet_device()], dict(options))
    return result


def octet_session(
    model: onnx.ModelProto,
    options: Mapping[str, str] | None = None,
    level: Level = Level.ORT_ENABLE_ALL,
    threads: int = 1,
    entries: Mapping[str, str] | None = None,
) -> ort.InferenceSession:
    return open_session(model, session_options(options or {}, level, threads, entries))


def open_session(model: onnx.ModelProto, options: ort.SessionOptions) -> ort.InferenceSession:
    """Without the wrapper's own fallback: version 1.24 tries again on the CPU where a provider fails."""
    return ort.InferenceSession(model.SerializeToString(), options, enable_fallback=False)


def cpu_session(
    model: onnx.ModelProto, level: Level = Level.ORT_DISABLE_ALL, threads: int = 1
) -> ort.InferenceSession:
    """Without fusions, so that the operators are computed one by one as the model has them."""
    return ort.InferenceSession(
        model.SerializeToString(),
        session_options(None, level, threads),
        providers=[CPU],
    )


@dataclass(frozen=True)
class Run:
    """One run on Octet: outputs, the report, and how many nodes of each kind each provider ran."""

    outputs: list[np.ndarray]
    report: dict[str, Any]
    nodes: Counter[tuple[str, str]]  # (provider, op type); "group" for a fused group

    @property
    def groups(self) -> int:
        return self.nodes[OCTET, "group"]

    def on_cpu(self) -> dict[str, int]:
        return {op: count for (provider, op), count in self.nodes.items() if provider == CPU}

    def on_octet(self) -> dict[str, int]:
        return {op: count for (provider, op), count in self.nodes.items() if provider == OCTET}

    def operators(self) -> Counter[str]:
        """Runs of Octet's operators by type."""
        runs: Counter[str] = Counter()
        for operator in self.report["operators"]:
            runs[operator["op_type"]] += operator["runs"]
        return runs


def executed_nodes(profile: Path) -> Counter[tuple[str, str]]:
    """The nodes that ran, from onnxruntime's own profile."""
    nodes: Counter[tuple[str, str]] = Counter()
    for event in json.loads(profile.read_text()):
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            provider, op = event["args"]["provider"], event["args"]["op_name"]
            nodes[provider, "group" if op.startswith(OCTET) else op] += 1
    return nodes


def run_profiled(
    model: onnx.ModelProto,
    feeds: Arrays,
    folder: Path,
    options: Mapping[str, str] | None = None,
    level: Level = Level.ORT_ENABLE_ALL,
    threads: int = 1,
    entries: Mapping[str, str] | None = None,
) -> Run:
    report = folder / "report.json"
    settings = session_options({"report": str(report), **(options or {})}, level, threads, entries)
    settings.enable_profiling = True
    settings.profile_file_prefix = str(folder / "profile")
    session = open_session(model, settings)
    outputs = session.run(None, dict(feeds))
    nodes = executed_nodes(Path(session.end_profiling()))
    del session
    gc.collect()
    return Run(outputs, json.loads(report.read_text()), nodes)


def assert_same_bits(actual: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected, strict=True):
        assert a.dtype == e.dtype and a.shape == e.shape, f"{a.dtype}{a.shape}, {e.dtype}{e.shape}"
        bits = f"u{a.dtype.itemsize}"
        differing = np.flatnonzero(
            np.ascontiguousarray(a).view(bits).ravel() != np.ascontiguousarray(e).view(bits).ravel()
        )
        if differing.size:
            first = differing[0]
            raise AssertionError(
                f"{differing.size} of {a.size} values differ, first at {first}: "
                f"{a.ravel()[first]} instead of {e.ravel()[first]}"
            )


def run_compared(
    model: onnx.ModelProto, feeds: Arrays, folder: Path, level: Level = Level.ORT_ENABLE_ALL
) -> Run:
    """Runs on Octet; the outputs have the bits that the operators give one by one."""
    run = run_profiled(model, feeds, folder, level=level)
    assert_same_bits(run.outputs, cpu_session(model).run(None, dict(feeds)))
    return run
