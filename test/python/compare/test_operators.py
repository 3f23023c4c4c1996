"""octet-compare --operators: the whole library over its case tables, and the list of known differences."""

import json
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import onnxruntime as ort
import pytest
import yaml
from conftest import Compare
from onnxruntime_ep_octet import library
from onnxruntime_ep_octet.compare.__main__ import main
from onnxruntime_ep_octet.compare.operators import KNOWN_DIFFERENCES

ENTRIES = yaml.safe_load(KNOWN_DIFFERENCES.read_text())["known_differences"]
LSTM = "com.microsoft.DynamicQuantizeLSTM"


def listed(names: str | list[str]) -> list[str]:
    return names if isinstance(names, list) else [names]


def known(report: dict[str, Any]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Nodes by entry of the list and operator."""
    found = defaultdict(list)
    for model in report["models"]:
        for node in model["nodes"]:
            if node["status"] == "known difference":
                found[node["note"].split(":")[0], node["operator"]].append(node)
    return found


def test_whole_tables(compare: Compare, tmp_path: Path) -> None:
    """All cases of all operators are within the tolerances, or differ as the list says; and all that it says occurs."""
    status, report = compare("--operators", "--cases", "0", "--time-limit", "1500", "--html", tmp_path / "page.html")
    assert [problem for model in report["models"] for problem in model["problems"]] == []
    assert status == 0
    names = {f"{d['domain']}.{d['name']}" if d["domain"] else d["name"] for d in library.operators()}
    assert {model["name"] for model in report["models"]} == names
    assert all(model["nodes"] for model in report["models"])
    assert sum(len(model["nodes"]) for model in report["models"]) > 11000
    found = known(report)
    here = [entry for entry in ENTRIES if fnmatchcase(ort.__version__, entry.get("onnxruntime", "*"))]
    assert set(found) == {(entry["name"], operator) for entry in here for operator in listed(entry["operator"])}
    for entry in here:
        differing = [node["name"] for operator in listed(entry["operator"]) for node in found[entry["name"], operator]]
        for pattern in listed(entry["node"]):
            assert any(fnmatchcase(name, pattern) for name in differing), (entry["name"], pattern)
    assert all(node["as_defined"] for nodes in found.values() for node in nodes)
    # The process of the peer ended, the comparison went on, and the definition took the peer's place.
    ended = found["LSTM of no sequences", LSTM]
    assert all("onnxruntime ended the process by SIGABRT" in node["refusal"] for node in ended)


def test_entries_name_operator_condition_and_who_departs() -> None:
    for entry in ENTRIES:
        assert set(entry) - {"onnxruntime"} == {"name", "operator", "node", "reason"}
        assert entry["reason"].startswith(("fault of onnxruntime: ", "Octet on purpose: ")), entry["name"]


def test_entries_of_the_lstm_are_not_its_rows(compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quantized as onnxruntime does it, the LSTM gives what onnxruntime gives, apart from the other entries."""
    _, by_row = compare("--operators", "--cases", "0", "--only", f"{LSTM}/*")
    monkeypatch.setenv("OCTET_LSTM_QUANTIZATION", "per_tensor")
    _, by_tensor = compare("--operators", "--cases", "0", "--only", f"{LSTM}/*")
    nodes = {node["name"]: node for node in by_tensor["models"][0]["nodes"]}
    for (entry, _), those in known(by_row).items():
        differing = [
            nodes[node["name"]] for node in those if nodes[node["name"]]["status"] not in ("equal", "within tolerance")
        ]
        if entry != "rows of the LSTM":
            assert differing, entry
            continue
        # A state on the border of two steps of its 8 bits may be rounded to either side.
        assert len(differing) <= len(those) // 50
        assert all(node["max_abs"] < 0.01 for node in differing)


def test_some_of_each_group(compare: Compare, tmp_path: Path) -> None:
    status, report = compare("--operators", "--cases", "1", "--junit", tmp_path / "junit.xml")
    assert status == 0
    suites = {suite.get("name"): suite for suite in ElementTree.parse(tmp_path / "junit.xml").getroot()}
    assert set(suites) == {model["name"] for model in report["models"]}
    for model in report["models"]:
        assert suites[model["name"]].get("tests") == str(1 + len(model["nodes"]))
        assert suites[model["name"]].get("failures") == "0"


def test_inputs_are_the_baselines(tmp_path: Path) -> None:
    """Without --seed, which `compare` gives."""
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    operators = ["--operators", "--cases", "1", "--only", "MatMulInteger/*", "--json"]
    assert main([*operators, str(first), "--seed", "5"]) == 0
    assert main([*operators, str(second), "--baseline", str(first)]) == 0
    assert main([*operators, str(third)]) == 0
    assert [json.loads(path.read_text())["seed"] for path in (first, second, third)] == [5, 5, 0]


def test_what_is_not_known_fails_and_is_saved(
    compare: Compare, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In another definition than the table's, the LSTM differs from it, which the list does not excuse."""
    monkeypatch.setenv("OCTET_LSTM_QUANTIZATION", "per_tensor")
    status, report = compare("--operators", "--only", "*/activations/Affine_f", "--save", tmp_path / "saved")
    assert status == 1
    (model,) = report["models"]
    assert model["nodes"][0]["status"] == "different" and model["nodes"][0]["as_defined"] is False
    assert Path(model["saved"]) == tmp_path / "saved" / LSTM / "activations_Affine_f" / "model.onnx"


@pytest.mark.parametrize("seconds", ["0", "3"])
def test_time_limit(compare: Compare, seconds: str) -> None:
    status, report = compare("--operators", "--cases", "0", "--time-limit", seconds)
    assert (status, report["status"]) == (2, "could not run")
    assert "not reached" in report["models"][-1]["problems"][0]
