"""`agent-ls [COMMAND]`: finds the command, imports its module and runs it. Without a command it is the server."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, cast

from agent_ls import __version__
from agent_ls.errors import AgentError

COMMANDS: Final[Mapping[str, str]] = {
    "serve": "speak LSP on stdin and stdout, for an editor (the default)",
    "demo": "watch it work: the real server, a sample workspace, no key and no network",
    "chat": "talk to it in this terminal, over the same protocol an editor uses",
    "doctor": "show settings and their sources, the model and what it lacks, paths and versions",
    "sessions": "list this folder's sessions",
    "inspect": "show what happened in a session, as text or as one HTML page",
    "export": "write a session's live history as pydantic-ai JSON",
    "import": "make a session of a pydantic-ai message list",
    "compact": "compact a session's history on disk",
    "install-local": "fetch the small offline model",
}
"""Each command and what it does. Its module is `agent_ls.cli.<name>_command`, hyphens as underscores."""

_OK: Final = 0
_FAILED: Final = 1
_USAGE: Final = 2
_INTERRUPTED: Final = 130


class CommandModule(Protocol):
    """What a command's module offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's own arguments."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Run the command and return its exit status. An AgentError is printed for a person by `main`."""


def main(argv: Sequence[str] | None = None) -> None:
    """The console script: runs a command and exits with its status."""
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> int:
    """Run a command line and return the exit status: 0, 1 failed, 2 not understood, 130 interrupted."""
    name = argv[0] if argv else "serve"
    match name:
        case "-h" | "--help" | "help":
            print(_overview())
            return _OK
        case "-V" | "--version":
            print(f"agent-ls {__version__}")
            return _OK
        case _ if name.startswith("-"):
            # Editors start a language server with options such as --stdio and no command.
            name, rest = "serve", list(argv)
        case _ if name not in COMMANDS:
            print(_unknown(name), file=sys.stderr)
            return _USAGE
        case _:
            rest = list(argv[1:])
    return _run_command(name, rest)


def _run_command(name: str, argv: Sequence[str]) -> int:
    module = cast(CommandModule, importlib.import_module(f"agent_ls.cli.{name.replace('-', '_')}_command"))
    parser = argparse.ArgumentParser(prog=f"agent-ls {name}", description=f"{COMMANDS[name].capitalize()}.")
    module.add_arguments(parser)
    try:
        arguments = parser.parse_args(argv)
        status = module.run(arguments)
        sys.stdout.flush()
    except SystemExit as exit_:
        # argparse's own: --help, or arguments it does not understand, which it has explained.
        return exit_.code if isinstance(exit_.code, int) else _FAILED
    except AgentError as error:
        print(f"agent-ls {name}: {error.message}", file=sys.stderr)
        if error.hint:
            print(error.hint, file=sys.stderr)
        return _FAILED
    except BrokenPipeError:
        # The reader (`| head`) has seen enough. Python would complain once more when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _OK
    except KeyboardInterrupt:
        return _INTERRUPTED
    return status


def _overview() -> str:
    width = max(map(len, COMMANDS)) + 2
    lines = [
        "usage: agent-ls [COMMAND] [ARGUMENTS]",
        "",
        "A coding agent that any LSP editor can host.",
        "",
        "commands:",
    ]
    lines += [f"  {name:<{width}}{what}" for name, what in COMMANDS.items()]
    lines += ["", "`agent-ls COMMAND --help` tells more. `agent-ls --version` prints the version."]
    return "\n".join(lines)


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name, COMMANDS, n=1)
    guess = f" Did you mean `{close[0]}`?" if close else ""
    return f"agent-ls: there is no command {name!r}.{guess}\n\n{_overview()}"
