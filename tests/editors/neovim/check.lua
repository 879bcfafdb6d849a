-- Shared by the scripts: conditions that must come true, what the person was told and asked, an exit status.
local failed = false

Told, Asked, Ended, Gauges, Compactions = {}, nil, nil, {}, {}
--- What the person chooses when asked: the first option, or the first whose kind begins so.
Choice = nil

function Expect(what, holds)
  local held = vim.wait(20000, holds, 20)
  failed = failed or not held
  print((held and "PASS " or "FAIL ") .. what)
end

function Leave()
  vim.cmd(failed and "cquit 1" or "qall!")
end

--- The whole text of every buffer, so that a condition may look for what is shown anywhere.
function Shown(...)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
    local all = true
    for _, wanted in ipairs({ ... }) do
      all = all and text:find(wanted, 1, true) ~= nil
    end
    if all then
      return true
    end
  end
  return false
end

--- Whether the person was told something that holds all of this.
function WasTold(...)
  local wanted = { ... }
  return vim.iter(Told):any(function(message)
    return vim.iter(wanted):all(function(text)
      return message:find(text, 1, true) ~= nil
    end)
  end)
end

--- Prompt and wait for the turn's end.
function Turn(prompt)
  Ended = nil
  vim.cmd("Agent " .. prompt)
  vim.wait(20000, function()
    return Ended ~= nil
  end, 20)
  return Ended or {}
end

function Attached()
  local client = vim.lsp.get_clients({ name = "agent_ls" })[1]
  return client ~= nil and client.initialized
end

vim.ui.select = function(options, question, choose)
  Asked = question.prompt
  for index, option in ipairs(options) do
    if not Choice or vim.startswith(option.kind or "", Choice) then
      return choose(option, index)
    end
  end
end
vim.notify = function(message)
  table.insert(Told, message)
end
for name, take in pairs({
  AgentTurnEnd = function(data)
    Ended = data
  end,
  AgentGauge = function(data)
    table.insert(Gauges, data)
  end,
  AgentCompaction = function(data)
    table.insert(Compactions, data)
  end,
}) do
  vim.api.nvim_create_autocmd("User", {
    pattern = name,
    callback = function(event)
      take(event.data)
    end,
  })
end

Expect("the server is attached", Attached)
