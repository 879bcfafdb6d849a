--- `:checkhealth agent_ls`
local M = {}

function M.check()
  vim.health.start("agent_ls")
  if vim.fn.has("nvim-0.11") == 1 then
    vim.health.ok("Neovim " .. tostring(vim.version()))
  else
    vim.health.error("Neovim 0.11 or newer is needed for vim.lsp.config and vim.lsp.enable")
  end
  local config = vim.lsp.config.agent_ls or {}
  local command = type(config.cmd) == "table" and config.cmd[1] or "agent-ls"
  if vim.fn.executable(command) == 1 then
    local version = vim.trim(vim.fn.system({ command, "--version" }))
    vim.health.ok(("%s: %s"):format(vim.fn.exepath(command), version))
  else
    vim.health.error(("%q is not on the PATH"):format(command), { "in the clone: uv tool install '.[anthropic]' (or pipx install, or pip install; or [openai], [google], [all])", "or set cmd with vim.lsp.config('agent_ls', { cmd = { '/path/to/agent-ls' } })" })
    return
  end
  local running = require("agent_ls.client").get()
  if not running then
    vim.health.warn("no server runs for this buffer", { "vim.lsp.enable('agent_ls') and open a file" })
    return
  end
  local reply = running:request_sync("agent/status", vim.empty_dict(), 5000, 0)
  if not reply or reply.err then
    vim.health.error("the server does not answer", reply and reply.err.message)
  elseif reply.result.modelAvailable then
    vim.health.ok(("model %s: %s"):format(reply.result.model, reply.result.modelMessage))
  else
    vim.health.warn(reply.result.modelMessage)
  end
end

return M
