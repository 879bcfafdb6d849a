Expect("a prompt given while the server starts is answered", function()
  return Ended ~= nil and Ended.text == "Early."
end)
Expect("its chat is shown, though no gauge named the session yet", function()
  return vim.fn.bufwinid(vim.fn.bufnr("agent://")) ~= -1 and Shown("up early", "Early.")
end)
Leave()
