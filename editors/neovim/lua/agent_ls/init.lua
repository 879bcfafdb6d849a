--- agent_ls in Neovim: what a configuration uses. Everything else is reached through commands (:help agent_ls).
local M = {}

--- The newest gauge of the current buffer's workspace (PROTOCOL "Gauge"), nil before the server said anything.
---@return table?
function M.gauge()
  return require("agent_ls.gauge").current()
end

--- For 'statusline': `%{%v:lua.require'agent_ls'.statusline()%}`. Empty without a server.
---@return string
function M.statusline()
  return M.supported() and require("agent_ls.gauge").statusline() or ""
end

--- Whether this Neovim is new enough. Says so, once, where it is not.
---@return boolean
function M.supported()
  if vim.fn.has("nvim-0.11") == 1 then
    return true
  end
  local version = vim.version()
  local message = "agent_ls needs Neovim 0.11 or newer, and this is %d.%d.%d. README.md of agent_ls says where to get one."
  vim.notify_once(message:format(version.major, version.minor, version.patch), vim.log.levels.ERROR)
  return false
end

--- Start the server for this and coming buffers: `vim.lsp.enable("agent_ls")` with your overrides.
---@param config vim.lsp.Config?
function M.setup(config)
  if not M.supported() then
    return
  end
  if config then
    vim.lsp.config("agent_ls", config)
  end
  vim.lsp.enable("agent_ls")
end

return M
