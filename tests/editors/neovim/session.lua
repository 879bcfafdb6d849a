-- One person's session until they close the editor: two turns, a compaction and its undo, a refusal, a cancel.
local function percent()
  local text = vim.api.nvim_eval_statusline(vim.o.statusline, {}).str
  return tonumber(text:match("(%d+)%%"))
end

Turn("Tell me all about the harbour.")
Turn("And about the lighthouse.")
Expect("the gauge has moved in the status line", function()
  return (percent() or 0) > 0
end)
local before = percent()
vim.cmd("AgentCompact keep the lighthouse")
Expect(":AgentCompact makes room", function()
  return #Compactions > 0 and Compactions[#Compactions].status == "completed" and percent() < before
end)
Expect("the chat has a line for it", function()
  return Shown("full compaction completed")
end)
vim.cmd("AgentUndoCompaction")
Expect(":AgentUndoCompaction takes it back", function()
  return WasTold("undone") and percent() == before
end)
vim.cmd("AgentContext")
Expect(":AgentContext shows what fills the window", function()
  return Shown("Context") or Shown("- Instructions") or Shown("tokens")
end)
Expect("commands of a prompt are completed", function()
  return vim.deep_equal(vim.fn.getcompletion("Agent /co", "cmdline"), { "/compact", "/context" })
end)

Choice = "reject"
Turn("Write the plan down.")
Expect("a refused write is asked for, and not done", function()
  return Asked ~= nil and Asked:find("plan.md") ~= nil and vim.fn.filereadable("plan.md") == 0
end)

Ended = nil
vim.cmd("Agent Count to a thousand.")
Expect("the answer streams into the chat", function()
  return Shown("one two three")
end)
vim.api.nvim_feedkeys(vim.keycode("<C-c>"), "x", false)
Expect("Ctrl-C stops the turn", function()
  return Ended ~= nil and Ended.stopReason == "cancelled"
end)
Leave()
