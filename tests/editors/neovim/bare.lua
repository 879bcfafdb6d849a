local said = {}
local print_line = print
print = function(line)
  said[#said + 1] = line
  print_line(line)
end
vim.cmd("Ask What is here?")
Expect("the answer is printed", function()
  return vim.tbl_contains(said, "A file.")
end)
Leave()
