"""A path is judged by where it leads, however it is spelled."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_ls.tools.places import Places, is_secret

steps = st.sampled_from(["..", ".", "src", "out", "in", "up", "deep", "~", "loop", "secret.txt", ".git", ""])


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    top = tmp_path_factory.mktemp("places")
    root = top / "workspace"
    (root / "src" / "deep").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "~").mkdir()
    (top / "elsewhere" / "deep").mkdir(parents=True)
    (root / "out").symlink_to(top / "elsewhere")
    (root / "up").symlink_to("..")
    (root / "in").symlink_to("src/deep")
    (root / "loop").symlink_to("loop")
    return Places.of_workspace(root)


@given(st.lists(steps, max_size=6), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_counts_as_inside_opens_inside(places: Places, parts: list[str], absolute: bool) -> None:
    spelling = "/".join([str(places.root), *parts] if absolute else ["src", "..", *parts])
    place = places.locate(spelling)
    assert place.inside == (os.path.commonpath([os.path.realpath(place.path), places.root]) == str(places.root))
    assert place.path == Path(os.path.realpath(place.path)) or "loop" in parts
    assert places.locate(places.spell(place.path)) == place or place.secret or place.protected


@given(st.lists(steps, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_path_through_git_is_protected(places: Places, parts: list[str]) -> None:
    place = places.locate("/".join([*parts, "x"]))
    if ".git" in place.path.parts:
        assert place.protected


def test_a_directory_called_tilde_is_not_the_home_directory(places: Places) -> None:
    assert places.locate("./~").path == places.root / "~"
    assert places.locate(places.spell(places.root / "~")).path == places.root / "~"
    assert places.locate("~").path == Path(os.path.realpath(Path.home()))


def test_a_path_with_a_nul_byte_is_no_path(places: Places) -> None:
    with pytest.raises(ValueError, match="NUL"):
        places.locate("a\0b")


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        (".env", True),
        ("a/.ENV.local", True),
        (".env.example", False),
        ("environment.py", False),
        ("keys/id_rsa", True),
        ("keys/id_rsa.pub", False),
        ("tls/server.key", True),
        ("keyboard.py", False),
        (".aws/config", True),
        ("credentials.json", True),
        ("secrets.yaml", True),
        ("secretary.py", False),
    ],
)
def test_secrets_are_known_by_name(path: str, secret: bool) -> None:
    assert is_secret(Path(path)) == secret
