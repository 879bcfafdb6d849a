"""Every protocol class goes over the wire and comes back; nothing of another type gets in."""

import inspect
import json
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_ls import protocol
from agent_ls.tokens import Tokens
from agent_ls.wire.converter import BadParams, camel, converter, structure, unstructure

CLASSES = [cls for _, cls in inspect.getmembers(protocol, attrs.has) if cls.__module__ == protocol.__name__]
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=2))


def values(cls: type[Any]) -> st.SearchStrategy[Any]:
    tokens = st.builds(Tokens, st.integers(0, 10**9), st.sampled_from(["measured", "estimated"]))
    st.register_type_strategy(Tokens, tokens)
    hints = {field.name: field.type for field in attrs.fields(attrs.resolve_types(cls))}
    return st.builds(
        cls,
        **{name: JSON if hint is Any else strategy(hint) for name, hint in hints.items()},
    )


def strategy(hint: Any) -> st.SearchStrategy[Any]:
    text = str(hint)
    if hint in CLASSES:
        return st.deferred(lambda: values(hint))
    if "Sequence" in text and "str |" not in text and "ContentBlock" not in text:
        inner = next(argument for argument in flat(hint) if "Sequence" in str(argument))
        lists = st.lists(union(inner.__args__[0]), max_size=2)
        return lists if hint is inner else st.none() | lists
    if hint == protocol.PromptParams.__annotations__.get("prompt") or "Sequence" in text:
        return st.text() | st.lists(union(protocol.ContentBlock), max_size=2)
    return union(hint)


def flat(hint: Any) -> tuple[Any, ...]:
    return hint.__args__ if "Sequence" not in str(getattr(hint, "__origin__", "")) else (hint,)


def union(hint: Any) -> st.SearchStrategy[Any]:
    members = [member for member in CLASSES if member in getattr(hint, "__args__", ())]
    if members:
        choices = st.one_of([values(member) for member in members])
        return st.none() | choices if type(None) in hint.__args__ else choices
    return values(hint) if hint in CLASSES else st.from_type(hint)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_a_value_comes_back_as_it_went(cls: type[Any], data: st.DataObject) -> None:
    value = data.draw(values(cls))
    wire = json.loads(json.dumps(unstructure(value)))
    assert unstructure(converter().structure(wire, cls)) == wire


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_fields_without_a_default_are_always_on_the_wire_in_camel_case(cls: type[Any], data: st.DataObject) -> None:
    wire = unstructure(data.draw(values(cls)))
    required = {camel(field.name) for field in attrs.fields(cls) if field.default is not None}
    assert required <= set(wire)
    assert not any("_" in name for name in wire)


def test_a_gauge_at_zero_says_zero() -> None:
    assert unstructure(Tokens.estimated(0)) == {"count": 0, "basis": "estimated"}


@pytest.mark.parametrize(
    ("params", "cls", "problem"),
    [
        ({}, protocol.PromptParams, "$.prompt: required field missing"),
        ({"prompt": 12}, protocol.PromptParams, "$.prompt: expected a string or an array, got an integer"),
        (
            {"prompt": [{"type": "text", "text": 1}]},
            protocol.PromptParams,
            "$.prompt[0].text: expected a string, got an integer",
        ),
        ({"prompt": [{"type": "video"}]}, protocol.PromptParams, "$.prompt[0]: type must be one of 'text', 'image'"),
        ({"prompt": "a", "whenBusy": "later"}, protocol.PromptParams, "$.whenBusy: must be one of 'reject', 'queue'"),
        ({"prompt": "a", "sessionId": 7}, protocol.PromptParams, "$.sessionId: expected a string, got an integer"),
        (
            {"prompt": "a", "workDoneToken": True},
            protocol.PromptParams,
            "$.workDoneToken: expected an integer or a string, got a boolean",
        ),
        ([], protocol.SessionParams, "$: expected an object, got an array"),
        (
            {"prompt": [{"type": "resource_link", "uri": "u", "range": {"start": {"line": "1", "character": 0}}}]},
            protocol.PromptParams,
            "$.prompt[0].range.start.line: expected an integer, got a string",
        ),
    ],
)
def test_a_bad_field_is_named_by_its_path(params: Any, cls: type[Any], problem: str) -> None:
    with pytest.raises(BadParams) as bad:
        structure(params, cls)
    assert any(each.startswith(problem) for each in bad.value.problems), bad.value.problems


def test_unknown_fields_are_ignored_and_absent_params_are_an_empty_object() -> None:
    assert structure({"nothing": "known"}, protocol.SessionParams) == protocol.SessionParams()
    assert structure(None, protocol.SessionParams) == protocol.SessionParams()
