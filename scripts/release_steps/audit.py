"""Whether advisories are known for what is released. What could not be asked is never called audited."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from release_steps.source import Refusal

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Audit:
    """`vulnerable`: a line for each advisory. `not_audited`: why there is no answer, or an answer for a part only."""

    of: str
    vulnerable: tuple[str, ...] = ()
    not_audited: str = ""


def audit_python(requirements: Path) -> Audit:
    """What pip-audit finds for a file of `name==version` lines."""
    of = "Python packages"
    options = ("--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json", "--timeout", "15")
    printed, errors = _run(sys.executable, "-m", "pip_audit", *options, "--requirement", str(requirements))
    try:
        return read_pip_audit(of, json.loads(printed))
    except ValueError:
        return Audit(of, not_audited=_last_line(errors))


def read_pip_audit(of: str, report: Json) -> Audit:
    """pip-audit skips what the service does not answer for, and still says 'no known vulnerabilities'."""
    vulnerable = tuple(
        f"{package['name']} {package['version']}: {advisory['id']}, fixed in {advisory['fix_versions'] or 'no version'}"
        for package in report["dependencies"]
        for advisory in package.get("vulns", ())
    )
    skipped = [package for package in report["dependencies"] if "skip_reason" in package]
    why = f"{len(skipped)} of {len(report['dependencies'])}: {skipped[0]['skip_reason']}" if skipped else ""
    return Audit(of, vulnerable, why)


def audit_npm(extension: Path) -> Audit:
    """What npm audit finds for the packages that are bundled."""
    of = "npm packages"
    printed, errors = _run(
        "npm", "audit", "--omit=dev", "--json", "--fetch-retries=1", "--fetch-timeout=15000", cwd=extension
    )
    try:
        return read_npm_audit(of, json.loads(printed))
    except ValueError:
        return Audit(of, not_audited=_last_line(errors))


def read_npm_audit(of: str, report: Json) -> Audit:
    """Without `vulnerabilities` the report says why the service did not answer."""
    if "vulnerabilities" not in report:
        return Audit(of, not_audited=report.get("message") or str(report.get("error", "no answer")))
    vulnerable = report["vulnerabilities"].items()
    return Audit(of, tuple(f"{name} {found['range']}: {found['severity']}" for name, found in vulnerable))


def judge(audits: Sequence[Audit], *, required: bool) -> None:
    """Raises Refusal for an advisory, and with `required` for a missing answer; else that is a warning."""
    vulnerable = [line for audit in audits for line in audit.vulnerable]
    if vulnerable:
        raise Refusal("Advisories are known:\n" + "\n".join(f"  {line}" for line in vulnerable))
    for audit in audits:
        if audit.not_audited:
            message = f"{audit.of} are not audited ({audit.not_audited})"
            if required:
                raise Refusal(message)
            print(f"Warning: {message}", file=sys.stderr)
        else:
            print(f"{audit.of}: no advisory known")


def _run(*command: str, cwd: Path | None = None) -> tuple[str, str]:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no answer")
