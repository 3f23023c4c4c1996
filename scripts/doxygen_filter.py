"""Prints a file as Doxygen is to see it: links of pages as they lead from the site, comments of headers in its own form.

The public headers speak in ordinary comments, laid out as plain text. What is indented (examples, lists of values) becomes
a block that keeps its columns, a word with its explanation an item of a list, and a ruler the title of a group.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

RULER = re.compile(r"-{4,} (?P<title>.*?) -{4,}$")
TERM = re.compile(r"(?P<term>\S+( \.\.\.)?) {2,}(?P<text>\S.*)")
TRAILING = re.compile(r"(?<=\S)(?P<space>\s+)/\* (?P<text>.*) \*/$")
HEADER_LINK = re.compile(r"\]\(include/octet/(?P<name>[\w.]+)\)")
OUTSIDE_CODE = re.compile(r"(`[^`]*`)")


def escaped(line: str) -> str:
    parts = OUTSIDE_CODE.split(line)
    return "".join(part if part.startswith("`") else part.replace("<", "\\<") for part in parts)


def kind_of(line: str, previous: str) -> str:
    if line.startswith("  "):
        return "item" if previous == "item" else "block"
    return "item" if line.startswith("- ") or TERM.fullmatch(line) else "text"


def as_markdown(lines: list[str]) -> Iterator[str]:
    previous = ""
    for line in lines:
        kind = kind_of(line, previous)
        if kind != previous and "block" in (kind, previous):
            yield ""
        if kind == "block":
            yield "    " + line
        elif term := TERM.fullmatch(line):
            yield f"- `{term['term']}`: {escaped(term['text'])}"
        else:
            yield "  " + escaped(line.strip()) if line.startswith("  ") else escaped(line)
        previous = kind


def comment(lines: list[str], indent: str, command: str = "") -> list[str]:
    body = [f"{indent} * {line}".rstrip() for line in as_markdown(lines)]
    return [f"{indent}/** {command}".rstrip(), *body, f"{indent} */"]


def take_block(lines: list[str], i: int) -> tuple[list[str], int]:
    """The text of the comment that begins at line i, and the line behind it."""
    if not lines[i].lstrip().startswith("/*"):
        end = i
        while end < len(lines) and lines[end].lstrip().startswith("//"):
            end += 1
        return [re.sub(r"^\s*///? ?", "", line) for line in lines[i:end]], end
    end = next(j for j in range(i, len(lines)) if lines[j].endswith("*/")) + 1
    text = [re.sub(r"^\s*(/\*| \*(?!/)) ?", "", line) for line in lines[i:end]]
    text[-1] = re.sub(r" ?\*/$", "", text[-1])
    return [line for j, line in enumerate(text) if line or 0 < j < len(text) - 1], end


def header(lines: list[str]) -> Iterator[str]:
    is_first, is_grouped, i = True, False, 0
    while i < len(lines):
        indent = lines[i][: len(lines[i]) - len(lines[i].lstrip())]
        if not lines[i].lstrip().startswith(("//", "/*")):
            yield TRAILING.sub(r"\g<space>/**< \g<text> */", lines[i])
            i += 1
            continue
        text, i = take_block(lines, i)
        if ruler := RULER.match(text[0]):
            yield "/** @} */" if is_grouped else ""
            yield from comment(text[1:], indent, f"@name {ruler['title']}")
            yield "/** @{ */"
            is_grouped = True
        else:
            yield from comment(text, indent, "@file" if is_first else "")
        is_first = False
    if is_grouped:
        yield "/** @} */"


def page(text: str) -> str:
    """Links from the site's one folder; those to a header lead to what is made of it."""
    text = re.sub(r"\]\((\.\./|docs/)", "](", text)
    return HEADER_LINK.sub(lambda link: "](" + link["name"].replace("_", "__").replace(".", "_8") + ".html)", text)


def main() -> None:
    file = Path(sys.argv[1])
    text = file.read_text()
    print(page(text) if file.suffix == ".md" else "\n".join(header(text.splitlines())))


if __name__ == "__main__":
    main()
