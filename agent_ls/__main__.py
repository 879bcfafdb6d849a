"""`python -m agent_ls` is `agent-ls`."""

from agent_ls.cli.main import main

if __name__ == "__main__":
    main()
