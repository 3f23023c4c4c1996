"""How fast the two sides are: interleaved in one process; first run and memory in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .models import Batch, CannotRun, Model
from .results import Timing
from .sessions import SIDES, open_session, run, timed

BLOCKS = 5
_WARM_UP_RUNS = 20
_WARM_UP_TIME = 1000.0  # milliseconds

_CHILD = """
import json, re, sys
import numpy as np
from pathlib import Path
from onnx import ModelProto
from onnxruntime_ep_octet.compare.models import Model
from onnxruntime_ep_octet.compare.sessions import open_session, timed
path, side, level, threads, inputs = sys.argv[1:]
with np.load(inputs) as archive:
    feeds = dict(archive)
session = open_session(Model("", ModelProto(), Path(path)), side, level, int(threads))  # not held twice
first = timed(lambda: session.run(None, feeds))
for _ in range(3):
    session.run(None, feeds)
peak = re.search(r"^VmHWM:\\s*([0-9]+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
print(json.dumps([first, int(peak[1]) / 1024]))  # getrusage() would count what the parent held when it forked
"""


def measure_speed(model: Model, batch: Batch, level: str, threads: list[int], runs: int, scratch: Path) -> list[Timing]:
    """`runs` of each side and number of threads, in turns and BLOCKS repeated blocks."""
    timings = []
    for count in threads:
        alone = {side: _alone(model, side, level, count, batch, scratch) for side in SIDES}
        sessions = {side: open_session(model, side, level, count) for side in SIDES}
        for side, session in sessions.items():
            _warm_up(lambda s=session, name=side: run(s, model, name, batch.feeds))  # type: ignore[misc]
        blocks: dict[str, list[list[float]]] = {side: [] for side in SIDES}
        order = list(sessions.items())
        for _ in range(BLOCKS):
            taken: dict[str, list[float]] = {side: [] for side in SIDES}
            for _ in range(max(1, runs // BLOCKS)):
                order.reverse()
                for side, session in order:
                    taken[side].append(timed(lambda s=session: s.run(None, batch.feeds)))  # type: ignore[misc]
            for side in SIDES:
                blocks[side].append(taken[side])
        timings += [_timing(side, count, blocks[side], *alone[side]) for side in SIDES]
    return timings


def _warm_up(call: Callable[[], object]) -> None:
    """Past the runs in which Octet makes plans and counts the session's threads (docs/threads.md)."""
    spent = 0.0
    for _ in range(_WARM_UP_RUNS):
        spent += timed(call)
        if spent > _WARM_UP_TIME:
            return


def _timing(side: str, threads: int, blocks: list[list[float]], first: float, memory: float) -> Timing:
    times = np.array(blocks).ravel()
    medians = [float(np.median(block)) for block in blocks]
    return Timing(side, threads, first, float(np.median(times)), float(np.percentile(times, 95)), medians, memory)


def _alone(model: Model, side: str, level: str, threads: int, batch: Batch, scratch: Path) -> tuple[float, float]:
    """First run in milliseconds and peak memory in MB, of a process that does nothing else."""
    inputs = scratch / "inputs.npz"
    np.savez(inputs, allow_pickle=False, **batch.feeds)
    arguments = [str(model.path), side, level, str(threads), str(inputs)]
    done = subprocess.run([sys.executable, "-c", _CHILD, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise CannotRun(f"{model.name}: {side}, in a process of its own: {reason}")
    first, memory = json.loads(done.stdout)
    return first, memory
