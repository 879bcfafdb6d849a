-- The same person the next day, and a server that dies under them.
vim.cmd("AgentResume")
Expect("the conversation is shown again", function()
  return Shown("Tell me all about the harbour.", "And about the lighthouse.")
end)
vim.cmd("AgentSessions")
Expect(":AgentSessions lists it by its first prompt", function()
  return Asked == "Resume a session"
end)
Expect("it goes on", function()
  return Turn("Where were we?").text == "At the lighthouse."
end)
for _, child in ipairs(vim.api.nvim_get_proc_children(vim.fn.getpid())) do
  vim.uv.kill(child, "sigkill")
end
Expect("the person is told that the server died, and what to do", function()
  return WasTold(":edit", ":AgentResume")
end)
vim.cmd("buffer a.py | edit")
Expect(":edit starts it again", Attached)
vim.cmd("AgentResume")
Expect("the session is there again", function()
  return Turn("Still there?").text == "Still there."
end)
Leave()
