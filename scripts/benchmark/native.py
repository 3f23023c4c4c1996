"""Octet's C++ interface against bare oneDNN, and Eigen in training: runs octet_bench and reads its answers."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from .cases import PATTERN, Case, Encoder, InnerProduct
from .recurrent import Recurrent
from .results import rival_of

# oneDNN's names of the caps that are called otherwise there.
ONEDNN_CAP = {"AVX512_CORE_AMX": "AVX10_1_512_AMX"}


# Of an inner product: the product alone, or the whole with constant weights.
PRODUCT = ("product", "constant")


class Program:
    """octet_bench, fed a case at a time."""

    def __init__(self, program: Path, seconds: float, isa: str | None) -> None:
        environment = dict(os.environ)
        if isa:
            environment["OCTET_MAX_CPU_ISA"] = isa
            environment["ONEDNN_MAX_CPU_ISA"] = ONEDNN_CAP.get(isa, isa)
        self._process = subprocess.Popen(
            [program, str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        self.versions: dict[str, str] = self._answer()

    def _answer(self) -> dict:
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"octet_bench ended with status {self._process.wait()}")
        return json.loads(line)

    def measure(self, case: Case, copies: int) -> dict:
        self._process.stdin.write(case.native_line(copies) + "\n")
        self._process.stdin.flush()
        return arranged(self._answer(), rival_of(case))

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def arranged(answer: dict, rival: str) -> dict:
    """Octet, the faster of the rival's ways, what the hardware could do, and their ratios."""
    differing = answer.pop("differing")
    row = {"octet": answer.pop("octet")}
    bare = {name: times for name, times in answer.items() if name.startswith(rival)}
    if bare:
        best = min(bare, key=lambda name: bare[name]["ratio"])
        row[rival] = {"way": best, **bare[best]}
        row["ratio"] = bare[best]["ratio"]
    parts = [times for name, times in answer.items() if name.startswith(PRODUCT)]
    if parts:  # what the job takes at least: its product and its traffic with memory
        row["product"] = min(parts, key=lambda times: times["ratio"])
        least = row["product"]["median_us"] + answer["memcpy"]["median_us"]
        row["share_of_parts"] = row["octet"]["median_us"] / least
    if "gates" in answer:  # of an LSTM
        without, gates = answer["without products"]["ratio"], answer["gates"]["ratio"]
        row["shares"] = {"products": 1 - without, "gates": gates, "rest": without - gates}
    if "product onednn" in answer:
        row["onednn_product"] = answer["product onednn"]
    if differing > 0:
        row["differing"] = differing
    for name in ("eigen", "memcpy", "plain sum"):
        if name in answer and name not in row:
            row[name] = answer[name]
    for times in row.values():
        if isinstance(times, dict):
            times.pop("ratio", None)
    return row


def is_native(case: Case) -> bool:
    """The C++ part has operators rather than models and patterns, and most with one thread."""
    if isinstance(case, InnerProduct):
        return True
    if isinstance(case, Recurrent):  # where its time goes is much the same in its other forms
        return case.threads == 1 and case.directions == 1 and case.weights == "int8"
    return case.threads == 1 and not isinstance(case, Encoder) and case.operator != PATTERN


def measure(
    program: Program, cases: list[Case], copies_of: Callable[[Case], int]
) -> Iterator[tuple[Case, dict]]:
    for case in cases:
        if is_native(case):
            yield case, program.measure(case, copies_of(case))
