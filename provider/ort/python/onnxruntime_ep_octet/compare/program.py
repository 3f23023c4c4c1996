"""octet-compare: does Octet compute what onnxruntime computes, and how fast?"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from . import reports, terminal
from .accuracy import compare_model
from .arguments import parse
from .baseline import compare_with_baseline, read_baseline
from .models import BadArgument, Batch, CannotRun, Model, check_names, generated_batch, load_model, read_batch
from .nodes import compare_nodes
from .operators import Selection, compare_operators
from .results import BAD_ARGUMENTS, EXIT_STATUS, NOT_RUN, ModelResult, Report, environment
from .speed import measure_speed
from .tolerances import Tolerances, read_tolerances
from .worker import Ended, Worker, at_work


def _batches(arguments: argparse.Namespace, model: Model) -> list[Batch]:
    if arguments.inputs:
        return [read_batch(model, path) for path in arguments.inputs]
    seeds = range(arguments.seed, arguments.seed + arguments.batches)
    return [generated_batch(model, seed, dict(arguments.dim), dict(arguments.range)) for seed in seeds]


def compare_file(path: Path, arguments: argparse.Namespace, tolerances: Tolerances) -> ModelResult:
    at_work("reading the model", f"{path.name}: accuracy")
    model = load_model(path)
    batches = _batches(arguments, model)
    level = arguments.level
    result = compare_model(model, batches, level, tolerances, arguments.min_coverage, not arguments.no_judge)
    if arguments.per_node:
        at_work("onnxruntime", f"{path.name}: nodes")
        compare_nodes(model, batches[0], result, tolerances, arguments.save)
    if arguments.speed:
        at_work("onnxruntime", f"{path.name}: speed")
        with tempfile.TemporaryDirectory() as scratch:
            result.timings = measure_speed(model, batches[0], level, arguments.threads, arguments.runs, Path(scratch))
    return result


def _compare_files(
    arguments: argparse.Namespace, tolerances: Tolerances, progress: Callable[[str], None]
) -> list[ModelResult]:
    check_names(arguments.models, dict(arguments.dim), dict(arguments.range))
    results = []
    with Worker(progress) as worker:
        for path in arguments.models:
            try:
                result = worker.call(compare_file, path, arguments, tolerances)
            except (CannotRun, Ended) as error:
                result = ModelResult(path.stem, str(path), "", arguments.level)
                result.fail(f"{path.name}: {error}" if isinstance(error, Ended) else str(error), NOT_RUN)
            results.append(result)
    return results


def _run(arguments: argparse.Namespace, console: Console) -> Report:
    tolerances = read_tolerances(arguments.tolerances) if arguments.tolerances else Tolerances()
    old = read_baseline(arguments.baseline) if arguments.baseline else None
    with console.status("") as status:
        if arguments.operators:
            selection = Selection(arguments.cases, arguments.only, arguments.seed)
            deadline = time.monotonic() + arguments.time_limit
            results = compare_operators(tolerances, selection, deadline, arguments.save, status.update)
        else:
            results = _compare_files(arguments, tolerances, status.update)
    if not results:
        raise BadArgument(f"--only {arguments.only}: no case has such a name")
    report = Report(results, environment(), arguments.seed)
    if old is not None:
        compare_with_baseline(report, old)
    return report


def main(argv: Sequence[str] | None) -> int:
    try:
        arguments = parse(argv)
        console = Console(quiet=arguments.quiet)
        report = _run(arguments, console)
        for form, write in reports.WRITERS.items():
            if path := getattr(arguments, form):
                path.parent.mkdir(parents=True, exist_ok=True)
                write(report, path)
    except BadArgument as error:
        print(f"octet-compare: error: {error}", file=sys.stderr)
        return BAD_ARGUMENTS
    except KeyboardInterrupt:
        print("octet-compare: interrupted", file=sys.stderr)
        return EXIT_STATUS[NOT_RUN]
    except Exception:  # Python would end with 1, which says that something differs
        traceback.print_exc()
        return EXIT_STATUS[NOT_RUN]
    terminal.show(report, console)
    return EXIT_STATUS[report.status]
