if vim.g.loaded_agent_ls then
  return
end
vim.g.loaded_agent_ls = true
if require("agent_ls").supported() then
  require("agent_ls.commands").create()
end
