"""Installs a build into a temporary prefix, moves it, and uses it as a stranger would."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

OUTPUT_CPP = r"-47\.125 387\n15\.875 -383\n\S+:\S+\n"
OUTPUT_C = r"-129 129\n375 -641\n"
OUTPUT_ONNX = r"product: \[batch,2\]\n"
OUTPUT_GRAPH = r"largest rounding errors: W 0\.0012, R 0\.0012\nY_h: \[1,batch,32\]\n"
OUTPUT_TRAINING = r"(seed \d: mean squared error \S+ of 1000 new sequences\n){3}below the stated 0\.003; .*\n"
OUTPUT_README_CPP = r"-47\.125 387\n15\.875 -383\n"

# What the fragments of README.md leave to the reader: the data, and looking at the result.
AROUND_CPP = """
#include <octet/octet.hpp>
#include <cstdio>
int main() {
  const std::int64_t m = 2, k = 3, n = 2;
  const std::uint8_t a[] = {1, 2, 3, 255, 0, 1};
  const std::int8_t weights[] = {1, -2, 3, 4, -128, 127};
  const float a_scale = 0.5F, weight_scales[] = {0.25F, 2.0F};
  const std::vector<std::int64_t> scalar;
  float y[4];
  FRAGMENT
  std::printf("%g %g\\n%g %g\\n", y[0], y[1], y[2], y[3]);
}
"""
AROUND_C = """
#include <octet/octet.h>
#include <stdio.h>
int main(void) {
  const uint8_t a[] = {1, 2, 3, 255, 0, 1};
  const int8_t b[] = {1, -2, 3, 4, -128, 127};
  const int64_t a_dims[] = {2, 3}, b_dims[] = {3, 2}, y_dims[] = {2, 2};
  int32_t y[4];
  FRAGMENT
  if (status != NULL) return 1;
  printf("%d %d\\n%d %d\\n", y[0], y[1], y[2], y[3]);
  return 0;
}
"""
OUTPUT_README_C = r"-377 387\n127 -383\n"

arguments: argparse.Namespace
prefix: Path
scratch: Path


def has(part: str) -> bool:
    return part in arguments.parts.split(",")


def run(*command: str | Path, env: dict[str, str] | None = None, ok: bool = True) -> str:
    """Standard output of a command in an environment without library and package paths of ours."""
    hidden = ("LD_LIBRARY_PATH", "CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH", "LIBRARY_PATH", "CPATH")
    clean = {key: value for key, value in os.environ.items() if key not in hidden}
    done = subprocess.run(
        [str(part) for part in command], env=clean | (env or {}), capture_output=True, text=True, check=False
    )
    if ok and done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    if not ok and done.returncode == 0:
        raise AssertionError(f"{command} succeeded:\n{done.stdout}")
    return done.stdout


def run_without_source_tree(*command: str | Path) -> str:
    """Runs a command while an empty file system hides the source tree (and so .deps), where the kernel lets us."""
    own_mounts = ["unshare", "--map-root-user", "--mount", "sh", "-ec"]
    hide = f"mount -t tmpfs none '{ROOT}'"
    possible = subprocess.run([*own_mounts, hide], capture_output=True, check=False).returncode == 0
    return run(*own_mounts, f'{hide}; exec "$@"', "sh", *command) if possible else run(*command)


def libraries_of(file: Path) -> dict[str, str]:
    """Where the loader finds what a file needs."""
    lines = run("ldd", file).splitlines()
    found = (re.match(r"\s*(\S+) => (.*?)(?: \(0x[0-9a-f]+\))?$", line) for line in lines)
    return {match[1]: match[2] for match in found if match}


def exported(library: Path) -> list[str]:
    lines = run("nm", "--dynamic", "--defined-only", "--demangle", library).splitlines()
    return [line.split(" ", 2)[2] for line in lines]


def build_example(name: str, prefix_path: str) -> Path:
    source, build = ROOT / "examples" / name, scratch / f"build-{name}"
    run(arguments.cmake, "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix_path}")
    run(arguments.cmake, "--build", build)
    return build / f"example_{name}"


def setUpModule() -> None:
    global prefix, scratch
    scratch = Path(tempfile.mkdtemp(prefix="octet-install-"))
    unittest.addModuleCleanup(shutil.rmtree, scratch)
    run(arguments.cmake, "--install", arguments.build, "--prefix", scratch / "first")
    prefix = scratch / "moved"  # nothing may depend on where it was installed
    (scratch / "first").rename(prefix)


class InstalledTree(unittest.TestCase):
    def library(self, name: str) -> Path:
        found = sorted(prefix.glob(f"lib*/{name}")) + sorted(prefix.glob(f"lib/*/{name}"))
        self.assertEqual(len(found), 1, name)
        return found[0]

    def binaries(self) -> list[Path]:
        names = ["liboctet.so"]
        names += ["libonnxruntime_ep_octet.so"] * has("ep") + ["liboctet_graph.so"] * has("graph")
        names += ["liboctet_reference.so"] * has("reference")
        return [self.library(name) for name in names] + [prefix / "bin/octet"] * has("cli")

    def test_names_no_folder_of_the_build(self) -> None:
        texts = [file for file in prefix.rglob("*") if file.suffix in (".cmake", ".pc", ".h", ".hpp", ".md")]
        self.assertGreater(len(texts), 10)
        contents = {file: file.read_text() for file in texts}
        contents |= {file: run("readelf", "--dynamic", file) for file in self.binaries()}
        for file, content in contents.items():
            for folder in (ROOT, Path(arguments.build), scratch / "first"):
                self.assertNotIn(str(folder), content, file)

    def test_libraries_are_found_in_the_tree(self) -> None:
        for file in self.binaries():
            for name, place in libraries_of(file).items():
                inside = place.startswith(str(prefix))
                self.assertNotIn("not found", place, f"{file} needs {name}")
                self.assertFalse(place.startswith(str(ROOT)), f"{file} takes {place}")
                if name.startswith(("liboctet", "libdnnl")):
                    self.assertTrue(inside, f"{file} takes {name} from {place}")

    def test_sonames(self) -> None:
        version = arguments.version
        names = ["liboctet"] + ["liboctet_graph"] * has("graph")
        for name in names:
            library = self.library(f"{name}.so")
            self.assertEqual(library.resolve().name, f"{name}.so.{version}")
            interface = ".".join(version.split(".")[:2])  # while the major version is 0
            self.assertIn(f"[{name}.so.{interface}]", run("readelf", "-d", library))

    def test_exported_symbols(self) -> None:
        symbols = exported(self.library("liboctet.so"))
        self.assertIn("octet_call_run", symbols)
        self.assertIn("octet::Operator::run(std::vector<octet::TensorView", "\n".join(symbols))
        for symbol in symbols:
            self.assertRegex(symbol, r"^(octet_|octet::|typeinfo (name )?for octet::|vtable for octet::)")
            self.assertNotIn("octet::core", symbol.split("(")[0])
        if has("ep"):
            plugin = exported(self.library("libonnxruntime_ep_octet.so"))
            self.assertEqual(sorted(plugin), ["CreateEpFactories", "ReleaseEpFactory"])
        if has("graph"):
            graph = exported(self.library("liboctet_graph.so"))
            self.assertGreater(len(graph), 3)
            self.assertEqual([symbol for symbol in graph if not symbol.startswith("octet_")], [])
        if has("reference"):
            self.assertEqual(exported(self.library("liboctet_reference.so")), ["octet_reference_run"])

    def test_every_declared_function_is_exported(self) -> None:
        for header, library in [("octet.h", "liboctet.so")] + [("graph.h", "liboctet_graph.so")] * has("graph"):
            text = (prefix / "include/octet" / header).read_text()
            declared = set(re.findall(r"^OCTET_API .*?\b(octet_\w+)\(", text, re.MULTILINE))
            self.assertGreater(len(declared), 25)
            self.assertEqual(declared, {s for s in exported(self.library(library)) if s.startswith("octet_")})

    def test_headers_compile_on_their_own(self) -> None:
        headers = sorted((prefix / "include/octet").iterdir())
        self.assertTrue({"octet.h", "octet.hpp", "version.h"} <= {header.name for header in headers})
        flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{prefix}/include"]
        for header in headers:
            unit = scratch / "unit.cc"
            unit.write_text(f"#include <octet/{header.name}>\n#include <octet/{header.name}>\n")
            run("g++", "-std=c++17", *flags, unit)
            if header.suffix == ".h":
                unit.write_text(f"#include <octet/{header.name}>\nint unit;\n")
                run("gcc", "-std=c99", *flags, "-x", "c", unit)

    def test_documents(self) -> None:
        for name in ("LICENSE", "README.md", "CHANGELOG.md"):
            self.assertEqual(len(list(prefix.glob(f"share/doc/*/{name}"))), 1, name)
        licenses = {path.name for path in prefix.glob("share/doc/*/licenses/*")}
        self.assertEqual(licenses, {path.name for path in (ROOT / "docs/licenses").iterdir()})
        self.assertIn(f"[{arguments.version}]", (ROOT / "CHANGELOG.md").read_text())

    def test_command_line(self) -> None:
        if not has("cli"):
            self.skipTest("built without the command line")
        text = run_without_source_tree(prefix / "bin/octet", "version")
        self.assertIn(f"octet {arguments.version}", text)


class Archive(unittest.TestCase):
    def test_holds_the_installed_tree(self) -> None:
        """The archive of cpack, unpacked elsewhere, is the tree that was installed."""
        folder = scratch / "archive"
        cpack = Path(arguments.cmake).with_name("cpack")
        run(cpack, "--config", Path(arguments.build) / "CPackConfig.cmake", "-B", folder)
        name = f"octet-{arguments.version}-Linux"
        self.assertTrue((folder / f"{name}.tar.gz.sha256").is_file())
        with tarfile.open(folder / f"{name}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
        trees = [{path.relative_to(top) for path in top.rglob("*")} for top in (folder / name, prefix)]
        self.assertEqual(*trees)
        if has("cli"):
            self.assertIn(arguments.version, run_without_source_tree(folder / name / "bin/octet", "version"))


class Consumers(unittest.TestCase):
    def test_cpp(self) -> None:
        program = build_example("cpp", str(prefix))
        self.assertRegex(run_without_source_tree(program), f"^{OUTPUT_CPP}$")

    def test_c(self) -> None:
        program = build_example("c", str(prefix))
        self.assertRegex(run_without_source_tree(program), f"^{OUTPUT_C}$")

    def test_training(self) -> None:
        if not has("onnx"):
            self.skipTest("built without ONNX")
        onnx = Path(arguments.onnx).parents[2]
        program = build_example("training", f"{prefix};{onnx}")
        self.assertRegex(run(program, scratch), f"^{OUTPUT_TRAINING}$")

    def test_own_onnx(self) -> None:
        if not has("onnx"):
            self.skipTest("built without ONNX")
        onnx = Path(arguments.onnx).parents[2]
        program = build_example("onnx_schemas", f"{prefix};{onnx}")
        self.assertRegex(run(program), f"^{OUTPUT_ONNX}$")

    def test_graph_builder(self) -> None:
        if not has("onnx"):
            self.skipTest("built without ONNX")
        onnx = Path(arguments.onnx).parents[2]
        program = build_example("graph_builder", f"{prefix};{onnx}")
        model = scratch / "lstm.onnx"
        self.assertRegex(run(program, model), f"^{OUTPUT_GRAPH}$")
        self.assertGreater(model.stat().st_size, 4 * 32 * (16 + 32))

    def test_pkg_config(self) -> None:
        pkgconfig = {"PKG_CONFIG_PATH": str(next(prefix.glob("lib*/**/pkgconfig")))}
        self.assertEqual(run("pkg-config", "--modversion", "octet", env=pkgconfig).strip(), arguments.version)
        flags = run("pkg-config", "--cflags", "--libs", "octet", env=pkgconfig).split()
        library_dir = run("pkg-config", "--variable=libdir", "octet", env=pkgconfig).strip()
        program = scratch / "pkg-config-c"
        run("gcc", ROOT / "examples/c/main.c", *flags, f"-Wl,-rpath,{library_dir}", "-o", program)
        self.assertRegex(run_without_source_tree(program), f"^{OUTPUT_C}$")

    def test_other_versions_are_refused(self) -> None:
        major, minor = (int(part) for part in arguments.version.split(".")[:2])
        for wanted, ok in ((f"{major}.{minor}", True), (f"{major}.{minor + 1}", False), (f"{major + 1}.0", False)):
            project = scratch / f"wants_{wanted}"
            project.mkdir()
            (project / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.22)\nproject(future LANGUAGES CXX)\n"
                f"find_package(Octet {wanted} REQUIRED)\n"
            )
            run(arguments.cmake, "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}", ok=ok)

    def test_unknown_components_are_refused(self) -> None:
        project = scratch / "component"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.22)\nproject(component LANGUAGES CXX)\n"
            "find_package(Octet REQUIRED COMPONENTS octet gpu)\n"
        )
        run(arguments.cmake, "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}", ok=False)

    def test_readme_fragments_compile_and_run(self) -> None:
        for language, compiler, around, expected in (
            ("cpp", ["g++", "-std=c++17"], AROUND_CPP, OUTPUT_README_CPP),
            ("c", ["gcc", "-std=c99"], AROUND_C, OUTPUT_README_C),
        ):
            fragments = re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "README.md").read_text(), re.S | re.M)
            self.assertEqual(len(fragments), 1, f"README.md has one fragment in {language}")
            source, program = scratch / f"readme.{language}", scratch / f"readme-{language}"
            source.write_text(around.replace("FRAGMENT", fragments[0].replace("#include <octet/octet.hpp>\n", "")))
            libraries = self.library_dir()
            run(*compiler, "-Wall", "-Wextra", "-Werror", source, f"-I{prefix}/include", f"-L{libraries}", "-loctet",
                f"-Wl,-rpath,{libraries}", "-o", program)
            self.assertRegex(run(program), f"^{expected}$")

    @staticmethod
    def library_dir() -> Path:
        return next(prefix.glob("**/liboctet.so")).parent


def main() -> None:
    global arguments
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--build", required=True, help="build folder of Octet")
    parser.add_argument("--parts", default="", help="what was built beside liboctet: cli,ep,onnx,graph,reference")
    parser.add_argument("--version", required=True)
    parser.add_argument("--onnx", default="", help="ONNX_DIR of the build")
    arguments, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    main()
