--- The user commands, one for each thing the server can do.
local client = require("agent_ls.client")

local M = {}

---@param title string
---@param lines string[]
local function show_lines(title, lines)
  vim.lsp.util.open_floating_preview(lines, "markdown", { border = "rounded", title = title, focusable = true })
end

local function tokens(count)
  return ("%s%d"):format(count.basis == "estimated" and count.count > 0 and "~" or "", count.count)
end

local function show_context(result)
  local lines = { ("**%s** of %d tokens"):format(tokens(result.total), result.window), "" }
  for _, category in ipairs(result.categories) do
    lines[#lines + 1] = ("- %s: %s"):format(category.label, tokens(category.tokens))
  end
  for _, advice in ipairs(result.advice) do
    vim.list_extend(lines, { "", advice })
  end
  show_lines(" Context ", lines)
end

---@param prompt string
---@param on_choice fun(session: table)
local function choose_session(prompt, on_choice)
  client.request("agent/sessions", {}, function(result)
    vim.ui.select(result.sessions, {
      prompt = prompt,
      kind = "agent_ls.session",
      format_item = function(session)
        local mark = session.active and " (active)" or session.foreign and " (begun elsewhere)" or ""
        return ("%s  %s%s"):format(session.updatedAt, session.title, mark)
      end,
    }, function(session)
      if session then
        on_choice(session)
      end
    end)
  end)
end

local function resume(session_id)
  client.request("agent/resumeSession", { sessionId = session_id }, function(result)
    require("agent_ls.chat").open(result)
  end)
end

--- The prompt, with the selected lines attached when a range is given.
---@param opts vim.api.keyset.create_user_command.command_args
local function prompt_of(opts)
  if opts.range == 0 then
    return opts.args
  end
  local lines = vim.api.nvim_buf_get_lines(0, opts.line1 - 1, opts.line2, false)
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(0), ":.")
  return ("%s\n\n%s, lines %d-%d:\n```%s\n%s\n```"):format(
    opts.args, name, opts.line1, opts.line2, vim.bo.filetype, table.concat(lines, "\n")
  )
end

local commands = {
  Agent = {
    function(opts)
      if opts.args ~= "" then
        require("agent_ls.chat").prompt(prompt_of(opts))
        return
      end
      local gauge = require("agent_ls.gauge").current()
      if gauge then
        require("agent_ls.chat").show(gauge.sessionId)
      end
    end,
    { nargs = "*", range = true, desc = "Prompt the agent, or open its chat" },
  },
  AgentCompact = {
    function(opts)
      client.request("agent/compact", { focus = opts.args ~= "" and opts.args or nil }, function(result)
        client.notify(result.message)
      end)
    end,
    { nargs = "*", desc = "Compact the conversation, with an optional focus" },
  },
  AgentUndoCompaction = {
    function()
      client.request("agent/undoCompaction", {}, function(result)
        client.notify(result.message)
      end)
    end,
    { desc = "Take back the last compaction" },
  },
  AgentContext = {
    function()
      client.request("agent/context", {}, show_context)
    end,
    { desc = "Show what fills the context window" },
  },
  AgentSessions = {
    function()
      choose_session("Resume a session", function(session)
        resume(session.sessionId)
      end)
    end,
    { desc = "List the sessions and resume one" },
  },
  AgentNew = {
    function()
      client.request("agent/newSession", {}, function(result)
        require("agent_ls.chat").open(result)
      end)
    end,
    { desc = "Start a new session" },
  },
  AgentResume = {
    function(opts)
      resume(opts.args ~= "" and opts.args or "latest")
    end,
    { nargs = "?", desc = "Resume a session, the latest by default" },
  },
  AgentDelete = {
    function()
      choose_session("Delete a session", function(session)
        vim.ui.select({ "Keep it", "Delete it" }, { prompt = ("Delete %q for ever?"):format(session.title) }, function(answer)
          if answer == "Delete it" then
            client.request("agent/deleteSession", { sessionId = session.sessionId }, function()
              client.notify("Deleted.")
            end)
          end
        end)
      end)
    end,
    { desc = "Delete a session's log" },
  },
  AgentSteer = {
    function(opts)
      local gauge = require("agent_ls.gauge").current()
      client.request("agent/steer", { sessionId = gauge and gauge.sessionId, prompt = opts.args }, function(result)
        if not result.accepted then
          client.notify("No turn is running: use :Agent.", vim.log.levels.WARN)
        end
      end)
    end,
    { nargs = "+", desc = "Tell the running agent something" },
  },
  AgentCancel = {
    function()
      local gauge = require("agent_ls.gauge").current()
      local used = client.get()
      if gauge and used then
        used:notify("agent/cancel", { sessionId = gauge.sessionId })
      end
    end,
    { desc = "Stop the running turn" },
  },
  AgentMemory = {
    function()
      client.request("agent/memory", {}, function(result)
        vim.cmd.edit(vim.fn.fnameescape(result.path))
      end)
    end,
    { desc = "Open this workspace's MEMORY.md" },
  },
  AgentStatus = {
    function()
      client.request("agent/status", {}, function(result)
        local lines = { ("agent_ls %s, model `%s`"):format(result.version, result.model), "", result.modelMessage, "" }
        for _, setting in ipairs(result.settings) do
          lines[#lines + 1] = ("- %s = %s (%s)"):format(setting.name, vim.inspect(setting.value), setting.source)
        end
        show_lines(" agent_ls ", lines)
      end)
    end,
    { desc = "Show the server's settings and model" },
  },
}

local slash_commands = { "/compact", "/context", "/new", "/resume", "/undo", "/remember", "/help" }

function M.create()
  commands.Agent[2].complete = function(lead)
    return vim.tbl_filter(function(command)
      return vim.startswith(command, lead)
    end, vim.startswith(lead, "/") and slash_commands or {})
  end
  for name, command in pairs(commands) do
    vim.api.nvim_create_user_command(name, command[1], command[2])
  end
end

--- The commands' names, for the help page's test.
---@return string[]
function M.names()
  return vim.tbl_keys(commands)
end

return M
