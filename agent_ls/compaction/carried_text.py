"""How what is carried is written under a summary, within its budgets (CASCADE §2, §12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import frozen

from agent_ls.compaction.carried import Carried, Command, UserWords
from agent_ls.compaction.changed_rules import changed_rules, rule_like, standing_rules
from agent_ls.compaction.estimate import Estimator

_WORDS_TITLE: Final = (
    "# What the user said, verbatim and in order\n"
    "Each message has its number and its time (UTC). Where two of them contradict each other, the later one is current."
)
_FIRST_SHARE: Final = 3
"""The first message, usually the task, gets one part in three of the words' budget if it is huge."""
_COMMANDS_SHARE: Final = 3
_OPENING_CHARACTERS: Final = 80
_MINUTES: Final = len("2026-12-01T10:00")
_LEAST_TOKENS: Final = 40


def lists_text(carried: Carried, budget: int, spare: int, estimator: Estimator) -> str:
    """The files and the commands, in `budget` tokens; the files may take half of `spare` tokens on top."""
    ran = commands_text(carried.commands, budget // _COMMANDS_SHARE, estimator)
    left = budget - min(estimator.text(ran), budget)
    files = files_text(carried, left + spare // 2, estimator)
    return "\n\n".join(section for section in (files, ran) if section)


def words_text(words: Sequence[UserWords], budget: int, estimator: Estimator) -> str:
    """The user's messages in `budget` tokens, in order.

    The first always. Then every rule that is meant to stand ("always", "from now on"), for half of the room. Then the
    newest that fit, for half of what is left; then, of all others, those with anything like a rule in them; then the
    newest of the rest. Of a message that does not fit, its rules, or its name.
    """
    if not words:
        return ""
    page = _Page(words, changed_rules([each.text for each in words]), estimator)
    shown = {0: page.clipped(0, max(budget // _FIRST_SHARE, _LEAST_TOKENS))}
    room = budget - estimator.text(_WORDS_TITLE) - estimator.text(shown[0])

    def show(index: int, line: str, keep_free: int = 0) -> None:
        nonlocal room
        if index not in shown and (cost := estimator.text(line) + 1) <= room - keep_free:
            shown[index] = line
            room -= cost

    def show_whole(index: int, keep_free: int = 0) -> None:
        """Also where only its rules are shown so far."""
        nonlocal room
        if (before := shown.get(index)) == (line := page.whole(index)):
            return
        cost = estimator.text(line) - (-1 if before is None else estimator.text(before))
        if cost <= room - keep_free:
            shown[index] = line
            room -= cost

    newest_first = range(len(words) - 1, 0, -1)
    half = room // 2
    for index in newest_first:
        if rules := standing_rules(words[index].text):
            show(index, min(page.whole(index), page.with_rules(index, rules), key=len), half)
    half = room // 2
    for index in newest_first:
        show_whole(index, half)
    with_rules = [index for index in newest_first if index not in shown and rule_like(words[index].text)]
    for index in with_rules:
        show_whole(index)
        show(index, page.with_rules(index, rule_like(words[index].text)))
    for index in newest_first:
        show_whole(index)
        show(index, page.name(index))
    lines = [shown[index] for index in sorted(shown)]
    if unnamed := len(words) - len(shown):
        lines.insert(1, f"[{unnamed} more of the user's messages are not shown: `recall` finds them.]")
    return "\n".join([_WORDS_TITLE, *lines])


def files_text(carried: Carried, budget: int, estimator: Estimator) -> str:
    """The files changed and read, those used last at the end; the oldest go first where not all fit."""
    sections = []
    room = budget
    read = [path for path in carried.read if path not in carried.changed]
    for title, paths in (("# Files changed", carried.changed), ("# Files read or named", read)):
        kept: list[str] = []
        for path in reversed(paths):
            if (cost := estimator.text(path) + 2) > room:
                break
            room -= cost
            kept.append(f"- {path}")
        if kept:
            left_out = [f"- … {len(paths) - len(kept)} older ones"] if len(kept) < len(paths) else []
            sections.append("\n".join([title, *left_out, *reversed(kept)]))
    return "\n\n".join(sections)


def commands_text(commands: Sequence[Command], budget: int, estimator: Estimator) -> str:
    """The commands run, newest last, with their exit codes where they were told; the newest one always."""
    kept: list[str] = []
    room = budget
    for each in reversed(commands):
        exit_code = "" if each.exit_code is None else f" (exit code {each.exit_code})"
        line = f"- `{each.command}`{exit_code}"
        room -= estimator.text(line) + 1
        if room < 0 and kept:
            break
        kept.append(line)
    return "\n".join(["# Commands run, newest last", *reversed(kept)]) if kept else ""


@frozen
class _Page:
    """Lines for the user's messages; messages are numbered from 1, the same over any number of compactions."""

    words: Sequence[UserWords]
    changed: Mapping[int, int]
    estimator: Estimator

    def whole(self, index: int) -> str:
        return f"{self._label(index)} {self.words[index].text}"

    def clipped(self, index: int, budget: int) -> str:
        """Whole if it fits, else its two ends and the rules that stand between them."""
        text = self.words[index].text
        whole = self.estimator.text(text)
        if whole <= budget:
            return self.whole(index)
        keep = max(len(text) * budget // (2 * whole), _LEAST_TOKENS)
        head, tail = text[: keep * 2 // 3], text[-(keep - keep * 2 // 3) :]
        middle = text[len(head) : len(text) - len(tail)]
        rules = self._fitting(rule_like(middle), budget // 2)
        between = "".join(f"\n- {rule}" for rule in rules)
        left_out = f"[… {len(middle)} characters left out; `recall` has them{'; rules in them:' if rules else ''} …]"
        return f"{self._label(index)} {head}\n{left_out}{between}\n{tail}"

    def with_rules(self, index: int, rules: Sequence[str]) -> str:
        """The name of a message that is not shown, with those of its lines that are rules."""
        return "\n".join([self.name(index), *(f"- {rule}" for rule in rules)])

    def name(self, index: int) -> str:
        """What tells a message that is not shown from the others, and lets `recall` find it."""
        opening = " ".join(self.words[index].text[: 2 * _OPENING_CHARACTERS].split())[:_OPENING_CHARACTERS]
        return f"{self._label(index)[:-1]}, not shown whole; it begins “{opening}”]"

    def _label(self, index: int) -> str:
        label = f"{index + 1}, {self.words[index].at[:_MINUTES].replace('T', ' ')}"
        if (later := self.changed.get(index)) is not None:
            label += f", in part changed by {later + 1}"
        if earlier := [each + 1 for each, by in self.changed.items() if by == index]:
            label += f", current: changes {', '.join(map(str, earlier))}"
        return f"[{label}]"

    def _fitting(self, rules: Sequence[str], budget: int) -> list[str]:
        fitting = []
        for rule in rules:
            if (cost := self.estimator.text(rule) + 2) <= budget:
                fitting.append(rule)
                budget -= cost
        return fitting
