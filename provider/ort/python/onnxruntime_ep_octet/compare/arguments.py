"""The arguments of octet-compare."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from . import reports, tolerances
from .models import BadArgument

_LONGEST = 1e6  # seconds
_SECONDS_OF_OPERATORS = 900.0
_DESCRIPTION = "Does Octet compute what onnxruntime computes on this machine, and how fast?"
_EPILOG = """
exit status: 0 within the tolerances, 1 differences (or too few nodes on Octet), 2 could not run, 3 bad arguments

Tolerances. """


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
    if not value.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}': an extent is a whole number")
    return name, int(value)


def _range(text: str) -> tuple[str, tuple[float, float]]:
    name, value = _pair(text)
    try:
        low, high = (float(limit) for limit in value.split(":"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=LOW:HIGH") from None
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise argparse.ArgumentTypeError(f"'{text}' is no range of finite numbers, the lower first")
    return name, (low, high)


def _threads(text: str) -> list[int]:
    if text == "all":
        return sorted({1, len(os.sched_getaffinity(0))})
    if not all(part.isdecimal() and int(part) > 0 for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"'{text}' is neither 'all' nor numbers like 1,2")
    return list(dict.fromkeys(int(part) for part in text.split(",")))


def _number(kind: type[int] | type[float], low: float, high: float = math.inf) -> Callable[[str], float]:
    def parsed(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            what = "a whole number" if kind is int else "a number"
            limits = f"of at least {low:g}" if math.isinf(high) else f"from {low:g} to {high:g}"
            raise argparse.ArgumentTypeError(f"'{text}' is not {what} {limits}")
        return value

    return parsed


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        "octet-compare",
        description=_DESCRIPTION,
        epilog=_EPILOG + str(tolerances.__doc__),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL", help="ONNX files")
    parser.add_argument("--time-limit", type=_number(float, 0, _LONGEST), metavar="SECONDS",
                        help="for the whole comparison: what is not done by then could not run"
                             f" ({_SECONDS_OF_OPERATORS:.0f} with --operators, else none)")  # fmt: skip
    tables = parser.add_argument_group("operators")
    tables.add_argument("--operators", action="store_true", help="all operators of Octet over their case tables")
    tables.add_argument(
        "--cases", type=_number(int, 0), default=10, metavar="N", help="of each group of a table, 0: all (10)"
    )
    tables.add_argument(
        "--only", default="*", metavar="PATTERN", help="cases of these names, like 'com.microsoft.QGemm/*'"
    )
    inputs = parser.add_argument_group("inputs")
    inputs.add_argument("--inputs", type=Path, action="append", default=[], metavar="FILE",
                        help=".npz, .npy or a folder of input_<i>.pb; more than once for several batches")  # fmt: skip
    inputs.add_argument("--batches", type=_number(int, 1), default=2, metavar="N",
                        help="generated batches where no inputs are given (2)")  # fmt: skip
    inputs.add_argument("--seed", type=_number(int, 0), metavar="N",
                        help="of generated contents (the baseline's; else 0 with --operators, and drawn and told in the"
                             " report without)")  # fmt: skip
    inputs.add_argument("--dim", type=_dim, action="append", default=[], metavar="NAME=N", help="a symbolic extent (1)")
    inputs.add_argument("--range", type=_range, action="append", default=[], metavar="INPUT=LOW:HIGH",
                        help="of generated contents (floats -1:1, 8 bits all, other integers 0:1, masks 1:1)")  # fmt: skip
    accuracy = parser.add_argument_group("accuracy")
    accuracy.add_argument(
        "--level", choices=["basic", "all"], default="basic", help="of onnxruntime's optimizer (basic)"
    )
    accuracy.add_argument("--tolerances", type=Path, metavar="YAML", help="what counts as the same; see below")
    accuracy.add_argument(
        "--min-coverage",
        type=_number(float, 0, 1),
        metavar="SHARE",
        help="of the quantized nodes, which must run on Octet (all that it has kernels for)",
    )
    accuracy.add_argument("--per-node", action="store_true",
                          help="each node with the same inputs on both sides, with every batch; those in subgraphs with"
                               " what the judge computes for them, if it can")  # fmt: skip
    accuracy.add_argument("--no-judge", action="store_true", help="do not compute the definition in double precision")
    accuracy.add_argument("--save", type=Path, metavar="FOLDER", default=Path("octet-differences"),
                          help="for the first differing node as a model, with inputs (octet-differences)")  # fmt: skip
    speed = parser.add_argument_group("speed")
    speed.add_argument("--speed", action="store_true", help="measure it")
    speed.add_argument("--threads", type=_threads, default=[1], help="like 1,2; all: 1 and as many as CPUs (1)")
    speed.add_argument(
        "--runs", type=_number(int, 1), default=50, metavar="N", help="of each side and number of threads (50)"
    )
    speed.add_argument("--baseline", type=Path, metavar="JSON", help="an older report to compare with")
    output = parser.add_argument_group("reports")
    for form in reports.WRITERS:
        text = "of the form that report.schema.json in the package describes" if form == "json" else None
        output.add_argument(f"--{form}", type=Path, metavar="FILE", help=text)
    output.add_argument("--quiet", action="store_true", help="nothing on the terminal")
    return parser


def _check_effects(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Raises BadArgument for an option that would do nothing, which is not what was meant."""
    of_models = ("inputs", "batches", "dim", "range", "level", "min_coverage", "per_node", "no_judge", "speed")
    needs = [
        ("--operators", arguments.operators, ("cases", "only")),
        ("models", arguments.models, of_models),
        ("--per-node or --operators", arguments.per_node or arguments.operators, ("save",)),
        ("--speed", arguments.speed, ("threads", "runs")),
        ("inputs that are generated", not arguments.inputs, ("batches", "dim", "range")),
    ]
    for need, is_there, names in needs:
        for name in names:
            if not is_there and getattr(arguments, name) != parser.get_default(name):
                raise BadArgument(f"--{name.replace('_', '-')} has an effect only with {need}")


def _check_names(arguments: argparse.Namespace) -> None:
    """Raises BadArgument where of two values one would go by in silence, or a report would take a model's place."""
    for option, pairs in (("--dim", arguments.dim), ("--range", arguments.range)):
        names = [name for name, _ in pairs]
        for name in names:
            if names.count(name) > 1:
                raise BadArgument(f"{option} {name} is given more than once")
    taken = {path.resolve(): f"the model {path}" for path in arguments.models}
    for form in reports.WRITERS:
        path = getattr(arguments, form)
        if path is None:
            continue
        if path.resolve() in taken:
            raise BadArgument(f"--{form} {path} would replace {taken[path.resolve()]}")
        taken[path.resolve()] = f"the report of --{form}"


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Raises BadArgument."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if bool(arguments.models) == arguments.operators:
        raise BadArgument("expected models, or --operators")
    _check_effects(parser, arguments)
    _check_names(arguments)
    if arguments.time_limit is None:
        arguments.time_limit = _SECONDS_OF_OPERATORS if arguments.operators else math.inf
    return arguments
