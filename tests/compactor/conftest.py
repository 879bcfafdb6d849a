from pathlib import Path

import pytest

from tests.compactor.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)
