"""What is in the wheel of dist/."""

import re
import subprocess
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from in_new_environment import ROOT, the_wheel

VERSION = re.search(r"project\(Octet VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]  # type: ignore[index]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(the_wheel()) as archive:
        archive.extractall(folder)
    return folder


def dynamic_section(library: Path) -> str:
    return subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout


def entries(library: Path, tag: str) -> list[str]:
    return re.findall(rf"\({tag}\).*\[(.*)\]", dynamic_section(library))


def test_name_and_metadata(content: Path) -> None:
    assert the_wheel().name == f"onnxruntime_ep_octet-{VERSION}-py3-none-manylinux_2_34_x86_64.whl"
    assert the_wheel().stat().st_size < 40e6
    (info,) = content.glob("*.dist-info")
    metadata = Parser().parsestr((info / "METADATA").read_text())
    assert (metadata["Name"], metadata["Version"]) == ("onnxruntime-ep-octet", VERSION)
    assert metadata["Requires-Python"] == ">=3.11"
    assert "Tag: py3-none-manylinux_2_34_x86_64" in (info / "WHEEL").read_text()


def test_licences_of_all_that_is_bundled(content: Path) -> None:
    (folder,) = content.glob("*.dist-info/licenses")
    names = {path.name: path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert set(names) == {"LICENSE", "Eigen.txt", "libgomp.txt", "nlohmann-json.txt", "oneDNN.txt"}
    for name, part in (("LICENSE", "Apache License"), ("Eigen.txt", "Mozilla Public License Version 2.0"),
                       ("libgomp.txt", "GCC RUNTIME LIBRARY EXCEPTION"), ("oneDNN.txt", "Xbyak")):
        assert part in names[name]


def test_libraries_find_each_other_by_relative_paths(content: Path) -> None:
    libraries = [path for path in content.rglob("*.so*")]
    bundled = {path.name for path in libraries if path.parent.name == "onnxruntime_ep_octet.libs"}
    assert {name.split("-")[0] for name in bundled} == {"libdnnl", "libgomp"}
    for library in libraries:
        for paths in entries(library, "RUNPATH") + entries(library, "RPATH"):
            assert all(path.startswith("$ORIGIN") for path in paths.split(":")), library
        for needed in entries(library, "NEEDED"):
            assert needed in bundled or not re.match("lib(dnnl|gomp|octet|onnx|proto)", needed), f"{library}: {needed}"


def test_bundled_libraries_have_names_of_their_own(content: Path) -> None:
    """A libdnnl.so.3 of somebody else in the process would be taken in the place of one of that name."""
    for library in (content / "onnxruntime_ep_octet.libs").iterdir():
        assert entries(library, "SONAME") == [library.name]
        assert re.search(r"-[0-9a-f]{8}\.so", library.name)


def test_names_no_folder_of_the_build(content: Path) -> None:
    for path in content.rglob("*"):
        if path.is_file():
            assert str(ROOT).encode() not in path.read_bytes(), path


def test_case_tables_are_those_of_the_tests(content: Path) -> None:
    shipped = {path.name: path.read_text() for path in (content / "onnxruntime_ep_octet/compare/cases").iterdir()}
    tables = (ROOT / "test" / "cases").glob("*.json")
    assert shipped == {path.name: path.read_text() for path in tables if path.name != "dispatch.json"}
