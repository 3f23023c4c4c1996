"""The report on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .results import DIFFERENT, KNOWN, PASSED, ModelResult, Report

MAX_LINES = 20


def show(report: Report, console: Console) -> None:
    for model in report.models:
        _show_model(model, console)
    environment = report.environment
    _line(
        console,
        f"Octet {environment['octet']} ({environment['isa']}, oneDNN {environment['onednn']}), onnxruntime"
        f" {environment['onnxruntime']}, {environment['cpu']}; seed {report.seed}",
        style="dim",
    )
    console.print(f"[bold {_colour(report.status)}]{report.status}[/]")


def _line(console: Console, text: str, style: str = "") -> None:
    """Not cut to the width of the terminal, so that names can be searched for and copied."""
    console.print(text, style=style, highlight=False, soft_wrap=True)


def _colour(status: str) -> str:
    return "green" if status == PASSED else "red"


def _show_model(model: ModelResult, console: Console) -> None:
    _line(console, f"[bold]{escape(model.name)}[/] (level {model.level}): [{_colour(model.status)}]{model.status}[/]")
    if model.outputs:
        console.print(_outputs(model))
    if model.nodes:
        _show_nodes(model, console)
    if model.coverage:
        coverage = model.coverage
        console.print(
            f"  on Octet: {coverage.quantized_on_octet} of {coverage.quantized_nodes} quantized nodes,"
            f" {coverage.nodes_on_octet} nodes in all, {coverage.time_share:.0%} of the time"
        )
    if model.timings:
        console.print(_timings(model))
    for line in model.lines[:MAX_LINES]:
        _line(console, f"  [red]-[/] {escape(line)}")
    if len(model.lines) > MAX_LINES:
        console.print(f"  and {len(model.lines) - MAX_LINES} more: the other reports have them")
    if model.saved:
        _line(console, f"  the first differing node is saved as {escape(model.saved)}")
    for note in model.notes:
        _line(console, f"  {escape(note)}", style="dim")


def _outputs(model: ModelResult) -> Table:
    table = Table("output", "inputs", "result", "differing", "max abs", "max rel", "cosine", "nearer", box=None)
    for output in model.outputs:
        measure = output.measure
        numbers = ["", "", "", ""]
        if measure:
            cosine = "" if measure.cosine is None else f"{measure.cosine:.6f}"
            numbers = [
                f"{measure.differing}/{measure.elements}",
                f"{measure.max_abs:.3g}",
                f"{measure.max_rel:.3g}",
                cosine,
            ]
        nearer = output.verdict.nearer if output.verdict else ""
        table.add_row(escape(output.name), escape(output.batch), output.status, *numbers, nearer)
    return table


def _show_nodes(model: ModelResult, console: Console) -> None:
    counts: dict[str, int] = {}
    for node in model.nodes:
        counts[node.status] = counts.get(node.status, 0) + 1
    console.print("  nodes: " + ", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    refused = sum(bool(node.refusal) for node in model.nodes)
    if refused:
        console.print(
            f"  {refused} of them give no result in onnxruntime, and are compared with the definition", style="dim"
        )
    first = next((node for node in model.nodes if node.status == DIFFERENT), None)
    if first:
        nearer = f"; nearer to the definition: {first.verdict.nearer}" if first.verdict else ""
        _line(console, f"  first differing node: {escape(str(first))}{nearer}")
    for note in sorted({node.note for node in model.nodes if node.status == KNOWN}):
        _line(console, f"  known difference: {escape(note)}", style="dim")


def _timings(model: ModelResult) -> Table:
    table = Table("threads", "side", "median ms", "p95 ms", "first run ms", "peak MB", box=None)
    for timing in model.timings:
        numbers = [f"{value:.2f}" for value in (timing.median, timing.p95, timing.first)]
        table.add_row(str(timing.threads), timing.side, *numbers, f"{timing.peak_memory_mb:.0f}")
    return table
