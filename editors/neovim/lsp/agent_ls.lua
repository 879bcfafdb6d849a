-- Found by `vim.lsp.enable("agent_ls")` (Neovim 0.11); every field can be changed with `vim.lsp.config("agent_ls", {...})`.
local handlers = require("agent_ls.handlers")

---@type vim.lsp.Config
return {
  cmd = { "agent-ls" },
  root_markers = { ".git", "pyproject.toml", "package.json", "Cargo.toml", "go.mod" },
  workspace_required = false,
  handlers = handlers.all,
  init_options = { agent = { permission = true } },
  -- 0.11 reads this under `flags`: `:qa` then waits for the server's last write instead of orphaning it.
  flags = { exit_timeout = 5000 },
}
