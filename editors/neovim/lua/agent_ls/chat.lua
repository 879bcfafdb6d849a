--- The chat buffer: one a session, Markdown, appended as the answer streams.
local client = require("agent_ls.client")

local M = {}

---@class agent_ls.Chat
---@field buffer integer
---@field kind string? the update the last line belongs to, so that chunks of one message join
---@field calls table<string, integer> tool call id -> extmark of its line

---@type table<string, agent_ls.Chat>
local chats = {}
---@type { id: integer, client: vim.lsp.Client, hidden: boolean }?
local running
local namespace = vim.api.nvim_create_namespace("agent_ls")
local marks = { pending = "…", in_progress = "…", completed = "✓", failed = "✗" }

---@param session string
---@return agent_ls.Chat
local function chat_of(session)
  local chat = chats[session]
  if chat and vim.api.nvim_buf_is_valid(chat.buffer) then
    return chat
  end
  local buffer = vim.api.nvim_create_buf(true, true)
  pcall(vim.api.nvim_buf_set_name, buffer, "agent://" .. session)
  vim.bo[buffer].filetype = "markdown"
  vim.bo[buffer].modifiable = false
  vim.b[buffer].agent_session = session
  for _, mode in ipairs({ "n", "i" }) do
    vim.keymap.set(mode, "<C-c>", M.cancel, { buffer = buffer, desc = "Stop the agent" })
  end
  vim.keymap.set("n", "<CR>", function()
    vim.ui.input({ prompt = "Agent: " }, function(text)
      if text and text ~= "" then
        M.prompt(text)
      end
    end)
  end, { buffer = buffer, desc = "Prompt the agent" })
  chat = { buffer = buffer, calls = {} }
  chats[session] = chat
  return chat
end

--- Windows whose cursor stands on the last line follow what is appended.
---@param chat agent_ls.Chat
---@param change fun()
local function changing(chat, change)
  local last = vim.api.nvim_buf_line_count(chat.buffer)
  local following = vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_cursor(window)[1] >= last
  end, vim.fn.win_findbuf(chat.buffer))
  vim.bo[chat.buffer].modifiable = true
  change()
  vim.bo[chat.buffer].modifiable = false
  for _, window in ipairs(following) do
    vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(chat.buffer), 0 })
  end
end

---@param chat agent_ls.Chat
---@param lines string[]
---@return integer first row, zero-based
local function append(chat, lines)
  local row = vim.api.nvim_buf_line_count(chat.buffer)
  local empty = row == 1 and vim.api.nvim_buf_get_lines(chat.buffer, 0, 1, false)[1] == ""
  changing(chat, function()
    vim.api.nvim_buf_set_lines(chat.buffer, empty and 0 or row, -1, false, lines)
  end)
  return empty and 0 or row
end

---@param chat agent_ls.Chat
---@param kind string
---@param heading string?
---@param content table ContentBlock
local function chunk(chat, kind, heading, content)
  local text = content.type == "text" and content.text or ("[" .. content.type .. "]")
  local lines = vim.split(text, "\n")
  if chat.kind ~= kind then
    chat.kind = kind
    append(chat, heading and { "", heading, "", "" } or { "", "" })
  end
  changing(chat, function()
    local row = vim.api.nvim_buf_line_count(chat.buffer) - 1
    local length = #vim.api.nvim_buf_get_lines(chat.buffer, row, row + 1, false)[1]
    vim.api.nvim_buf_set_text(chat.buffer, row, length, row, length, lines)
  end)
end

---@param chat agent_ls.Chat
---@param call table ToolCall
local function call_started(chat, call)
  chat.kind = "tool_call"
  local row = append(chat, { ("- %s %s"):format(marks[call.status], (call.title:gsub("\n", " "))) })
  chat.calls[call.toolCallId] = vim.api.nvim_buf_set_extmark(chat.buffer, namespace, row, 0, {})
end

---@param chat agent_ls.Chat
---@param call table ToolCallUpdate
local function call_changed(chat, call)
  local mark = chat.calls[call.toolCallId]
  if not (mark and call.status) then
    return
  end
  local row = vim.api.nvim_buf_get_extmark_by_id(chat.buffer, namespace, mark, {})[1]
  local line = row and vim.api.nvim_buf_get_lines(chat.buffer, row, row + 1, false)[1]
  if line then
    changing(chat, function()
      vim.api.nvim_buf_set_lines(chat.buffer, row, row + 1, false, { "- " .. marks[call.status] .. line:match("^%- [^ ]+(.*)$") })
    end)
  end
end

local shown = {
  user_message_chunk = function(chat, update)
    chunk(chat, "user", "## You", update.content)
  end,
  agent_message_chunk = function(chat, update)
    chunk(chat, "agent", "## Agent", update.content)
  end,
  agent_thought_chunk = function(chat, update)
    chunk(chat, "thought", "### Thinking", update.content)
  end,
  tool_call = call_started,
  tool_call_update = call_changed,
  plan = function(chat, update)
    chat.kind = "plan"
    local boxes = { pending = "[ ]", in_progress = "[-]", completed = "[x]" }
    append(chat, vim.list_extend({ "", "### Plan", "" }, vim.tbl_map(function(entry)
      return ("- %s %s"):format(boxes[entry.status], entry.content)
    end, update.entries)))
  end,
}

---@param notification table UpdateNotification
function M.update(notification)
  if running and running.hidden then
    running.hidden = false
    M.show(notification.sessionId)
  end
  local show = shown[notification.update.sessionUpdate]
  if show then
    show(chat_of(notification.sessionId), notification.update)
  end
end

---@param event table CompactionEvent
function M.compaction(event)
  if event.status == "started" then
    return
  end
  local chat = chat_of(event.sessionId)
  chat.kind = "compaction"
  local sizes = event.before and event.after and (" %d → %d tokens"):format(event.before.count, event.after.count) or ""
  local why = event.reason and (": " .. event.reason) or ""
  append(chat, { "", ("*%s compaction %s%s%s*"):format(event.tier, event.status, sizes, why) })
end

--- Show a session and what was said in it before.
---@param opened table SessionOpened
function M.open(opened)
  local chat = chat_of(opened.sessionId)
  vim.bo[chat.buffer].modifiable = true
  vim.api.nvim_buf_set_lines(chat.buffer, 0, -1, false, {})
  chat.kind, chat.calls = nil, {}
  for _, update in ipairs(opened.history) do
    M.update({ sessionId = opened.sessionId, update = update })
  end
  M.show(opened.sessionId)
end

---@param session string
function M.show(session)
  local chat = chat_of(session)
  local windows = vim.fn.win_findbuf(chat.buffer)
  if windows[1] then
    vim.api.nvim_set_current_win(windows[1])
  else
    vim.api.nvim_open_win(chat.buffer, true, { split = "right" })
    vim.wo.wrap, vim.wo.linebreak = true, true
  end
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(chat.buffer), 0 })
end

--- Run a turn. `on_result` gets the PromptResult.
---@param text string
---@param on_result fun(result: table)?
function M.prompt(text, on_result)
  local params = { prompt = text, sessionId = vim.b.agent_session }
  local id, used = client.request("agent/prompt", params, function(result)
    running = nil
    vim.api.nvim_exec_autocmds("User", { pattern = "AgentTurnEnd", data = result })
    if result.stopReason ~= "end_turn" then
      client.notify("The turn ended: " .. result.stopReason)
    end
    if on_result then
      on_result(result)
    end
  end, function()
    running = nil
  end)
  if id and used then
    local gauge = require("agent_ls.gauge").current()
    -- Without a gauge the session is not known yet: its first update shows it.
    running = { id = id, client = used, hidden = gauge == nil }
    if gauge then
      M.show(gauge.sessionId)
    end
  end
end

--- Stop the turn that this editor started.
function M.cancel()
  if running then
    running.client:cancel_request(running.id)
  end
end

return M
