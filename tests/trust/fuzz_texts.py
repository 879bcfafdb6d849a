"""Damaged texts that anyone may have written: MEMORY.md and its journal, AGENTS.md, settings, approvals, summaries.

Nothing raises but what is promised, a person's lines stay, caps hold, a broken file of approvals allows nothing new.
"""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from markdown_it import MarkdownIt

from agent_ls.compaction.estimate import estimate_text
from agent_ls.compaction.summary import SECTIONS, NoSummary, parse_summary
from agent_ls.errors import SettingsInvalid
from agent_ls.memory.acceptance import NotAccepted, accepted_bullets
from agent_ls.memory.clip import Caps
from agent_ls.memory.instructions import InstructionReader
from agent_ls.memory.memory_file import MemoryFile
from agent_ls.memory.sentence import NotWorthWriting, one_sentence
from agent_ls.memory.store import MemoryStore
from agent_ls.protocol import SessionId
from agent_ls.settings import LiveSettings
from agent_ls.tools.approvals import ApprovalFile, ExactCommand, ExactPath, WorkspaceEdits
from tests.e2e.test_cascade import SUMMARY
from tests.trust.attack import Row, limited, run_shards
from tests.trust.mutation import damaged_bytes, damaged_value

_CAPS: Final = Caps(12, 800)
_MEMORY: Final = "# Rules\n- use tabs\n\n- 2026-11-30: Reworked the login form.\n- 2026-12-01: Fixed the café page.\r\n"
_JOURNAL: Final = b'{"version": 1, "sessions": {"s1": {"covers": 4, "line": "- 2026-11-30: Said.", "written": false}}}'
_SETTINGS: Final = (
    b'model = "openai:gpt-5"\ncompaction_reserve_fraction = 0.2\nmicrocompaction_reserve_fraction = 0.4\n'
    b'memory_max_lines = 200\npermission_mode = "ask"\nlog_level = "info"\n'
)
_EDITOR: Final = {"agentLs": {"model": "openai:gpt-5", "compactionEnabled": True, "memoryMaxLines": 5}}
_MOST_SUMMARY_TOKENS: Final = 300


def attack_texts(count: int, seed: str, *, workers: int) -> Row:
    """Damage `count` texts."""
    return run_shards("damaged texts", _shard, count, seed, workers=workers, per_shard=5_000)


def _shard(count: int, seed: str) -> Mapping[str, int]:
    chance = random.Random(seed)
    kinds = (_memory, _settings, _approvals, _summary)
    counted: Counter[str] = Counter()
    with limited() as attempt, TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        for number in range(count):
            attempt()
            attack = kinds[number % len(kinds)]
            try:
                counted[attack(chance, Path(name))] += 1
            except BaseException as error:
                error.add_note(f"text {number} of seed {seed}")
                raise
    return counted


def _memory(chance: random.Random, folder: Path) -> str:
    store = MemoryStore(folder / ".agent_ls", _CAPS)
    store.directory.mkdir(exist_ok=True)
    for old in store.directory.iterdir():
        old.unlink()
    text = damaged_bytes(chance, _MEMORY.encode())
    store.path.write_bytes(text)
    (store.directory / "memory-journal.json").write_bytes(damaged_bytes(chance, _JOURNAL))
    (folder / "AGENTS.md").write_bytes(damaged_bytes(chance, b"# Read me\n\xef\xbb\xbf- \x1b[31mred\n" * 3))
    before = MemoryFile.parse(text.decode("utf-8", "surrogateescape"))
    remembered = store.remember_session(SessionId("s2"), 1, "- 2026-12-02: Wrote a test.")
    assert remembered.written
    store.clamp()
    after = store.read()
    archive = store.archive_path.read_bytes().decode("utf-8", "surrogateescape") if store.archive_path.exists() else ""
    kept = Counter([*after.lines, *archive.split("\n")])
    assert all(kept[line] for line in before.lines if line.strip()), "a line is gone"
    assert _CAPS.hold(after.lines)
    sent = InstructionReader(folder, store.directory).load(_CAPS)
    assert "\x1b" not in sent.text
    sent.text.encode()
    for judge, refusal in (
        (lambda answer: accepted_bullets(answer, after, _CAPS), NotAccepted),
        (one_sentence, NotWorthWriting),
    ):
        _refused_or(judge, refusal, damaged_bytes(chance, _MEMORY.encode()).decode("utf-8", "replace"))
    return "of memory"


def _refused_or(judge: Callable[[str], object], refusal: type[Exception], answer: str) -> bool:
    try:
        judge(answer)
    except refusal:
        return True
    return False


def _settings(chance: random.Random, folder: Path) -> str:
    path = folder / "config.toml"
    path.write_bytes(damaged_bytes(chance, _SETTINGS))
    number = damaged_bytes(chance, b"0.35").decode("utf-8", "replace")
    live = LiveSettings(path, {"AGENT_LS_COMPACTION_RESERVE_FRACTION": number}, damaged_value(chance, _EDITOR))
    before = live.current
    try:
        live.update_configuration(damaged_value(chance, _EDITOR))
    except SettingsInvalid:
        assert live.current == before
    assert live.current.microcompaction_reserve_fraction > live.current.compaction_reserve_fraction
    json.dumps(live.effective.messages)
    return "of settings"


def _approvals(chance: random.Random, folder: Path) -> str:
    path = folder / "permissions.json"
    allowed = {"edits": False, "commands": ["make test"], "read": ["/etc/hosts"]}
    content = {"workspaces": {str(folder): allowed, "/other": {"edits": True, "commands": ["rm -rf /"]}}}
    damaged = damaged_value(chance, content) if chance.randrange(2) else content
    path.write_bytes(damaged_bytes(chance, json.dumps(damaged).encode()) if damaged is content else _json(damaged))
    file = ApprovalFile(path, folder)
    for approval in file.load():
        assert isinstance(approval, WorkspaceEdits | ExactCommand | ExactPath)
    file.add(ExactCommand("make all"))
    assert ExactCommand("make all") in ApprovalFile(path, folder).load()
    path.unlink()
    return "of approvals"


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _summary(chance: random.Random, folder: Path) -> str:
    answer = damaged_bytes(chance, SUMMARY.encode()).decode("utf-8", "replace")
    try:
        summary = parse_summary(answer)
    except NoSummary:
        return "of summaries that are none"
    rendered = summary.clipped(lambda text: estimate_text(text) <= _MOST_SUMMARY_TOKENS).render()
    # Read as Markdown: what stands in a code fence is no heading.
    tokens = itertools.pairwise(MarkdownIt().parse(rendered))
    headings = [f"{mark.markup} {text.content}" for mark, text in tokens if mark.type == "heading_open"]
    assert [heading for heading in headings if heading in SECTIONS] == list(SECTIONS), rendered
    return "of summaries"
