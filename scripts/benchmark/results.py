"""Results: one JSON file for each class of CPU, and the document made of all of them."""

import json
import math
import time
from pathlib import Path

from .cases import Case, InnerProduct, Product
from .recurrent import Training

# What counts as slower than onnxruntime, and than bare oneDNN.
EQUAL = 1.05
ORT_TINY_US, ORT_TINY_SLACK_US = 2.0, 0.1
ONEDNN_LIMIT = {"few rows": 1.5, "some rows": 1.10, "many rows": 1.05}
SATURATING_LIMIT = 2.5  # below VNNI, where oneDNN's products are fast and wrong
PARTS_LIMIT = {"constant": 1.15, "runtime": 1.30}  # of an inner product, for its weights

SAVE_EVERY_SECONDS = 30.0
# Rows of a file can be compared, and are kept, as long as these stay the same.
SAME_MACHINE = ("cpu", "caches", "isa", "cap", "onnxruntime", "onednn")


def slower_than_onnxruntime(plugin: dict) -> bool:
    if "onnxruntime" not in plugin:
        return False
    cpu, octet = plugin["onnxruntime"]["median_us"], plugin["octet"]["median_us"]
    if cpu < ORT_TINY_US:
        return octet > cpu + ORT_TINY_SLACK_US
    return plugin["ratio"] < 1 / EQUAL


def rival_of(case: Case) -> str:
    """Whom the C++ interface is measured against."""
    return "eigen" if isinstance(case, Training) else "onednn"


def slower_than_rival(case: Case, native: dict, saturates: bool) -> bool:
    """The epilogue is Octet's own: 1.5 us below 16 rows, 10% up to 128, 5% above."""
    rival = rival_of(case)
    if rival not in native or "ratio" not in native:
        return False
    slowdown = 1 / native["ratio"]
    if isinstance(case, InnerProduct):
        # Faster than float products wherever 8-bit ones are. Weights of the run have to be read
        # twice by Octet; that is what the limit of the parts is for.
        product = native.get("onednn_product", {}).get("median_us", math.inf)
        return slowdown > 1 and product < native["onednn"]["median_us"]
    if saturates and isinstance(case, Product):
        return slowdown > SATURATING_LIMIT
    octet, other = native["octet"]["median_us"], native[rival]["median_us"]
    if not isinstance(case, Product):
        return slowdown > EQUAL and octet > other + ORT_TINY_SLACK_US
    if case.m < 16:
        return octet > other + ONEDNN_LIMIT["few rows"]
    return slowdown > ONEDNN_LIMIT["some rows" if case.m <= 128 else "many rows"]


def slower_than_parts(case: Case, native: dict) -> bool:
    """A product alone and a copy, or the product with constant weights and a copy."""
    share = native.get("share_of_parts")
    return share is not None and share > PARTS_LIMIT[case.weights]


def rounded(value: object) -> object:
    """Four digits are more than the measurements hold."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return value


class Results:
    """Rows by case name; each holds what the plugin and the C++ interface took, and at which commit.

    A run replaces the rows of its cases and leaves the file's other rows, so that a part of the
    table can be measured anew. It saves what it has as it goes.
    """

    def __init__(self, header: dict, file: Path | None = None) -> None:
        self.header = header
        self.rows: dict[str, dict] = {}
        self._file = file
        self._measured: set[str] = set()
        self._saved = time.monotonic()
        if file and file.exists():
            earlier = read(file)
            if all(earlier.header.get(key) == header.get(key) for key in SAME_MACHINE):
                self.rows = earlier.rows

    def add(self, case: Case, part: str, measured: dict) -> None:
        if case.name not in self._measured:
            self._measured.add(case.name)
            self.rows[case.name] = {"name": case.name, "commit": self.header["commit"]}
        self.rows[case.name][part] = rounded(measured)
        if time.monotonic() - self._saved > SAVE_EVERY_SECONDS:
            self.save()

    def failed(self) -> list[str]:
        """Names of the cases that this run could not measure."""
        return [name for name in self._measured if "error" in self.rows[name].get("plugin", {})]

    def save(self) -> None:
        """A row a line, so that a change reads well."""
        lines = ",\n".join(f"  {json.dumps(row)}" for row in self.rows.values())
        header = json.dumps(self.header, indent=1).rstrip("}\n").rstrip()
        self._file.parent.mkdir(parents=True, exist_ok=True)
        partly = self._file.with_suffix(".partly")
        partly.write_text(f'{header},\n "rows": [\n{lines}\n ]\n}}\n')
        partly.replace(self._file)
        self._saved = time.monotonic()


def read(file: Path) -> Results:
    content = json.loads(file.read_text())
    rows = content.pop("rows")
    results = Results(content)
    results.rows = {row["name"]: row for row in rows}
    return results
