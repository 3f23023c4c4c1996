"""Plots as SVG text that takes its colours from the page around it."""

from __future__ import annotations

import html
import io
import math
import re
from collections import Counter

import matplotlib

matplotlib.use("svg")
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.ticker import MaxNLocator  # noqa: E402

from .results import ModelResult  # noqa: E402

# Stand for colours of the page: text, and the two sides.
_TEXT, _OCTET, _ONNXRUNTIME = "#010203", "#020304", "#030405"
_VARIABLES = {_TEXT: "currentColor", _OCTET: "var(--octet)", _ONNXRUNTIME: "var(--onnxruntime)"}


def _figure() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(6, 2.6), layout="constrained")
    axes = figure.add_subplot()
    for spine in axes.spines.values():
        spine.set_color(_TEXT)
    axes.tick_params(colors=_TEXT)
    figure.patch.set_alpha(0)
    axes.patch.set_alpha(0)
    return figure, axes


def _svg(figure: Figure, axes: Axes, model: ModelResult, title: str) -> str:
    """The title without the model's name, which is as long as it likes and in any script."""
    label = f"{model.name}: {title}"
    for text in (axes.set_title(title, parse_math=False), axes.xaxis.label, axes.yaxis.label):
        text.set_color(_TEXT)
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": label}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    # Sized by the page; a name for those who do not see it.
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    return svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(label)}"', 1)


def error_histogram(model: ModelResult) -> str:
    """8-bit values of the outputs, else of the nodes: how many steps apart; others: the largest error of each; "" where
    there is nothing to draw."""
    steps: dict[int, int] = {}
    of_outputs = [output.measure.steps for output in model.outputs if output.measure]
    for counts in of_outputs if any(of_outputs) else [node.steps for node in model.nodes]:
        for step, count in counts.items():
            steps[int(step)] = steps.get(int(step), 0) + count
    figure, axes = _figure()
    if steps:
        axes.bar(list(steps), list(steps.values()), color=_OCTET)
        axes.set_yscale("log")
        axes.set_xlim(min(*steps, -2) - 0.5, max(*steps, 2) + 0.5)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("difference in steps")
        axes.set_ylabel("elements")
        of_what = "outputs" if any(of_outputs) else "nodes"
        return _svg(figure, axes, model, f"errors of 8-bit {of_what}")
    errors = {node.name: node.max_abs for node in model.nodes} or {
        f"{output.name}, {output.batch}": output.measure.max_abs for output in model.outputs if output.measure
    }
    if not errors:
        return ""
    occurrences = Counter(_decade(error) for error in errors.values())
    decades = sorted(occurrences)
    axes.bar([_label(decade) for decade in decades], [occurrences[decade] for decade in decades], color=_OCTET)
    axes.set_xlim(-1.5, len(decades) + 0.5)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("largest absolute difference")
    axes.set_ylabel("nodes" if model.nodes else "outputs")
    return _svg(figure, axes, model, "errors")


def _decade(error: float) -> float:
    """The power of ten that the error has reached; -inf where there is none."""
    return math.floor(math.log10(error)) if 0 < error < math.inf else error or -math.inf


def _label(decade: float) -> str:
    return {-math.inf: "0", math.inf: "inf"}.get(decade) or f"1e{decade:.0f}"


def latency_bars(model: ModelResult) -> str:
    if not model.timings:
        return ""
    figure, axes = _figure()
    threads = sorted({timing.threads for timing in model.timings})
    for offset, (side, colour) in enumerate((("onnxruntime", _ONNXRUNTIME), ("octet", _OCTET))):
        timings = [timing for timing in model.timings if timing.side == side]
        places = [threads.index(timing.threads) + 0.4 * offset - 0.2 for timing in timings]
        axes.bar(places, [timing.median for timing in timings], width=0.38, color=colour, label=side)
        axes.scatter(places, [timing.p95 for timing in timings], color=_TEXT, marker="_", zorder=3)
    axes.set_xticks(range(len(threads)), [f"{count} threads" if count > 1 else "1 thread" for count in threads])
    axes.set_ylabel("ms, dash: p95")
    legend = axes.legend(frameon=False)
    for text in legend.get_texts():
        text.set_color(_TEXT)
    return _svg(figure, axes, model, "latency")


def coverage_bar(model: ModelResult) -> str:
    coverage = model.coverage
    if coverage is None:
        return ""
    figure, axes = _figure()
    shares = {"time": coverage.time_share, "quantized nodes": coverage.share}
    axes.barh(list(shares), [100] * len(shares), color=_ONNXRUNTIME)
    axes.barh(list(shares), [100 * share for share in shares.values()], color=_OCTET)
    axes.set_xlabel("% on Octet")
    axes.set_xlim(0, 100)
    return _svg(figure, axes, model, "coverage")
