"""What is imported before `initialize` is answered (DESIGN §9)."""

import subprocess
import sys


def test_pydantic_ai_and_the_settings_are_not_imported_with_the_server() -> None:
    program = "import sys; from agent_ls.server import create_host; create_host(); print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"pydantic", "pydantic_ai", "pydantic_ai_harness", "httpx", "agent_ls.settings", "agent_ls.sessions"}
    assert not heavy & set(result.stdout.split())
