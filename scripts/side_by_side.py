"""Runs a model in onnxruntime on its own CPU provider and on Octet, in one process and by turns."""

import gc
import json
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnxruntime as ort

CPU, OCTET = "CPUExecutionProvider", "OctetExecutionProvider"
FUSED_GROUP = "fused group"
PLUGIN = Path(__file__).resolve().parents[1] / "build" / "release" / "libonnxruntime_ep_octet.so"
LEVELS = {
    "BASIC": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "ALL": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}

Inputs = Mapping[str, np.ndarray]


def register_octet(plugin: Path = PLUGIN) -> None:
    ort.register_execution_provider_library("octet", str(plugin))


def open_session(
    model: Path,
    provider: str,
    level: str = "ALL",
    threads: int = 1,
    options: Mapping[str, str] = {},
    profile: Path | None = None,
) -> ort.InferenceSession:
    """A session that fails, rather than goes on without the provider, where the provider fails."""
    settings = ort.SessionOptions()
    settings.graph_optimization_level = LEVELS[level]
    settings.intra_op_num_threads = threads
    settings.log_severity_level = 3  # errors: it warns of every model with nodes of shapes
    # The pool of the session whose turn it is not must not keep a core busy.
    settings.add_session_config_entry("session.force_spinning_stop", "1")
    if profile:
        settings.enable_profiling = True
        settings.profile_file_prefix = str(profile)
    if provider == OCTET:
        device = next(d for d in ort.get_ep_devices() if d.ep_name == OCTET)
        settings.add_provider_for_devices([device], dict(options))
    providers = [CPU] if provider == CPU else None
    return ort.InferenceSession(model, settings, providers=providers, enable_fallback=False)


@dataclass
class OperatorTime:
    nodes: set[str] = field(default_factory=set)
    microseconds: float = 0.0  # per run


Profile = dict[tuple[str, str], OperatorTime]  # by provider and operator


def read_profile(file: Path, runs: int) -> Profile:
    """The time of each operator, and of all fused groups, in the last `runs` runs of a profile."""
    events = json.loads(file.read_text())
    start = sorted(e["ts"] for e in events if e["name"] == "model_run")[-runs]
    profile: Profile = {}
    for event in events:
        if event["ts"] < start or not event["name"].endswith("_kernel_time"):
            continue
        provider, name = event["args"]["provider"], event["args"]["op_name"]
        if name.startswith(provider):  # onnxruntime calls a fused group <provider>_<hash>_<number>
            name = FUSED_GROUP
        operator = profile.setdefault((provider, name), OperatorTime())
        operator.nodes.add(event["name"])
        operator.microseconds += event["dur"] / runs
    return profile


def profile_octet(model: Path, inputs: Inputs, level: str, runs: int = 20) -> tuple[Profile, dict]:
    """Runs a model on Octet at one thread: onnxruntime's profile and Octet's report of all runs."""
    with tempfile.TemporaryDirectory() as folder:
        report, trace = Path(folder, "report.json"), Path(folder, "profile")
        session = open_session(model, OCTET, level, options={"report": str(report)}, profile=trace)
        for _ in range(runs):
            session.run(None, inputs)
        profile = read_profile(Path(session.end_profiling()), runs - 1)
        del session  # the report is written when the session is released
        gc.collect()
        return profile, json.loads(report.read_text())


def interleaved_ms(
    sessions: Mapping[str, ort.InferenceSession], inputs: Inputs, turns: int, runs_per_turn: int = 5
) -> dict[str, np.ndarray]:
    """Milliseconds of each run; the sessions take turns, so what disturbs one disturbs all."""
    times: dict[str, list[float]] = {name: [] for name in sessions}
    order = list(sessions.items())
    for _, session in order:
        session.run(None, inputs)
    for _ in range(turns):
        order.reverse()
        for name, session in order:
            for _ in range(runs_per_turn):
                start = time.perf_counter()
                session.run(None, inputs)
                times[name].append((time.perf_counter() - start) * 1e3)
    return {name: np.array(values) for name, values in times.items()}
