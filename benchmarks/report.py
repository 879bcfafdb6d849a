"""Writes what a benchmark measured into its own part of docs/benchmarks.md.

The document has a pair of marks per benchmark, `<!-- begin NAME -->` and `<!-- end NAME -->`; what stands between them
is generated and replaced as a whole. Everything else in it is written by hand.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Final

DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "benchmarks.md"
_GIB: Final = 1 << 30


def write_section(name: str, text: str, document: Path = DOCUMENT) -> None:
    """Replace the generated part of that name. Raises SystemExit where the document has no such marks."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, found_begin, rest = document.read_text("utf-8").partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise SystemExit(f"{document} has no marks {begin} ... {end}")
    document.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}", "utf-8")


def machine() -> str:
    """The machine, for the line under a table: processor, cores, memory, system, Python."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    return (
        f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown processor")
