"""The whole library against onnxruntime: each operator over its case table, as models of one node."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from .case_models import case_model
from .cases import Case, load_table, make_inputs, table_files
from .models import CannotRun, save_test_case
from .nodes import NOT_TAKEN, compare_single
from .results import DIFFERENT, KNOWN, NOT_RUN, ModelResult
from .tolerances import Tolerances, read_tolerances

# What onnxruntime says where its own schema refuses a node that Octet's definition allows.
_NOT_IN_ONNXRUNTIME = re.compile(r"ShapeInferenceError|TypeInferenceError|Type Error|INVALID_GRAPH|ValidateOpset")


def compare_operators(
    tolerances: Tolerances, per_group: int, seed: int, deadline: float, folder: Path | None, step: Callable[[str], None]
) -> list[ModelResult]:
    """One result for each table; `deadline` is of time.monotonic(): cases that it cuts off are told, and fail."""
    known = read_tolerances(Path(__file__).with_name("known_differences.yaml")).known
    tolerances = replace(tolerances, known=[*tolerances.known, *known])
    results = []
    for path in table_files():
        step(path.stem)
        results.append(_compare_table(path, tolerances, per_group, seed, deadline, folder))
    return results


def _compare_table(
    path: Path, tolerances: Tolerances, per_group: int, seed: int, deadline: float, folder: Path | None
) -> ModelResult:
    result = ModelResult(path.stem, "", "", "basic")
    refused = cut = 0
    for case in _drawn(load_table(path), per_group):
        if time.monotonic() > deadline:
            cut += 1
            continue
        model, feeds = case_model(case, make_inputs(case, seed))
        try:
            node = compare_single(model, feeds, result.name, tolerances)
        except CannotRun as error:
            if _NOT_IN_ONNXRUNTIME.search(str(error)):
                refused += 1
            else:
                result.fail(f"{case}: {error}", NOT_RUN)
            continue
        if node.status == KNOWN and node.verdict and node.verdict.nearer == "onnxruntime":
            node.status = DIFFERENT
        result.nodes.append(node)
        if node.note == NOT_TAKEN:
            result.fail(f"{case}: not taken by Octet")
        if node.status == DIFFERENT:
            result.fail(f"{case} differs by up to {node.max_abs:.3g}")
            if not result.saved and folder is not None:
                result.saved = str(save_test_case(folder / str(case).replace("/", "."), model.proto, feeds))
    if refused:
        result.judge_note = f"{refused} cases are refused by onnxruntime's schemas"
    if cut:
        result.fail(f"{cut} cases were not reached within the time limit", NOT_RUN)
    return result


def _drawn(cases: list[Case], per_group: int) -> list[Case]:
    """`per_group` of each group, evenly; 0: all."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.group, []).append(case)
    drawn: list[Case] = []
    for group in groups.values():
        count = min(per_group or len(group), len(group))
        drawn += [group[i * len(group) // count] for i in range(count)]
    return drawn
