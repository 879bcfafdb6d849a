-- Two projects in one editor: each has its own session, and the gauge follows the buffer.
vim.cmd("edit " .. vim.fn.fnameescape(vim.env.OTHER_FOLDER .. "/b.py"))
Expect("the other folder has a gauge of its own", function()
  local gauge = require("agent_ls").gauge()
  return gauge ~= nil and vim.endswith(gauge.workspace, "/other")
end)
Turn("What is here?")
vim.cmd("buffer a.py")
Expect("the gauge follows the buffer", function()
  local gauge = require("agent_ls").gauge()
  return gauge ~= nil and vim.endswith(gauge.workspace, "/workspace") and gauge.used.count == 0
end)
vim.cmd("buffer b.py")
Expect("and back", function()
  local gauge = require("agent_ls").gauge()
  return gauge ~= nil and vim.endswith(gauge.workspace, "/other") and gauge.used.count > 0
end)
Leave()
