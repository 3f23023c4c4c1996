"""docs/benchmark.md from the JSON files beside it."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import numpy as np

from .cases import Case, Product
from .results import (
    PARTS_LIMIT,
    Results,
    read,
    rival_of,
    slower_than_onnxruntime,
    slower_than_parts,
    slower_than_rival,
)

INTRODUCTION = """\
# Benchmark

Made by `scripts/bench` from `docs/benchmarks/*.json`; not to be edited by hand.

- **onnxruntime** is its CPUExecutionProvider and **Octet** the plugin in the same process, with the
  same threads: two sessions of one model of at least 16 equal nodes, which take turns. Times are
  microseconds of one node, the executor's share of about {floor} us included.
- **oneDNN** is the library called directly for the whole job (source zero point, scales, bias, the
  same output type), the faster of its layout `any` and `BA16a64b4a`; **Octet C++** is
  `octet::Operator` in the same process. One thread.
- **memcpy** copies as many bytes in all as the operator reads and writes.
- Times are medians. A ratio is the median, over the turns, of the other's time by Octet's: above 1
  Octet is faster. `hot`: the weights stay in L2. `cold`: more weights than the caches hold, each
  read once. `runtime`: the weights come with each run.
- With one thread, times are processor time of the process, which is the time that passes where
  nothing else runs; with two, the time that passes.
- Octet loses (**bold**) to onnxruntime where it takes over 5% more, or over 0.1 us where
  onnxruntime takes under 2 us; to oneDNN where it takes over 1.5 us more (below 16 rows), 10% (16
  to 128 rows) or 5% (above), to Eigen where it takes over 5% and over 0.1 us more. Below VNNI oneDNN's products saturate, that is, most are wrong;
  Octet's are exact, and may take 2.5 times as long.
- For `LSTM training`, the same passes written with Eigen have oneDNN's place, compiled for the
  machine. A shape is steps x batch x inputs.
- For `InnerProduct` (`octet/inner_product.hpp`), onnxruntime's part is its DynamicQuantizeMatMul
  with the same 8-bit weights, and Octet's there is `octet_dqip_forward()`; oneDNN's part is its
  float32 or bfloat16 product, the faster, to which Octet loses only where oneDNN's own 8-bit
  product is faster. `of parts` is Octet's time by that of what it is made of: with constant weights
  the faster of oneDNN's and Octet's bare u8 x s8 product, and a copy of half as many bytes as A and
  C have; with `runtime` weights the same job with constant ones, and a copy of half as many bytes
  as B and its 8-bit form have. **Bold**: over {constant} and {runtime}.
- For `DynamicQuantizeLSTM`, **products**, **gates** and **rest** are shares of Octet C++'s time: what
  it saves where its products do nothing, the passes from sums to states, and what remains: the
  quantization of rows, the outputs and the call.
- `DynamicQuantizeLinear and product` is the pattern that onnxruntime fuses into
  DynamicQuantizeMatMul: DynamicQuantizeLinear, MatMulInteger, Cast, Mul, Mul, Add.
"""


def microseconds(times: dict | None) -> str:
    return f"{times['median_us']:.4g}" if times else ""


def ratio_text(ratio: float | None, loses: bool) -> str:
    if ratio is None:
        return ""
    return f"**{ratio:.2f}**" if loses else f"{ratio:.2f}"


class Row:
    """A case with its results and the verdict on them."""

    def __init__(self, case: Case, row: dict, saturates: bool) -> None:
        self.case = case
        self.plugin: dict = row.get("plugin", {})
        self.native: dict = row.get("native", {})
        self.loses_to_onnxruntime = slower_than_onnxruntime(self.plugin)
        self.loses_to_rival = slower_than_rival(case, self.native, saturates)
        self.loses_to_parts = slower_than_parts(case, self.native)

    @property
    def loses(self) -> bool:
        return self.loses_to_onnxruntime or self.loses_to_rival or self.loses_to_parts

    @property
    def worst(self) -> float:
        losing = [
            part.get("ratio", 1.0)
            for part, loses in (
                (self.plugin, self.loses_to_onnxruntime),
                (self.native, self.loses_to_rival),
            )
            if loses
        ]
        if self.loses_to_parts:
            losing.append(PARTS_LIMIT[self.case.weights] / self.native["share_of_parts"])
        return min(losing, default=1.0)

    def cells(self) -> list[str]:
        plugin, native = self.plugin, self.native
        return [
            self.case.shape,
            str(self.case.threads),
            microseconds(plugin.get("onnxruntime")) or plugin.get("error", ""),
            microseconds(plugin.get("octet")),
            ratio_text(plugin.get("ratio"), self.loses_to_onnxruntime),
            microseconds(native.get(rival_of(self.case))),
            microseconds(native.get("octet")),
            ratio_text(native.get("ratio"), self.loses_to_rival),
        ]

    @property
    def of_parts(self) -> str:
        return ratio_text(self.native.get("share_of_parts"), self.loses_to_parts)


COLUMNS = [
    "shape",
    "threads",
    "onnxruntime",
    "Octet",
    "ratio",
    "oneDNN",
    "Octet C++",
    "ratio",
]
OF_PARTS = "of parts"


def table(columns: list[str], rows: Iterable[list[str]]) -> str:
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def geometric_mean(values: list[float]) -> str:
    return f"{np.exp(np.mean(np.log(values))):.2f}" if values else ""


def rows_label(case: Case) -> str:
    if not isinstance(case, Product):
        return "all"
    return "M < 16" if case.m < 16 else "M = 16" if case.m < 128 else "M >= 128"


def geometric_means(rows: list[Row]) -> str:
    groups: dict[tuple, list[Row]] = defaultdict(list)
    for row in rows:
        case = row.case
        groups[case.operator, case.variant, rows_label(case), case.threads].append(row)

    def ratios(group: list[Row], part: Callable[[Row], dict]) -> list[float]:
        return [part(row)["ratio"] for row in group if "ratio" in part(row)]

    lines = []
    for (operator, variant, label, threads), group in groups.items():
        plugin, native = ratios(group, lambda r: r.plugin), ratios(group, lambda r: r.native)
        least = f"{min(plugin):.2f}" if plugin else ""
        means = [geometric_mean(plugin), least, geometric_mean(native)]
        lines.append([operator, variant, label, str(threads), str(len(group)), *means])
    columns = ["operator", "variant", "rows", "threads", "shapes"]
    return table([*columns, "over onnxruntime", "least", "over oneDNN"], lines)


def section(results: Results, cases: dict[str, Case]) -> str:
    header = results.header
    saturates = header["isa"] in ("avx2", "avx512_core")
    rows = [Row(cases[n], row, saturates) for n, row in results.rows.items() if n in cases]
    losing = sorted((row for row in rows if row.loses), key=lambda row: row.worst)
    caches = ", ".join(f"{level} {size >> 10} KiB" for level, size in header["caches"].items())
    cap = f", capped at {header['cap']}" if header.get("cap") else ""
    text = [
        f"## {header['cpu']}: {header['isa']}{cap}\n",
        f"{header['cores']} cores; {caches}. onnxruntime {header['onnxruntime']}, oneDNN"
        f" {header['onednn']}, Octet {header['octet']} at {commits(results)}, {header['date']}.\n",
        f"### Losing shapes: {len(losing)} of {len(rows)}\n",
        table(["operator", "variant", *COLUMNS, OF_PARTS], losing_lines(losing))
        if losing
        else "None.\n",
        disagreements(rows),
        "### Geometric means of the ratios\n",
        geometric_means(rows),
    ]
    for operator, of_operator in grouped(rows, lambda row: row.case.operator):
        text.append(f"### {operator}\n")
        for variant, of_variant in grouped(of_operator, lambda row: row.case.variant):
            text += [f"{variant}\n", variant_table(of_variant)]
    return "\n".join(text)


def commits(results: Results) -> str:
    found = {row.get("commit", results.header["commit"]) for row in results.rows.values()}
    return ", ".join(sorted(found))


def variant_table(rows: list[Row]) -> str:
    """Losing shapes first; where they were measured, with the parts and a copy of as many bytes."""
    ordered = sorted(rows, key=lambda row: (not row.loses, row.worst))
    columns = COLUMNS
    if rival_of(ordered[0].case) == "eigen":
        columns = [column.replace("oneDNN", "Eigen") for column in COLUMNS]
    extra: dict[str, Callable[[Row], str]] = {}
    if any("share_of_parts" in row.native for row in ordered):
        extra[OF_PARTS] = lambda row: row.of_parts
    for part in ("products", "gates", "rest"):
        if any("shares" in row.native for row in ordered):
            extra[part] = partial(share_text, part=part)
    if any("memcpy" in row.native for row in ordered):
        extra["memcpy"] = lambda row: microseconds(row.native.get("memcpy"))
    lines = ([*row.cells(), *(cell(row) for cell in extra.values())] for row in ordered)
    return table([*columns, *extra], lines)


def share_text(row: Row, part: str) -> str:
    shares = row.native.get("shares")
    return f"{shares[part]:.0%}" if shares else ""


def disagreements(rows: list[Row]) -> str:
    """Cases in which onnxruntime's and Octet's outputs are not the same."""
    named = [
        [row.case.name, str(row.plugin["differing"])]
        for row in rows
        if row.plugin.get("differing", 0) > 0
    ]
    if not named:
        return ""
    title = "### Outputs that differ from onnxruntime's\n"
    return f"{title}\n{table(['case', 'elements'], named)}"


def losing_lines(rows: list[Row]) -> list[list[str]]:
    return [[row.case.operator, row.case.variant, *row.cells(), row.of_parts] for row in rows]


def grouped(rows: list[Row], key: Callable[[Row], str]) -> list[tuple[str, list[Row]]]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return list(groups.items())


def document(files: Iterable[Path], cases_for: Callable[[dict], dict[str, Case]]) -> str:
    all_results = [read(file) for file in sorted(files)]
    floors = [r.header["floor_us"] for r in all_results if r.header.get("floor_us")]
    floor = " to ".join(f"{f:.2g}" for f in sorted({min(floors), max(floors)})) if floors else "0.4"
    sections = [section(results, cases_for(results.header)) for results in all_results]
    return "\n".join([INTRODUCTION.format(floor=floor, **PARTS_LIMIT), *sections])
