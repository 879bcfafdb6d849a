local asked, ended, told
vim.ui.select = function(options, question, choose)
  asked = question.prompt
  choose(options[1])
end
vim.notify = function(message)
  told = message
end
vim.api.nvim_create_autocmd("User", {
  pattern = "AgentTurnEnd",
  callback = function(event)
    ended = event.data
  end,
})
local code = vim.fn.bufnr("a.py")
local function first_line()
  return vim.api.nvim_buf_get_lines(code, 0, 1, false)[1]
end

Expect("the status line has the gauge", function()
  return vim.api.nvim_eval_statusline(vim.o.statusline, {}).str:find("0%%") ~= nil
end)
vim.api.nvim_buf_set_lines(code, 0, 1, false, { "x = 1  # unsaved" })
vim.cmd("Agent make x two")
Expect("the turn ends with its answer", function()
  return ended ~= nil and ended.text == "Done now."
end)
Expect("permission was asked in words", function()
  return asked == "Edit a.py"
end)
Expect("the open buffer has the edit", function()
  return first_line() == "x = 2  # unsaved"
end)
vim.api.nvim_buf_call(code, function()
  vim.cmd("silent undo")
end)
Expect("the editor's undo takes it back", function()
  return first_line() == "x = 1  # unsaved"
end)
Expect("the chat shows prompt, tools and answer", function()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
    if text:find("make x two") and text:find("✓ Edit a.py") and text:find("Done now.") then
      return true
    end
  end
  return false
end)
vim.cmd("AgentCompact")
Expect(":AgentCompact tells its outcome", function()
  return told == "There is nothing to compact yet."
end)
vim.cmd("checkhealth agent_ls")
Expect(":checkhealth finds nothing wrong", function()
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
  return text:find("is ready to be asked") ~= nil and text:find("ERROR") == nil
end)
Leave()
