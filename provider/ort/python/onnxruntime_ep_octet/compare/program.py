"""octet-compare: does Octet compute what onnxruntime computes, and how fast?"""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from . import reports, terminal
from .accuracy import compare_model
from .arguments import parse
from .baseline import compare_with_baseline, read_baseline
from .models import (
    BadArgument,
    Batch,
    CannotRun,
    Model,
    check_names,
    generated_batch,
    load_model,
    model_names,
    read_batch,
)
from .nodes import compare_nodes
from .operators import Selection, compare_operators
from .results import BAD_ARGUMENTS, EXIT_STATUS, NOT_RUN, ModelResult, Report, environment
from .speed import measure_speed
from .tolerances import Tolerances, read_tolerances
from .worker import INTERRUPTS, Ended, Fault, Worker, at_work


def _batches(arguments: argparse.Namespace, model: Model) -> list[Batch]:
    if arguments.inputs:
        return [read_batch(model, path) for path in arguments.inputs]
    seeds = range(arguments.seed, arguments.seed + arguments.batches)
    return [generated_batch(model, seed, dict(arguments.dim), dict(arguments.range)) for seed in seeds]


def compare_file(path: Path, name: str, arguments: argparse.Namespace, tolerances: Tolerances) -> ModelResult:
    at_work("reading the model", f"{path.name}: accuracy")
    model = load_model(path, name)
    batches = _batches(arguments, model)
    level = arguments.level
    result = compare_model(model, batches, level, tolerances, arguments.min_coverage, not arguments.no_judge)
    if arguments.per_node:
        at_work("onnxruntime", f"{path.name}: nodes")
        compare_nodes(model, batches, result, tolerances, arguments.save, not arguments.no_judge)
    if arguments.speed:
        at_work("onnxruntime", f"{path.name}: speed")
        with tempfile.TemporaryDirectory() as scratch:
            result.timings = measure_speed(model, batches[0], level, arguments.threads, arguments.runs, Path(scratch))
    return result


def _compare_files(
    arguments: argparse.Namespace, tolerances: Tolerances, deadline: float, progress: Callable[[str], None]
) -> list[ModelResult]:
    """`deadline` is of time.monotonic()."""
    check_names(arguments.models, dict(arguments.dim), dict(arguments.range))
    results = []
    with Worker(progress) as worker:
        for path, name in model_names(arguments.models).items():
            result = ModelResult(name, str(path), "", arguments.level)
            results.append(result)
            left = deadline - time.monotonic()
            if left <= 0:
                result.fail(f"{path.name}: not reached within the time limit", NOT_RUN)
                continue
            try:
                results[-1] = worker.call(compare_file, path, name, arguments, tolerances, seconds=left)
            except CannotRun as error:
                result.fail(str(error), NOT_RUN)
            except Ended as end:
                cut = "not done within the time limit: " if time.monotonic() >= deadline else ""
                result.fail(f"{path.name}: {cut}{end}", NOT_RUN)
            except Fault as error:
                result.fail(f"{path.name}: {error}", NOT_RUN)
    return results


def _run(arguments: argparse.Namespace, console: Console) -> Report:
    tolerances = read_tolerances(arguments.tolerances) if arguments.tolerances else Tolerances()
    old = read_baseline(arguments.baseline) if arguments.baseline else None
    if arguments.seed is None and old is not None:  # only the same inputs can tell what became less accurate
        arguments.seed = old["seed"]
    elif arguments.seed is None:
        arguments.seed = 0 if arguments.operators else int.from_bytes(os.urandom(3))
    deadline = time.monotonic() + arguments.time_limit
    with console.status("") as status:
        if arguments.operators:
            selection = Selection(arguments.cases, arguments.only, arguments.seed)
            results = compare_operators(tolerances, selection, deadline, arguments.save, status.update)
        else:
            results = _compare_files(arguments, tolerances, deadline, status.update)
    if not results:
        raise BadArgument(f"--only {arguments.only}: no case has such a name")
    report = Report(results, environment(), arguments.seed)
    if old is not None:
        compare_with_baseline(report, old)
    return report


@contextmanager
def _interruptible() -> Iterator[None]:
    """The end that CI and terminals send comes as an interrupt does, so that no process and no folder outlives it."""
    heard = [number for number in INTERRUPTS if signal.getsignal(number) is signal.SIG_DFL]
    for number in heard:  # without those that are ignored, as under nohup
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)


def main(argv: Sequence[str] | None) -> int:
    try:
        with _interruptible():
            return _main(argv)
    except BadArgument as error:
        print(f"octet-compare: error: {error}", file=sys.stderr)
        return BAD_ARGUMENTS
    except OSError as error:
        print(f"octet-compare: error: {error}", file=sys.stderr)
        return EXIT_STATUS[NOT_RUN]
    except KeyboardInterrupt:
        print("octet-compare: interrupted", file=sys.stderr)
        return EXIT_STATUS[NOT_RUN]
    except Exception:  # Python would end with 1, which says that something differs
        traceback.print_exc()
        return EXIT_STATUS[NOT_RUN]


def _main(argv: Sequence[str] | None) -> int:
    arguments = parse(argv)
    wanted = [(write, path) for form, write in reports.WRITERS.items() if (path := getattr(arguments, form))]
    for _, path in wanted:
        _check_writable(path)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    console = _Console(quiet=arguments.quiet)
    report = _run(arguments, console)
    terminal.show(report, console)
    for write, path in wanted:
        write(report, path)
    return EXIT_STATUS[report.status]


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Who has read enough gets the exit status all the same; rich would end with 1."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _check_writable(path: Path) -> None:
    """Before the comparison, which takes its time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadArgument(f"{path}: {error}") from None
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadArgument(f"{path} is no file that can be written")
