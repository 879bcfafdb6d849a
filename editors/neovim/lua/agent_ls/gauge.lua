--- The gauges the server sent, one a workspace, and the statusline text made of them.
local M = {}

---@type table<string, table> workspace URI or path -> Gauge
local gauges = {}
---@type table? the newest gauge of any workspace
local newest

local groups = { ok = "AgentGaugeOk", micro = "AgentGaugeMicro", full = "AgentGaugeFull" }

for group, link in pairs({ AgentGaugeOk = "StatusLine", AgentGaugeMicro = "DiagnosticWarn", AgentGaugeFull = "DiagnosticError" }) do
  vim.api.nvim_set_hl(0, group, { link = link, default = true })
end

---@param workspace string
---@return string
local function path_of(workspace)
  return vim.fs.normalize(vim.startswith(workspace, "file:") and vim.uri_to_fname(workspace) or workspace)
end

---@param gauge table
function M.show(gauge)
  gauges[path_of(gauge.workspace)] = gauge
  newest = gauge
  vim.api.nvim_exec_autocmds("User", { pattern = "AgentGauge", data = gauge })
  vim.cmd.redrawstatus({ bang = true })
end

--- The gauge of the workspace that holds the current buffer, else the newest.
---@return table?
function M.current()
  local name = vim.fs.normalize(vim.api.nvim_buf_get_name(0))
  local found, length = newest, -1
  for folder, gauge in pairs(gauges) do
    if #folder > length and (name == folder or vim.startswith(name, folder .. "/")) then
      found, length = gauge, #folder
    end
  end
  return found
end

---@return string
function M.statusline()
  local gauge = M.current()
  if not gauge then
    return ""
  end
  local text = gauge.text
  if gauge.state ~= "idle" then
    text = text .. " " .. gauge.state
  end
  if #gauge.warnings > 0 then
    text = text .. " !"
  end
  -- In %{%…%} a percent sign is an item: doubled here, and once more by the evaluation of the result.
  return ("%%#%s#%s%%*"):format(groups[gauge.level] or "StatusLine", (text:gsub("%%", "%%%%")))
end

return M
