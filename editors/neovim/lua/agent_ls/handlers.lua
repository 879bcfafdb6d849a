--- What the server sends: gauge, updates, compactions, and the question for permission.
local M = {}

M.all = {
  ["agent/gauge"] = function(_, gauge)
    require("agent_ls.gauge").show(gauge)
  end,
  ["agent/update"] = function(_, notification)
    require("agent_ls.chat").update(notification)
    vim.api.nvim_exec_autocmds("User", { pattern = "AgentUpdate", data = notification })
  end,
  ["agent/compaction"] = function(_, event)
    require("agent_ls.chat").compaction(event)
    vim.api.nvim_exec_autocmds("User", { pattern = "AgentCompaction", data = event })
  end,
  ["agent/requestPermission"] = function(_, params)
    return require("agent_ls.permission").ask(params)
  end,
}

return M
