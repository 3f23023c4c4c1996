"""Measures Octet against onnxruntime, bare oneDNN and Eigen, and writes JSON and a document of tables.

    scripts/bench                  everything, into docs/: about an hour
    scripts/bench --quick          some of everything, into build/benchmark/: 2 to 3 minutes
    scripts/bench --filter REGEX   the cases whose names match, into build/benchmark/;
                                   with --output docs they replace their rows there
    scripts/bench --isa AVX2       the C++ part under a cap, against capped oneDNN, into docs/
    scripts/bench --report         the document again, from the JSON files

A case's name: OPERATOR TYPES WEIGHTS CACHE MxKxN tTHREADS, as in
"MatMulInteger u8s8 s32 constant hot 128x768x768 t1" or "QuantizeLinear u8 axis 256x256 t1".
"""

import argparse
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path

from . import machine, native, plugin, report
from .cases import Case, InnerProduct, Product, encoders, inner_products, products, quantizes, select
from .elementwise import elementwise
from .recurrent import Training, recurrents, trainings
from .results import Results

BUILD = machine.ROOT / "build" / "release"
CACHE_SHARE = 1.25  # cold: so much more than the last cache's bytes of weights


def copies_of(case: Case) -> int:
    """Different weights in one model: one where they shall stay in the caches."""
    if not isinstance(case, Product) or case.cache == "hot":
        return 1
    last_cache = max(machine.cache_bytes().values())
    return math.ceil(CACHE_SHARE * last_cache / (case.k * case.n))


def all_cases(header: dict) -> list[Case]:
    operators = [*products(header["caches"]["L2"]), *quantizes(), *elementwise(), *recurrents()]
    return [*encoders(), *operators, *inner_products(), *trainings()]


def named_cases(header: dict) -> dict[str, Case]:
    """Every case that a machine with these caches may have measured, by name."""
    return {case.name: case for case in select(all_cases(header), (1, 2), False, "")}


def progress(done: int, total: int, start: float, case: Case, measured: dict) -> None:
    ratio = f"{measured['ratio']:6.2f}x" if "ratio" in measured else "       "
    seconds = time.perf_counter() - start
    line = f"[{done:4}/{total}] {seconds:5.0f} s  {ratio}  {case.name}"
    print(line, file=sys.stderr, flush=True)


def run(arguments: argparse.Namespace, folder: Path) -> Results:
    seconds = 0.1 if arguments.quick else 0.15
    program = native.Program(arguments.build / "octet_bench", seconds, arguments.isa)
    header = machine.describe() | program.versions
    if arguments.isa:
        header["cap"] = arguments.isa
    capped = "capped-" if arguments.isa else ""
    results = Results(header, folder / "benchmarks" / f"{capped}{header['isa']}.json")
    threads = (1,) if arguments.isa else (1, 2)
    cases = select(all_cases(header), threads, arguments.quick, arguments.filter)
    if arguments.isa:  # Eigen has no cap
        cases = [case for case in cases if not isinstance(case, Training)]
    parts: list[tuple[str, Callable]] = [
        ("native", lambda: native.measure(program, cases, copies_of))
    ]
    total = sum(native.is_native(case) for case in cases)
    if not arguments.isa and not arguments.native:
        library = arguments.build / "libonnxruntime_ep_octet.so"
        plugin_cases = list(filter(plugin.is_compared, cases))
        parts.append(("plugin", lambda: plugin.measure(plugin_cases, copies_of, library, seconds)))
        total += len(plugin_cases)
        header["floor_us"] = round(plugin.floor(), 2)
    done, start = 0, time.perf_counter()
    for part, measured_cases in parts:
        for case, measured in measured_cases():
            done += 1
            results.add(case, part, measured)
            progress(done, total, start, case, measured)
    program.close()
    results.save()
    return results


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter, prog="scripts/bench"
    )
    parser.add_argument("--quick", action="store_true", help="a subset, in 2 to 3 minutes")
    parser.add_argument("--filter", default="", metavar="REGEX", help="cases whose names match")
    parser.add_argument("--isa", metavar="NAME", help="a cap, for the C++ part alone")
    parser.add_argument("--native", action="store_true", help="the C++ part only")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the document")
    parser.add_argument(
        "--build", type=Path, default=BUILD, metavar="FOLDER", help="of the built libraries"
    )
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="of the document")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    partial = arguments.quick or arguments.filter or arguments.native
    folder = machine.ROOT / ("build/benchmark" if partial else "docs")
    folder = arguments.output or folder
    if not arguments.report:
        results = run(arguments, folder)
    text = report.document((folder / "benchmarks").glob("*.json"), named_cases)
    (folder / "benchmark.md").write_text(text)
    print(f"written: {folder / 'benchmark.md'}")
    return 0 if arguments.report or not results.failed() else 1


if __name__ == "__main__":
    sys.exit(main())
