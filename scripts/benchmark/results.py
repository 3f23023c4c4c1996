"""Results: one JSON file for each class of CPU, and the document made of all of them."""

import json
from pathlib import Path

from .cases import Case, Product

# What counts as slower than onnxruntime, and than bare oneDNN.
EQUAL = 1.05
ORT_TINY_US, ORT_TINY_SLACK_US = 2.0, 0.1
ONEDNN_LIMIT = {"few rows": 1.5, "some rows": 1.10, "many rows": 1.05}
SATURATING_LIMIT = 2.5  # below VNNI, where oneDNN's products are fast and wrong


def slower_than_onnxruntime(plugin: dict) -> bool:
    if "onnxruntime" not in plugin:
        return False
    cpu, octet = plugin["onnxruntime"]["median_us"], plugin["octet"]["median_us"]
    if cpu < ORT_TINY_US:
        return octet > cpu + ORT_TINY_SLACK_US
    return plugin["ratio"] < 1 / EQUAL


def slower_than_onednn(case: Case, native: dict, saturates: bool) -> bool:
    """The epilogue is Octet's own: 1.5 us below 16 rows, 10% up to 128, 5% above."""
    if "onednn" not in native:
        return False
    slowdown = 1 / native["ratio"]
    if saturates and isinstance(case, Product):
        return slowdown > SATURATING_LIMIT
    octet, onednn = native["octet"]["median_us"], native["onednn"]["median_us"]
    if not isinstance(case, Product):
        return slowdown > EQUAL and octet > onednn + ORT_TINY_SLACK_US
    if case.m < 16:
        return octet > onednn + ONEDNN_LIMIT["few rows"]
    return slowdown > ONEDNN_LIMIT["some rows" if case.m <= 128 else "many rows"]


def rounded(value: object) -> object:
    """Four digits are more than the measurements hold."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return value


class Results:
    """Rows by case name; each holds the case and what the plugin and the C++ interface took."""

    def __init__(self, header: dict) -> None:
        self.header = header
        self.rows: dict[str, dict] = {}

    def add(self, case: Case, part: str, measured: dict) -> None:
        row = self.rows.setdefault(case.name, {"name": case.name})
        row[part] = rounded(measured)

    def failed(self) -> list[str]:
        """Names of the cases that could not be measured."""
        return [name for name, row in self.rows.items() if "error" in row.get("plugin", {})]

    def write(self, file: Path) -> None:
        """A row a line, so that a change reads well."""
        lines = ",\n".join(f"  {json.dumps(row)}" for row in self.rows.values())
        header = json.dumps(self.header, indent=1).rstrip("}\n").rstrip()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'{header},\n "rows": [\n{lines}\n ]\n}}\n')


def read(file: Path) -> Results:
    content = json.loads(file.read_text())
    rows = content.pop("rows")
    results = Results(content)
    results.rows = {row["name"]: row for row in rows}
    return results
