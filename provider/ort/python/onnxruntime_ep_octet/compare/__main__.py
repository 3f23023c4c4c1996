"""octet-compare: does Octet compute what onnxruntime computes, and how fast?"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from . import reports, terminal
from .accuracy import compare_model
from .baseline import compare_with_baseline, read_baseline
from .models import BadArgument, Batch, CannotRun, Model, generated_batch, load_model, read_batch
from .nodes import compare_nodes
from .operators import compare_operators
from .results import BAD_ARGUMENTS, EXIT_STATUS, NOT_RUN, ModelResult, Report, environment
from .speed import measure_speed
from .tolerances import Tolerances, read_tolerances

_EPILOG = """
exit status: 0 within the tolerances, 1 differences (or too few nodes on Octet), 2 could not run, 3 bad arguments
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadArgument(message)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    return name, value


def _dim(text: str) -> tuple[str, int]:
    name, value = _pair(text)
    if not value.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}': an extent is a whole number")
    return name, int(value)


def _range(text: str) -> tuple[str, tuple[float, float]]:
    name, value = _pair(text)
    try:
        low, high = (float(limit) for limit in value.split(":"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=LOW:HIGH") from None
    if not low <= high:
        raise argparse.ArgumentTypeError(f"'{text}': {low:g} is above {high:g}")
    return name, (low, high)


def _threads(text: str) -> list[int]:
    if text == "all":
        return sorted({1, os.cpu_count() or 1})
    if not all(part.isdigit() and int(part) > 0 for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"'{text}' is neither 'all' nor numbers like 1,2")
    return [int(part) for part in text.split(",")]


def _parser() -> argparse.ArgumentParser:
    parser = _Parser("octet-compare", description=__doc__, epilog=_EPILOG)
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL", help="ONNX files")
    parser.add_argument("--operators", action="store_true", help="all operators of Octet over their case tables")
    parser.add_argument("--cases", type=int, default=10, help="cases of each group of a table, 0: all (10)")
    parser.add_argument("--time-limit", type=float, default=900, help="seconds for --operators (900)")
    inputs = parser.add_argument_group("inputs")
    inputs.add_argument("--inputs", type=Path, action="append", default=[], metavar="FILE",
                        help=".npz, .npy or a folder of input_<i>.pb; more than once for several batches")  # fmt: skip
    inputs.add_argument("--batches", type=int, default=2, help="generated batches where no inputs are given (2)")
    inputs.add_argument("--seed", type=int, default=None, help="of generated contents (drawn, and told in the report)")
    inputs.add_argument("--dim", type=_dim, action="append", default=[], metavar="NAME=N", help="a symbolic extent (1)")
    inputs.add_argument("--range", type=_range, action="append", default=[], metavar="INPUT=LOW:HIGH",
                        help="of generated contents (floats -1:1, 8 bits all, other integers 0:1)")  # fmt: skip
    accuracy = parser.add_argument_group("accuracy")
    accuracy.add_argument("--level", choices=["basic", "all"], default="basic", help="of onnxruntime's optimizer (basic)")
    accuracy.add_argument("--tolerances", type=Path, help="YAML file; the documentation has its form")
    accuracy.add_argument("--min-coverage", type=float,
                          help="least share of the quantized nodes that must run on Octet (all that it has kernels for)")  # fmt: skip
    accuracy.add_argument("--per-node", action="store_true", help="each node with the same inputs on both sides")
    accuracy.add_argument("--no-judge", action="store_true", help="do not compute the definition in double precision")
    accuracy.add_argument("--save", type=Path, metavar="FOLDER", help="for the first differing node as a model")
    speed = parser.add_argument_group("speed")
    speed.add_argument("--speed", action="store_true", help="measure it")
    speed.add_argument("--threads", type=_threads, default=[1], help="like 1,2 or all (1)")
    speed.add_argument("--runs", type=int, default=50, help="of each side and number of threads (50)")
    speed.add_argument("--baseline", type=Path, metavar="JSON", help="an older report to compare with")
    output = parser.add_argument_group("reports")
    for form in reports.WRITERS:
        output.add_argument(f"--{form}", type=Path, metavar="FILE")
    output.add_argument("--quiet", action="store_true", help="nothing on the terminal")
    return parser


def _batches(arguments: argparse.Namespace, model: Model) -> list[Batch]:
    if arguments.inputs:
        return [read_batch(model, path) for path in arguments.inputs]
    seeds = range(arguments.seed, arguments.seed + arguments.batches)
    return [generated_batch(model, seed, dict(arguments.dim), dict(arguments.range)) for seed in seeds]


def _compare(arguments: argparse.Namespace, path: Path, tolerances: Tolerances, console: Console) -> ModelResult:
    try:
        model = load_model(path)
        batches = _batches(arguments, model)
        with console.status(f"{path.name}: accuracy"):
            result = compare_model(
                model, batches, arguments.level, tolerances, arguments.min_coverage, not arguments.no_judge
            )
        if arguments.per_node:
            with console.status(f"{path.name}: nodes"):
                compare_nodes(model, batches[0], result, tolerances, arguments.save)
        if arguments.speed:
            with console.status(f"{path.name}: speed"), tempfile.TemporaryDirectory() as scratch:
                result.timings = measure_speed(
                    model, batches[0], arguments.level, arguments.threads, arguments.runs, Path(scratch)
                )
    except CannotRun as error:
        result = ModelResult(path.stem, str(path), "", arguments.level)
        result.fail(str(error), NOT_RUN)
    return result


def _run(arguments: argparse.Namespace, console: Console) -> Report:
    if bool(arguments.models) == arguments.operators:
        raise BadArgument("expected models, or --operators")
    if arguments.batches < 1 or arguments.runs < 1 or arguments.cases < 0 or not 0 <= (arguments.min_coverage or 0) <= 1:
        raise BadArgument("--batches and --runs are at least 1, --cases at least 0, --min-coverage is from 0 to 1")
    if arguments.seed is None:
        arguments.seed = 0 if arguments.operators else int.from_bytes(os.urandom(3))
    tolerances = read_tolerances(arguments.tolerances) if arguments.tolerances else Tolerances()
    old = read_baseline(arguments.baseline) if arguments.baseline else None
    if arguments.operators:
        deadline = time.monotonic() + arguments.time_limit
        with console.status("") as status:
            results = compare_operators(
                tolerances, arguments.cases, arguments.seed, deadline, arguments.save, lambda name: status.update(name)
            )
    else:
        results = [_compare(arguments, path, tolerances, console) for path in arguments.models]
    report = Report(results, environment(), arguments.seed)
    if old is not None:
        compare_with_baseline(report, old)
    return report


def main(argv: Sequence[str] | None = None) -> int:
    try:
        arguments = _parser().parse_args(argv)
        console = Console(quiet=arguments.quiet)
        report = _run(arguments, console)
        for form, write in reports.WRITERS.items():
            if path := getattr(arguments, form):
                path.parent.mkdir(parents=True, exist_ok=True)
                write(report, path)
    except BadArgument as error:
        print(f"octet-compare: error: {error}", file=sys.stderr)
        return BAD_ARGUMENTS
    except Exception:  # Python would end with 1, which says that something differs
        traceback.print_exc()
        return EXIT_STATUS[NOT_RUN]
    terminal.show(report, console)
    return EXIT_STATUS[report.status]


if __name__ == "__main__":
    sys.exit(main())
