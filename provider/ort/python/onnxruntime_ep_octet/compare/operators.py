"""The whole library against onnxruntime: each operator over its case table, as models of one node."""

from __future__ import annotations

import ctypes
import functools
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from .case_models import case_model
from .cases import Case, load_table, make_inputs, table_files
from .models import CannotRun
from .nodes import NOT_TAKEN, compare_single, save_difference
from .results import DIFFERENT, KNOWN, NOT_RUN, ModelResult, NodeResult
from .tolerances import Tolerances, read_tolerances
from .worker import Ended, Fault, Worker

KNOWN_DIFFERENCES = Path(__file__).with_name("known_differences.yaml")
_SECONDS_OF_A_CASE = 120.0
_M_PERTURB = -6  # of malloc.h

# What onnxruntime says where its own schema refuses a node that Octet's definition allows.
_NOT_IN_ONNXRUNTIME = re.compile(r"ShapeInferenceError|TypeInferenceError|Type Error|INVALID_GRAPH|ValidateOpset")


@dataclass(frozen=True)
class Selection:
    """`per_group` cases of each group of a table, evenly drawn, 0: all; of those whose name fits `only`."""

    per_group: int
    only: str
    seed: int

    def draw(self, cases: list[Case]) -> list[Case]:
        groups: dict[str, list[Case]] = {}
        for case in cases:
            if fnmatchcase(str(case), self.only):
                groups.setdefault(case.group, []).append(case)
        return [case for group in groups.values() for case in self._evenly(group)]

    def _evenly(self, group: list[Case]) -> Iterator[Case]:
        count = min(self.per_group or len(group), len(group))
        return (group[i * len(group) // count] for i in range(count))


def compare_operators(
    tolerances: Tolerances, selection: Selection, deadline: float, folder: Path, progress: Callable[[str], None]
) -> list[ModelResult]:
    """One result for each table; `deadline` is of time.monotonic(): cases that it cuts off are told, and fail."""
    tolerances = replace(tolerances, known=[*tolerances.known, *read_tolerances(KNOWN_DIFFERENCES).known])
    results = []
    with Worker(progress) as worker:
        for path in table_files():
            cases = selection.draw(load_table(path))
            if cases:
                table = _Table(
                    ModelResult(path.stem, "", "", "none"), worker, tolerances, selection.seed, deadline, folder
                )
                results.append(table.compare(cases, progress))
    return results


def compare_case(case: Case, seed: int, table: str, tolerances: Tolerances, ended: str = "") -> NodeResult:
    _fill_new_memory()
    model, feeds = case_model(case, make_inputs(case, seed))
    node = compare_single(model, feeds, table, tolerances, ended)
    # What is known of onnxruntime does not excuse Octet.
    if node.status == KNOWN and not node.as_defined:
        node.status = DIFFERENT
    return node


@functools.cache
def _fill_new_memory() -> None:
    """Makes outputs that nobody writes differ in every run, not only where the memory was used before. glibc fills new
    memory with the complement: floats of 1.5e16."""
    ctypes.CDLL(None).mallopt(_M_PERTURB, 0xFF - 0x5A)


@dataclass
class _Table:
    result: ModelResult
    worker: Worker
    tolerances: Tolerances
    seed: int
    deadline: float
    folder: Path
    refused: int = 0
    cut: int = 0
    saved: bool = False

    def compare(self, cases: list[Case], progress: Callable[[str], None]) -> ModelResult:
        for number, case in enumerate(cases):
            progress(f"{self.result.name}: {number} of {len(cases)}")
            self._compare(case)
        if self.refused:
            self.result.remark(f"{self.refused} cases are refused by onnxruntime's schemas")
        if self.cut:
            self.result.fail(f"{self.cut} of {len(cases)} cases were not reached within the time limit", NOT_RUN)
        return self.result

    def _compare(self, case: Case) -> None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            self.cut += 1
            return
        try:
            self._add(case, self._compared(case, min(left, _SECONDS_OF_A_CASE)))
        except Ended as end:
            if time.monotonic() >= self.deadline:
                self.cut += 1
            else:
                self.result.fail(f"{case}: {end}", NOT_RUN)
        except (CannotRun, Fault) as error:
            if isinstance(error, CannotRun) and _NOT_IN_ONNXRUNTIME.search(str(error)):
                self.refused += 1
            else:
                self.result.fail(f"{case}: {error}", NOT_RUN)

    def _compared(self, case: Case, seconds: float) -> NodeResult:
        arguments = (case, self.seed, self.result.name, self.tolerances)
        try:
            node: NodeResult = self.worker.call(compare_case, *arguments, seconds=seconds)
        except Ended as end:
            if end.side != "onnxruntime" or time.monotonic() >= self.deadline:
                raise
            node = self.worker.call(compare_case, *arguments, str(end), seconds=seconds)
        return node

    def _add(self, case: Case, node: NodeResult) -> None:
        result = self.result
        result.nodes.append(node)
        if node.note == NOT_TAKEN:
            result.fail(f"{case}: not taken by Octet")
        if node.status != DIFFERENT:
            return
        remark = node.note or node.refusal
        result.fail(f"{case} differs by up to {node.max_abs:.3g}" + (f" ({remark})" if remark else ""))
        if not self.saved:
            self.saved = True
            model, feeds = case_model(case, make_inputs(case, self.seed))
            save_difference(result, self.folder, case.name, model.proto, feeds)
