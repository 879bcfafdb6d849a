"""Wire JSON <-> the types of `agent_ls.protocol`: camelCase, strict values, errors that tell the path.

cattrs would turn `12` into "12" and read a string as a list of letters; here a value of another type is refused.
Unknown fields are ignored (PROTOCOL "Guarantees").
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin

import attrs
import cattrs
from cattrs.errors import BaseValidationError, ClassValidationError, IterableValidationError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from agent_ls import protocol

T = TypeVar("T")

_TAGS: Final[Mapping[Any, str]] = {
    protocol.ContentBlock: "type",
    protocol.ToolCallContent: "type",
    protocol.SessionUpdate: "sessionUpdate",
}


class BadParams(ValueError):
    """Params that are not of the method's shape. `problems` has one sentence for each bad field, with its path."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def camel(name: str) -> str:
    """`tool_call_id` -> `toolCallId`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def structure(value: Any, cls: type[T]) -> T:
    """A value of type `cls` from wire JSON. Raises BadParams."""
    try:
        return converter().structure({} if value is None else value, cls)
    except (BaseValidationError, ValueError, TypeError, KeyError) as error:
        raise BadParams([_sentence(problem) for problem in _problems(error, "$")]) from error


def unstructure(value: object) -> Any:
    """Wire JSON of one of the protocol's types."""
    return converter().unstructure(value)


@functools.cache
def converter() -> cattrs.Converter:
    """The one converter of the protocol's types."""
    made = cattrs.Converter(detailed_validation=True)
    for primitive in (str, int, float, bool):
        made.register_structure_hook(primitive, functools.partial(_exactly, primitive))
    made.register_structure_hook_factory(_is_literal, _literal)
    made.register_structure_hook_factory(_is_sequence, lambda cls: _list_of(made, get_args(cls)[0]))
    made.register_structure_hook_factory(_is_plain_union, lambda cls: _one_of(made, cls))
    for union, tag in _TAGS.items():
        made.register_structure_hook(union, _tagged(made, union, tag))
    made.register_structure_hook_factory(attrs.has, lambda cls: _structured(made, cls))
    made.register_unstructure_hook_factory(attrs.has, lambda cls: _unstructured(made, cls))
    return made


# --- structuring ------------------------------------------------------------------------------------------------------


def _exactly(expected: type, value: Any, _: Any) -> Any:
    if isinstance(value, bool) is (expected is bool) and (
        isinstance(value, expected) or (expected is float and isinstance(value, int))
    ):
        return value
    raise TypeError(f"expected {_JSON_NAMES[expected]}, got {_json_name(value)}")


_JSON_NAMES: Final = {str: "a string", int: "an integer", float: "a number", bool: "a boolean"}


def _json_name(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool() | int() | float() | str():
            return _JSON_NAMES[type(value)]
        case list():
            return "an array"
        case _:
            return "an object"


def _is_literal(cls: Any) -> bool:
    origin: Any = get_origin(cls)
    return origin is Literal


def _literal(cls: Any) -> Callable[[Any, Any], Any]:
    allowed = get_args(cls)

    def hook(value: Any, _: Any) -> Any:
        if isinstance(value, str) and value in allowed:
            return value
        raise ValueError(f"must be one of {', '.join(map(repr, allowed))}, got {value!r}")

    return hook


def _is_sequence(cls: Any) -> bool:
    return get_origin(cls) is Sequence


def _list_of(made: cattrs.Converter, item: Any) -> Callable[[Any, Any], Any]:
    of_list = made.get_structure_hook(list[item])

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, list):
            raise TypeError(f"expected an array, got {_json_name(value)}")
        return of_list(value, list[item])

    return hook


def _is_plain_union(cls: Any) -> bool:
    return get_origin(cls) in _UNIONS and cls not in _TAGS


_UNIONS: Final = (Union, type(int | str))


def _one_of(made: cattrs.Converter, union: Any) -> Callable[[Any, Any], Any]:
    """A union whose members differ in their JSON type: `str | Sequence[ContentBlock]`, `int | str | None`."""
    members = [member for member in _members(union) if member is not type(None)]
    optional = len(members) < len(_members(union))

    def hook(value: Any, _: Any) -> Any:
        if value is None and optional:
            return None
        for member in members:
            if _fits(value, member):
                return made.structure(value, member)
        if len(members) == 1:
            return made.structure(value, members[0])
        raise TypeError(f"expected {' or '.join(map(_member_name, members))}, got {_json_name(value)}")

    return hook


def _members(union: Any) -> tuple[Any, ...]:
    """A union's members; a tagged union inside stays one."""
    arguments = get_args(union)
    for tagged in _TAGS:
        inner = get_args(tagged)
        if set(inner) < set(arguments):
            return (tagged, *(argument for argument in arguments if argument not in inner))
    return arguments


def _fits(value: Any, member: Any) -> bool:
    if member in (str, int, bool):
        return type(value) is member
    return isinstance(value, list) if _is_sequence(member) else isinstance(value, Mapping)


def _member_name(member: Any) -> str:
    if member in _JSON_NAMES:
        return _JSON_NAMES[member]
    return "an array" if _is_sequence(member) else "an object"


def _tagged(made: cattrs.Converter, union: Any, tag: str) -> Callable[[Any, Any], Any]:
    field = re.sub(r"([A-Z])", lambda upper: f"_{upper[1].lower()}", tag)
    classes = {getattr(attrs.fields(cls), field).default: cls for cls in get_args(union)}

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, Mapping):
            raise TypeError(f"expected an object, got {_json_name(value)}")
        cls = classes.get(value.get(tag))
        if cls is None:
            raise ValueError(f"{tag} must be one of {', '.join(map(repr, classes))}, got {value.get(tag)!r}")
        return made.structure(value, cls)

    return hook


def _structured(made: cattrs.Converter, cls: Any) -> Callable[[Any, Any], Any]:
    of_mapping = make_dict_structure_fn(cls, made, **_renamed(cls))

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, Mapping):
            raise TypeError(f"expected an object, got {_json_name(value)}")
        return of_mapping(value, cls)

    return hook


def _renamed(cls: Any) -> dict[str, Any]:
    return {field.name: override(rename=camel(field.name)) for field in attrs.fields(attrs.resolve_types(cls))}


# --- unstructuring ----------------------------------------------------------------------------------------------------


def _unstructured(made: cattrs.Converter, cls: Any) -> Callable[[Any], Any]:
    """Fields whose default is None are left off when they are None; all others are always there."""
    of_object = make_dict_unstructure_fn(cls, made, **_renamed(cls))
    optional = [camel(field.name) for field in attrs.fields(cls) if field.default is None]

    def hook(value: Any) -> Any:
        wire = of_object(value)
        for name in optional:
            if wire[name] is None:
                del wire[name]
        return wire

    return hook


# --- errors -----------------------------------------------------------------------------------------------------------


def _problems(error: BaseException, path: str) -> list[tuple[str, BaseException]]:
    if isinstance(error, ClassValidationError):
        with_notes, without = error.group_exceptions()
        return [
            *(each for inner, note in with_notes for each in _problems(inner, f"{path}.{camel(note.name)}")),
            *(each for inner in without for each in _problems(inner, path)),
        ]
    if isinstance(error, IterableValidationError):
        indexed, bare = error.group_exceptions()
        return [
            *(each for inner, note in indexed for each in _problems(inner, f"{path}[{note.index}]")),
            *(each for inner in bare for each in _problems(inner, path)),
        ]
    if isinstance(error, KeyError):
        return [(f"{path}.{error.args[0]}" if not path.endswith(f".{error.args[0]}") else path, error)]
    return [(path, error)]


def _sentence(problem: tuple[str, BaseException]) -> str:
    path, error = problem
    return f"{path}: required field missing" if isinstance(error, KeyError) else f"{path}: {error}"
