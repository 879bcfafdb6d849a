-- Found by `vim.lsp.enable("agent_ls")` (Neovim 0.11); every field can be changed with `vim.lsp.config("agent_ls", {...})`.
local handlers = require("agent_ls.handlers")

---@type vim.lsp.Config
return {
  cmd = { "agent-ls" },
  root_markers = { ".git", "pyproject.toml", "package.json", "Cargo.toml", "go.mod" },
  workspace_required = false,
  handlers = handlers.all,
  init_options = { agent = { permission = true } },
  before_init = function()
    require("agent_ls.client").starting = true
  end,
  on_init = function()
    require("agent_ls.client").starting = false
  end,
  on_exit = function(code, signal)
    require("agent_ls.client").starting = false
    if code == 0 and signal == 0 or vim.v.exiting ~= vim.NIL then
      return
    end
    vim.schedule(function()
      require("agent_ls.client").notify(
        ("agent-ls has ended (exit code %d, signal %d); nothing of the conversation is lost. "):format(code, signal)
          .. ":edit a file of the project to start it again, then :AgentResume. Why it ended is in :lua vim.cmd.edit(vim.lsp.get_log_path()).",
        vim.log.levels.ERROR
      )
    end)
  end,
  -- 0.11 reads this under `flags`: `:qa` then waits for the server's last write instead of orphaning it.
  flags = { exit_timeout = 5000 },
}
