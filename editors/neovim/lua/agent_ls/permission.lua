--- `agent/requestPermission`: the change is shown, then `vim.ui.select` asks.
local M = {}

---@param call table ToolCall
---@return integer? window of the preview
local function show_change(call)
  local lines = {}
  local filetype = "markdown"
  for _, item in ipairs(type(call.content) == "table" and call.content or {}) do
    if item.type == "diff" then
      filetype = "diff"
      local old = item.oldText ~= vim.NIL and item.oldText or ""
      vim.list_extend(lines, { "--- " .. item.path, "+++ " .. item.path })
      vim.list_extend(lines, vim.split(vim.diff(old, item.newText, { ctxlen = 3 }) --[[@as string]], "\n", { trimempty = true }))
    elseif item.type == "content" then
      vim.list_extend(lines, vim.split(item.content.text, "\n"))
    end
  end
  if #lines == 0 then
    return
  end
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].filetype = filetype
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].bufhidden = "wipe"
  return vim.api.nvim_open_win(buffer, false, { split = "above", height = math.min(#lines, math.floor(vim.o.lines / 2)) })
end

--- Neovim runs a request's handler in a coroutine, so the answer may come later, from any vim.ui.select.
---@param params table RequestPermissionParams
---@return table RequestPermissionResult
function M.ask(params)
  local waiting = assert(coroutine.running(), "permission is asked in a coroutine")
  local window = show_change(params.toolCall)
  vim.schedule(function()
    vim.ui.select(params.options, {
      prompt = params.toolCall.title,
      kind = "agent_ls.permission",
      format_item = function(option)
        return option.name
      end,
    }, function(option)
      if window and vim.api.nvim_win_is_valid(window) then
        vim.api.nvim_win_close(window, true)
      end
      local answer = option and { outcome = "selected", optionId = option.optionId } or { outcome = "cancelled" }
      coroutine.resume(waiting, { outcome = answer })
    end)
  end)
  return coroutine.yield()
end

return M
