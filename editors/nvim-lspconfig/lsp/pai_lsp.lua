---@brief
---
--- https://github.com/OWNER/pai-lsp
---
--- Language server for OpenPAI and LTP job files: findings with fixes, completion, hover, definitions and rename.
---
--- Install the command `pai-lsp`, for example with `pipx install .` in a clone of the repository.
---
--- The server is started for all YAML. It checks job files and `.pai-lsp.yaml`, and ignores all other YAML.

---@type vim.lsp.Config
return {
  cmd = { 'pai-lsp', 'server' },
  filetypes = { 'yaml' },
  root_markers = { '.pai-lsp.yaml', '.git' },
}
