if vim.g.loaded_agent_ls then
  return
end
vim.g.loaded_agent_ls = true
require("agent_ls.commands").create()
