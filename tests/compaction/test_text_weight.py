"""Kinds of text and scripts, weighed beside two real vocabularies."""

from __future__ import annotations

import base64
import json
import random
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.compaction.text_weight import estimate_text
from tests.simulator.tokens import count_text

chance = random.Random(11)
DATA = chance.randbytes(3_000)
RECORDS = [{"id": chance.getrandbits(40), "sha": chance.randbytes(20).hex(), "ok": True} for _ in range(40)]
ROWS = [",".join(f"{chance.uniform(0, 1_000):.3f}" for _ in range(8)) for _ in range(60)]
TREE = "├── src/\n│   ├── main.py\n│   └── util.py\n" * 20

MACHINE_MADE = {
    "base64": base64.b64encode(DATA).decode(),
    "hex": DATA.hex(),
    "uuids": "\n".join(str(uuid.UUID(int=chance.getrandbits(128))) for _ in range(80)),
    "csv": "\n".join(ROWS),
    "minified json": json.dumps(RECORDS, separators=(",", ":")),
    "pretty json": json.dumps(RECORDS, indent=2),
    "numbered code": "".join(f"{line:6d}\treturn self._items[index]  # {line}\n" for line in range(120)),
    "log": "2026-12-01T10:42:07.113Z INFO  [worker-3] GET /api/v1/items/4711 200 83ms\n" * 30,
}

SPOKEN = {
    "English": "The parser keeps the line it was given, so an error can point at the right place in the file.",
    "Chinese": "解析器会保留它收到的那一行，因此错误信息可以指向文件中的正确位置。请不要修改这个接口。",
    "Japanese": "パーサーは受け取った行を保持するので、エラーはファイル内の正しい場所を示すことができます。",
    "Korean": "파서는 받은 줄을 그대로 유지하므로 오류가 파일의 올바른 위치를 가리킬 수 있습니다.",
    "Russian": "Анализатор сохраняет полученную строку, поэтому ошибка может указать на нужное место в файле.",
    "Vietnamese": "Bộ phân tích giữ lại dòng đã nhận, vì vậy thông báo lỗi có thể chỉ đúng vị trí trong tệp.",
    "German": "Der Parser behält die übergebene Zeile, damit ein Fehler auf die richtige Stelle der Datei zeigen kann.",
    "Portuguese": "O analisador guarda a linha recebida, para que um erro possa apontar o lugar certo do arquivo.",
    "Greek": "Ο αναλυτής κρατά τη γραμμή που έλαβε, ώστε το σφάλμα να δείχνει τη σωστή θέση στο αρχείο.",
    "Arabic": "يحتفظ المحلل بالسطر الذي تلقاه حتى يتمكن الخطأ من الإشارة إلى المكان الصحيح في الملف.",
    "Hindi": "पार्सर प्राप्त पंक्ति को रखता है ताकि त्रुटि फ़ाइल में सही स्थान की ओर संकेत कर सके।",
    "emoji": "🎉 done 🚀 shipped 👍 thanks 😀",
}


@pytest.mark.parametrize("kind", MACHINE_MADE)
def test_machine_made_text_is_within_a_quarter_of_a_real_count_uncalibrated(kind: str) -> None:
    text = MACHINE_MADE[kind]
    assert estimate_text(text) == pytest.approx(count_text(text, "o200k_base"), rel=0.25)


@pytest.mark.parametrize("language", SPOKEN)
def test_every_script_is_weighed_between_what_vocabularies_make_of_it(language: str) -> None:
    text = SPOKEN[language] * 5
    counts = (count_text(text, "o200k_base"), count_text(text, "cl100k_base"))
    assert min(counts) * 0.85 <= estimate_text(text) <= max(counts) * 1.3


def test_box_drawings_are_weighed() -> None:
    assert estimate_text(TREE) == pytest.approx(count_text(TREE, "o200k_base"), rel=0.35)


@given(st.text())
def test_any_text_has_a_weight(text: str) -> None:
    assert 0 <= estimate_text(text) <= 4 * len(text)
    assert estimate_text(text) > 0 or not text.strip(" \t\r")


def test_a_lone_surrogate_has_one_too() -> None:
    assert 0 < estimate_text("bad\udcff.txt") < 20


@given(st.integers(0, 60_000), st.integers(0, 60_000))
def test_a_text_of_two_kinds_is_sampled_in_proportion(prose: int, numbers: int) -> None:
    text = "a word or two " * (prose // 14) + "4711 0815 " * (numbers // 10)
    exact = estimate_text("a word or two ") * (prose // 14) + estimate_text("4711 0815 ") * (numbers // 10)
    assert estimate_text(text) == pytest.approx(exact, rel=0.08, abs=12)
