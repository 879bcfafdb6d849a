local code = vim.fn.bufnr("a.py")
local function first_line()
  return vim.api.nvim_buf_get_lines(code, 0, 1, false)[1]
end

Expect("the status line has the gauge", function()
  return vim.api.nvim_eval_statusline(vim.o.statusline, {}).str:find("0%%") ~= nil
end)
vim.api.nvim_buf_set_lines(code, 0, 1, false, { "x = 1  # unsaved" })
local ended = Turn("make x two")
Expect("the turn ends with its answer", function()
  return ended.text == "Done now."
end)
Expect("permission was asked in words", function()
  return Asked == "Edit a.py"
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
  return Shown("make x two", "✓ Edit a.py", "Done now.")
end)
vim.cmd("AgentCompact")
Expect(":AgentCompact tells its outcome", function()
  return WasTold("There is nothing to compact yet.")
end)
vim.cmd("checkhealth agent_ls")
Expect(":checkhealth finds nothing wrong", function()
  return Shown("is ready to be asked") and not Shown("ERROR")
end)
Leave()
