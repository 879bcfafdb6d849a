"""The estimate beside characters/4, against real tokenizers and providers' own counts (CASCADE §14).

    python -m benchmarks.bench_estimate [--sessions DIR]

Three tables: what each kind of message is estimated at after calibration, by two vocabularies; the same for kinds of
text that sessions hold little of; and how many tokens a tail of 20,000 estimated ones is by the provider's own count.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles

from attrs import frozen
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agent_ls.compaction.estimate import Estimator
from benchmarks.sessions import RECORDED, Session, load_sessions
from tests.simulator.tokens import EncodingName, count_text

ENCODINGS: Sequence[EncodingName] = ("o200k_base", "cl100k_base")
TAIL = 20_000
PART_FRAME, MESSAGE_FRAME = 4, 3


@frozen
class Text:
    """A text and the kind of message part it stands in."""

    kind: str
    text: str


def texts_of(message: ModelMessage) -> Iterator[Text]:
    for part in message.parts:
        match part:
            case ToolCallPart():
                arguments = part.args if isinstance(part.args, str) else json.dumps(part.args, ensure_ascii=False)
                yield Text("tool calls", part.tool_name + arguments)
            case ToolReturnPart():
                yield Text("tool results", part.tool_name + part.model_response_str())
            case ThinkingPart():
                yield Text("thinking", part.content)
            case TextPart():
                yield Text("answers", part.content)
            case UserPromptPart(content=str(content)):
                yield Text("prompts", content)
            case _:
                continue


def other_texts() -> Iterator[Text]:
    chance = random.Random(7)
    for _ in range(4):
        data = chance.randbytes(3_000)
        yield Text("base64", base64.b64encode(data).decode())
        yield Text("hex", data.hex())
        yield Text("uuids", "\n".join(str(uuid.UUID(int=chance.getrandbits(128))) for _ in range(100)))
        rows = [[f"{chance.uniform(0, 1_000):.3f}" for _ in range(8)] for _ in range(60)]
        yield Text("csv", "\n".join(",".join(row) for row in rows))
        records = [
            {"id": chance.getrandbits(40), "sha": chance.randbytes(20).hex(), "ok": True, "score": chance.random()}
            for _ in range(30)
        ]
        yield Text("minified JSON", json.dumps(records, separators=(",", ":")))
        yield Text("pretty JSON", json.dumps(records, indent=2))


def characters_by_four(text: str) -> float:
    return len(text) / 4


def kinds(texts: Sequence[Text], estimate: Callable[[str], float], encoding: EncodingName) -> Iterator[str]:
    real: dict[str, int] = defaultdict(int)
    ours: dict[str, float] = defaultdict(float)
    plain: dict[str, float] = defaultdict(float)
    for each in texts:
        real[each.kind] += count_text(each.text, encoding)
        ours[each.kind] += estimate(each.text)
        plain[each.kind] += characters_by_four(each.text)
    for kind, count in sorted(real.items()):
        yield f"| {kind} | {encoding} | {count:,} | **{ours[kind] / count:.2f}** | {plain[kind] / count:.2f} |"


def calibrated(sessions: Iterable[Session], encoding: EncodingName) -> Estimator:
    """An estimator after the sessions, with a provider that counts by `encoding`."""
    estimator = Estimator()
    for session in sessions:
        for message in session.messages():
            texts = list(texts_of(message))
            counted = sum(PART_FRAME + count_text(each.text, encoding) for each in texts) + MESSAGE_FRAME
            if len(texts) == len(message.parts):
                estimator.observe([message], counted)
    return estimator


def tails(
    messages: Sequence[ModelMessage], tokens_of: Callable[[int, int], float], learn: Callable[[int, int], None]
) -> Iterator[float]:
    """For each response: how many tokens of the provider's a tail of 20,000 estimated tokens that ends there is.

    Only spans over which the counts never fall tell: where they fall, the recorded agent made room itself. Nor does a
    span with a response that failed: its agent never sent it again.
    """
    counted = {i: m.usage.input_tokens for i, m in enumerate(messages) if isinstance(m, ModelResponse)}
    marks = [index for index, tokens in counted.items() if tokens > 0]
    for at, end in enumerate(marks[1:], 1):
        learn(marks[at - 1], end)
        nearest: tuple[float, float] | None = None
        for start in reversed(marks[:at]):
            if counted[start] > counted[marks[marks.index(start) + 1]] or _failed(messages[start]):
                break
            estimated = tokens_of(start, end)
            if estimated > TAIL * 1.25:
                break
            if estimated >= TAIL * 0.75 and (nearest is None or abs(estimated - TAIL) < abs(nearest[0] - TAIL)):
                nearest = (estimated, counted[end] - counted[start])
        if nearest is not None:
            yield nearest[1] / nearest[0] * TAIL


def tails_by_estimator(messages: Sequence[ModelMessage]) -> Iterator[float]:
    estimator = Estimator()

    def learn(start: int, end: int) -> None:
        grown = _input(messages[end]) - _input(messages[start])
        estimator.observe(messages[start:end], grown)

    return tails(messages, lambda start, end: estimator.messages(messages[start:end]), learn)


def tails_by_characters(messages: Sequence[ModelMessage]) -> Iterator[float]:
    weights = [sum(characters_by_four(each.text) for each in texts_of(message)) for message in messages]
    return tails(messages, lambda start, end: sum(weights[start:end]), lambda start, end: None)


def _failed(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse) and message.finish_reason == "error"


def _input(message: ModelMessage) -> int:
    return 0 if isinstance(message, ModelRequest) else message.usage.input_tokens


def tails_row(name: str, counts: Sequence[float]) -> Iterator[str]:
    if len(counts) >= 20:
        cuts = quantiles(counts, n=20)
        yield f"| {name} | {len(counts)} | {cuts[0]:,.0f} | {median(counts):,.0f} | {cuts[-1]:,.0f} |"


def report(directory: Path = RECORDED) -> str:
    """The tables."""
    sessions = load_sessions(directory)
    texts = [each for session in sessions for message in session.messages() for each in texts_of(message)]
    lines = [
        "Estimate to real count, after calibration by the same vocabulary:",
        "",
        "| kind | vocabulary | tokens | **ours** | characters/4 |",
        "|---|---|---|---|---|",
    ]
    for encoding in ENCODINGS:
        estimator = calibrated(sessions, encoding)
        lines += kinds(texts, estimator.text, encoding)
        lines += kinds(list(other_texts()), estimator.text, encoding)
    lines += [
        "",
        "What a tail of 20,000 estimated tokens is by the provider's own count:",
        "",
        "| session, estimate | tails | p5 | median | p95 |",
        "|---|---|---|---|---|",
    ]
    every: dict[str, list[float]] = {"ours": [], "characters/4": []}
    for session in sessions:
        messages = session.messages()
        for name, counts in (
            ("ours", list(tails_by_estimator(messages))),
            ("characters/4", list(tails_by_characters(messages))),
        ):
            lines += tails_row(f"{session.name}, {name}", counts)
            every[name] += counts
    for name, counts in every.items():
        lines += tails_row(f"**all, {name}**", counts)
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sessions", type=Path, default=RECORDED)
    print(report(parser.parse_args().sessions))


if __name__ == "__main__":
    main()
