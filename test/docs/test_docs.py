"""The documentation site: it builds without a warning, holds every interface and operator, and leads nowhere in vain."""

import html
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADERS = sorted(path for path in (ROOT / "include/octet").iterdir() if path.suffix in (".h", ".hpp"))
PAGES = sorted((ROOT / "docs").glob("*.md"))


@pytest.fixture(scope="session")
def site() -> Path:
    built = subprocess.run([ROOT / "scripts/docs"], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return ROOT / "build/docs/html"


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attributes if name in ("href", "src") and value]


def text_of(page: Path) -> str:
    text = re.sub(r"<script.*?</script>", "", page.read_text(), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split())


def doxygen_name(path: Path) -> str:
    return path.name.replace("_", "__").replace(".", "_8") + ".html"


def test_links_lead_somewhere(site: Path) -> None:
    dead = []
    for page in site.glob("*.html"):
        parser = Links()
        parser.feed(page.read_text())
        for link in parser.links:
            parts = urlsplit(link)
            if parts.scheme or not parts.path:
                continue
            if not (site / unquote(parts.path)).exists():
                dead.append(f"{page.name}: {link}")
    assert not dead


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_header_is_there_with_its_functions(site: Path, header: Path) -> None:
    text = text_of(site / doxygen_name(header))
    assert "File Reference" in text
    for function in re.findall(r"^OCTET_API [^;(]*?(\w+)\(", header.read_text(), re.MULTILINE):
        assert function in text


def test_contract_of_a_function(site: Path) -> None:
    """Comments arrive, and what is laid out in columns stays so."""
    page = site / "octet_8h.html"
    assert "Copies an output of the last run, which succeeded" in text_of(page)
    assert re.search(r'"backend" +"auto" \(the default\), or', html.unescape(page.read_text()))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_page_is_there_with_its_headings(site: Path, page: Path) -> None:
    text = text_of(site / f"md_docs_{page.stem.replace('-', '_')}.html")
    for heading in re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE):
        assert " ".join(heading.replace("`", "").split()) in text


def test_formula_of_an_operator(site: Path) -> None:
    page = html.unescape((site / "md_docs_operators.html").read_text())
    assert "C = (A - A_zero_point) * (B - B_zero_point)" in page
