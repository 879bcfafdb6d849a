"""docs/protocol.md names every method, type, field, value and error there is, and nothing that is not there."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import attrs
import pytest

from agent_ls import protocol
from agent_ls.errors import ErrorKind
from agent_ls.server import create_host
from agent_ls.slash_commands import AVAILABLE
from agent_ls.tokens import Basis
from agent_ls.wire.converter import camel

DOC = (Path(__file__).parents[1] / "docs" / "protocol.md").read_text()
CLASSES = [cls for _, cls in inspect.getmembers(protocol, attrs.has) if cls.__module__ == protocol.__name__]
CODES = ["PARSE_ERROR", "INVALID_REQUEST", "METHOD_NOT_FOUND", "INVALID_PARAMS", "INTERNAL_ERROR"]
LSP_CODES = ["SERVER_NOT_INITIALIZED", "REQUEST_CANCELLED", "REQUEST_FAILED"]


def section(name: str, level: str = "###") -> str:
    return re.split(r"^##+ ", DOC.split(f"\n{level} {name}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> dict[str, str]:
    """The first column's name and the second column of each row."""
    found = re.findall(r"^\| `([\w/-]+)` \|([^|]*)\|", text, flags=re.MULTILINE)
    return {name: kind.strip() for name, kind in found}


def literals(hint: Any) -> set[str]:
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    return {value for argument in get_args(hint) if "Sequence" not in str(hint) for value in literals(argument)}


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_field_is_described_with_its_values(cls: type[Any]) -> None:
    described = rows(section(cls.__name__))
    fields = attrs.fields(attrs.resolve_types(cls))
    assert set(described) == {camel(field.name) for field in fields}
    for field in fields:
        kind = described[camel(field.name)]
        assert set(re.findall(r"`(\w+)`", kind)) == literals(field.type), field.name
        always_there = cls is not protocol.ClientAbilities and field.default is not None
        assert kind.endswith("?") is not always_there, field.name
        assert ("or null" in kind) is (always_there and type(None) in get_args(field.type)), field.name


def test_every_section_is_a_type_that_is_there() -> None:
    described = {name for name in re.findall(r"^### (.+)$", DOC, flags=re.MULTILINE) if name != "Updates"}
    assert described == {cls.__name__ for cls in CLASSES} | {"Tokens"}
    assert set(re.findall(r"`(\w+)`", rows(section("Tokens"))["basis"])) == set(get_args(Basis))


def test_every_request_is_described_with_its_params() -> None:
    served = {name: [each.params.__name__] for name, each in create_host().protocol._methods.items()}
    described = rows(section("Requests to the server", "##"))
    assert {name: re.findall(r"\[(\w+)\]", kind) for name, kind in described.items()} == served


def test_every_other_method_is_named() -> None:
    methods = {value for value in vars(protocol).values() if isinstance(value, str) and value.startswith("agent/")}
    assert set(re.findall(r"`(agent/\w+)`", DOC)) == methods


def test_every_command_of_a_prompt_is_named() -> None:
    assert set(re.findall(r"`/(\w+)`", DOC.split("**Commands in a prompt.**")[1].split("Another")[0])) == {
        command.name for command in AVAILABLE
    }


def test_every_error_is_described() -> None:
    errors = section("Errors", "##")
    codes = {int(code): name for code, name in re.findall(r"^\| (-\d+) \| `(\w+)` \|", errors, flags=re.MULTILINE)}
    assert codes == {getattr(protocol, name): name for name in (*CODES, *LSP_CODES)}
    kinds = errors.split("| kind | when |")[1]
    assert set(rows(kinds)) == set(get_args(ErrorKind))


def test_links_lead_somewhere_and_examples_are_json() -> None:
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^##+ (.+)$", DOC, flags=re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", DOC)) <= headings
    examples = re.findall(r"```json\n(.*?)```", DOC, flags=re.DOTALL)
    assert [json.loads(example) for example in examples]
    assert f"Protocol version: **{protocol.PROTOCOL_VERSION}**" in DOC
