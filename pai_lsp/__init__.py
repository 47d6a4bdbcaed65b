"""pai-lsp: a language server and checker for OpenPAI job files."""

__version__ = "0.1.0"
