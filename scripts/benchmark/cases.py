"""What is measured: the one list of cases, for the plugin and for the C++ interface."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from .elementwise import Elementwise
from .graph import SHORT
from .recurrent import Recurrent, Training

# Types of A, B and Y.
PATTERN = "DynamicQuantizeLinear and product"  # as quantizers of weights write it
PRODUCTS = {
    "MatMulInteger": [(a, b, "int32") for b in ("int8", "uint8") for a in ("uint8", "int8")],
    "MatMulIntegerToFloat": [(a, b, "float") for b in ("int8", "uint8") for a in ("uint8", "int8")],
    "DynamicQuantizeMatMul": [("float", "int8", "float"), ("float", "uint8", "float")],
    PATTERN: [("float", "int8", "float"), ("float", "uint8", "float")],
    "QLinearMatMul": [(a, b, a) for b in ("int8", "uint8") for a in ("uint8", "int8")],
    "QGemm": [
        (a, b, y)
        for a, b in (("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8"))
        for y in (a, "float")
    ],
}
KN = [(768, 768), (768, 3072), (3072, 768), (1024, 1024), (384, 384), (384, 1536)]
M = [1, 4, 16, 128, 512]
LINEAR = [(integer, form) for form in ("tensor", "axis") for integer in ("uint8", "int8")]
QUANTIZE = {
    "QuantizeLinear": LINEAR,
    "DequantizeLinear": LINEAR,
    "DynamicQuantizeLinear": [("uint8", "tensor")],
}
COLUMNS = 256  # of a quantized tensor; with `axis`, so many scales
ELEMENTS = [1 << bits for bits in range(10, 23, 2)]  # 1K to 4M
CLIENTS, NEIGHBOUR = "two clients", "busy neighbour"


@dataclass(frozen=True)
class Product:
    """One operator of the matmul family: m x k times k x n."""

    operator: str
    a: str
    b: str
    y: str
    weights: str  # "constant" or "runtime"
    cache: str  # "hot": the weights stay in L2; "cold": they come from memory
    m: int
    k: int
    n: int
    threads: int = 1

    @property
    def types(self) -> str:
        return f"{SHORT[self.a]} x {SHORT[self.b]} -> {SHORT[self.y]}"

    @property
    def variant(self) -> str:
        return f"{self.types}, {self.weights} weights, {self.cache}"

    @property
    def shape(self) -> str:
        return f"{self.m}x{self.k}x{self.n}"

    @property
    def name(self) -> str:
        types = "".join(SHORT[t] for t in (self.a, self.b)) + f" {SHORT[self.y]}"
        return f"{self.operator} {types} {self.weights} {self.cache} {self.shape} t{self.threads}"

    def native_line(self, copies: int) -> str:
        return (
            f"product {self.operator} {self.a} {self.b} {self.y} {self.weights}"
            f" {self.m} {self.k} {self.n} {copies}"
        )


@dataclass(frozen=True)
class Quantize:
    """One operator of the quantize family, on a rows x columns tensor."""

    operator: str
    integer: str
    granularity: str  # "tensor": one scale; "axis": one for each column
    rows: int
    columns: int
    threads: int = 1

    @property
    def types(self) -> str:
        return SHORT[self.integer]

    @property
    def variant(self) -> str:
        return f"{self.types}, {'last axis' if self.granularity == 'axis' else 'per tensor'}"

    @property
    def shape(self) -> str:
        return f"{self.rows}x{self.columns}"

    @property
    def name(self) -> str:
        return f"{self.operator} {self.types} {self.granularity} {self.shape} t{self.threads}"

    def native_line(self, copies: int) -> str:
        return (
            f"quantize {self.operator} {self.integer} {self.granularity} {self.rows} {self.columns}"
        )


@dataclass(frozen=True)
class InnerProduct:
    """octet::InnerProduct: A and C of one type, m x k times k x n."""

    type: str
    weights: str  # "constant" (from float) or "runtime" (of the same type)
    m: int
    k: int
    n: int
    threads: int = 1
    operator: str = "InnerProduct"

    @property
    def variant(self) -> str:
        return f"{SHORT[self.type]}, {self.weights} weights"

    @property
    def shape(self) -> str:
        return f"{self.m}x{self.k}x{self.n}"

    @property
    def name(self) -> str:
        return f"{self.operator} {SHORT[self.type]} {self.weights} {self.shape} t{self.threads}"

    def native_line(self, copies: int) -> str:
        shape = f"{self.m} {self.k} {self.n}"
        return f"inner_product {self.type} {self.weights} {shape} {self.threads}"


@dataclass(frozen=True)
class Encoder:
    """all-MiniLM-L6-v2, quantized by a recipe of scripts/models."""

    recipe: str
    batch: int
    tokens: int
    beside: str = ""  # CLIENTS: a second client runs the same session; NEIGHBOUR: a process keeps a core busy
    threads: int = 1
    operator: str = "all-MiniLM-L6-v2"

    @property
    def variant(self) -> str:
        return f"recipe {self.recipe}, whole model" + (f", {self.beside}" if self.beside else "")

    @property
    def shape(self) -> str:
        return f"{self.batch}x{self.tokens}"

    @property
    def name(self) -> str:
        beside = f"{self.beside} " if self.beside else ""
        return f"MiniLM {self.recipe} {self.shape} {beside}t{self.threads}"


Case = Product | Quantize | InnerProduct | Encoder | Elementwise | Recurrent | Training


def products(l2_bytes: int) -> Iterator[Product]:
    """Weights are hot where they leave a quarter of L2 to activations and sums."""
    for operator, types in PRODUCTS.items():
        for a, b, y in types:
            for k, n in KN:
                hot = k * n <= l2_bytes * 3 // 4
                variants = [("constant", "hot")] if hot else []
                variants += [("constant", "cold"), ("runtime", "hot" if hot else "cold")]
                if operator == PATTERN:
                    variants.pop()
                for weights, cache in variants:
                    for m in M:
                        yield Product(operator, a, b, y, weights, cache, m, k, n)


def quantizes() -> Iterator[Quantize]:
    for operator, forms in QUANTIZE.items():
        for integer, granularity in forms:
            for elements in ELEMENTS:
                yield Quantize(operator, integer, granularity, elements // COLUMNS, COLUMNS)


def inner_products() -> Iterator[InnerProduct]:
    for element in ("float", "bfloat16"):
        for weights in ("constant", "runtime"):
            for k, n in ((768, 768), (768, 3072), (3072, 768), (1024, 1024), (4096, 4096)):
                for m in (1, 4, 16, 64, 256, 1024):
                    yield InnerProduct(element, weights, m, k, n)


def encoders() -> Iterator[Encoder]:
    for recipe in ("dyn", "dyn_u8"):
        for batch, tokens in ((1, 8), (1, 128), (8, 32)):
            yield Encoder(recipe, batch, tokens)
        for beside in (CLIENTS, NEIGHBOUR):
            yield Encoder(recipe, 1, 128, beside)


def is_quick(case: Case) -> bool:
    if isinstance(case, Encoder):
        return (case.recipe, case.batch, case.tokens, case.beside) == ("dyn", 1, 128, "")
    if isinstance(case, Elementwise):
        quick_form = case.form in ("same", "different", "spatial")
        return quick_form and len(case.dims) == 4 and case.integer == "uint8" and case.threads == 1
    if isinstance(case, Recurrent):
        at = (case.weights, case.directions, case.batch, case.inputs, case.threads)
        return at == ("int8", 1, 1, 128, 1) and case.steps == 25
    if isinstance(case, Training):
        return case.threads == 1 and (case.steps, case.hidden) == (50, 128)
    if isinstance(case, InnerProduct):
        return case.threads == 1 and (case.k, case.n) == (768, 768) and case.m in (1, 64)
    if isinstance(case, Quantize):
        quick_size = case.rows * case.columns in (1 << 10, 1 << 16, 1 << 20)
        return quick_size and case.integer == "uint8" and case.threads == 1
    usual = case.b == "int8" and case.a != "int8"
    kn, rows = (case.k, case.n), {1, 128}
    if usual and case.weights == "constant" and case.threads == 1:
        if kn == (384, 384) and case.cache == "hot":
            return case.m in {1, 512}
        if kn == (768, 3072):
            return case.m in rows
    if case.threads == 2:
        rows = {128} if usual else set()
    elif usual:
        rows = {1, 4, 16, 128}
    return kn == (768, 768) and case.cache == "hot" and case.m in rows


def select(cases: list[Case], threads: Iterable[int], quick: bool, pattern: str) -> list[Case]:
    wanted = re.compile(pattern)
    at_threads = (replace(case, threads=t) for t in threads for case in cases)
    return [c for c in at_threads if (not quick or is_quick(c)) and wanted.search(c.name)]
