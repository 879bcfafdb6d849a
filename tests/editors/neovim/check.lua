-- Shared by the scripts: a condition that must come true, and an exit status that tells whether all did.
local failed = false

function Expect(what, holds)
  local held = vim.wait(60000, holds, 20)
  failed = failed or not held
  print((held and "PASS " or "FAIL ") .. what)
end

function Leave()
  vim.cmd(failed and "cquit 1" or "qall!")
end

Expect("the server is attached", function()
  local client = vim.lsp.get_clients({ name = "agent_ls" })[1]
  return client ~= nil and client.initialized
end)
