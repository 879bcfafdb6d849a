--- Requests to the server, for the workspace of the current buffer.
local M = {}

--- Whether a server has been started and has not answered `initialize` yet.
M.starting = false

local START_TIMEOUT_MS = 10000

--- The client that serves the current buffer, else any; waits for one that is starting.
---@return vim.lsp.Client?
function M.get()
  if M.starting then
    vim.wait(START_TIMEOUT_MS, function()
      return not M.starting
    end, 20)
  end
  return vim.lsp.get_clients({ name = "agent_ls", bufnr = 0 })[1] or vim.lsp.get_clients({ name = "agent_ls" })[1]
end

---@param message string
---@param level integer?
function M.notify(message, level)
  vim.notify(message, level or vim.log.levels.INFO, { title = "agent_ls" })
end

--- Send an `agent/` request. `on_result` is not called when it fails: the person is told instead.
---@param method string
---@param params table
---@param on_result fun(result: table)
---@param on_error fun(err: table)?
---@return integer? request_id, vim.lsp.Client? client
function M.request(method, params, on_result, on_error)
  local client = M.get()
  if not client then
    local message = M.starting and "The server is still starting: try again in a moment, or see :checkhealth agent_ls."
      or "The server does not run. Open a file of a project, or see :checkhealth agent_ls."
    M.notify(message, vim.log.levels.ERROR)
    return
  end
  if not params.sessionId and not params.workspace then
    local root = client.root_dir
    params.workspace = root and vim.uri_from_fname(root) or nil
  end
  local sent, id = client:request(method, next(params) and params or vim.empty_dict(), function(err, result)
    if not err then
      on_result(result)
      return
    end
    if on_error then
      on_error(err)
    end
    local hint = type(err.data) == "table" and err.data.hint
    local said = hint and vim.endswith(err.message, hint)
    M.notify(err.message .. (hint and not said and ("\n" .. hint) or ""), vim.log.levels.ERROR)
  end)
  return sent and id or nil, client
end

return M
