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
  return require("agent_ls.gauge").statusline()
end

--- Start the server for this and coming buffers: `vim.lsp.enable("agent_ls")` with your overrides.
---@param config vim.lsp.Config?
function M.setup(config)
  if config then
    vim.lsp.config("agent_ls", config)
  end
  vim.lsp.enable("agent_ls")
end

return M
