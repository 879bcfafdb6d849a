"""Makes dist/ of a commit: checked, built twice, audited, with its bills of materials and checksums."""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from release_steps.audit import audit_npm, audit_python, judge
from release_steps.bills import bill_of_extension, install_python
from release_steps.build import build
from release_steps.licences import Policy, refuse_unknown_licences
from release_steps.source import EXTENSION, Refusal, check_source


def release(root: Path, work: Path, *, require_audit: bool) -> list[Path]:
    """Everything that is released, in `root`/dist. Raises Refusal; then dist/ is as it was."""
    source = check_source(root)
    _say("Building twice ...")
    built = build(source, work)
    _say("Listing what is in it ...")
    python = install_python(source, built[0], work)
    extension = work / "second/source" / EXTENSION
    audits = [audit_python(python.requirements), audit_npm(extension)]
    bills = [python.bill, bill_of_extension(source, extension, work)]
    policy = Policy.load(root / "requirements/licences.toml")
    for bill in bills:
        refuse_unknown_licences(bill.content(), policy)
    judge(audits, required=require_audit)
    return publish([*built, *(bill.file for bill in bills)], root / "dist")


def publish(files: Sequence[Path], dist: Path) -> list[Path]:
    """Put copies and their checksums, in the form `sha256sum --check` reads, into `dist` in place of all it holds."""
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    copies = [Path(shutil.copyfile(file, dist / file.name)) for file in files]
    sums = dist / "SHA256SUMS"
    lines = [f"{hashlib.sha256(copy.read_bytes()).hexdigest()}  {copy.name}\n" for copy in copies]
    sums.write_text("".join(lines), "utf-8")
    return [*copies, sums]


def _say(what: str) -> None:
    print(what, file=sys.stderr)


def main() -> int:
    """Exit status 1: nothing is released, and why is said."""
    parser = argparse.ArgumentParser(prog="scripts/release")
    parser.add_argument("--work", type=Path, required=True, help="an empty folder for what is thrown away")
    parser.add_argument("--require-audit", action="store_true")
    arguments = parser.parse_args()
    try:
        made = release(Path.cwd(), arguments.work, require_audit=arguments.require_audit)
    except Refusal as refusal:
        print(f"No release: {refusal}", file=sys.stderr)
        return 1
    for file in made:
        print(f"dist/{file.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
