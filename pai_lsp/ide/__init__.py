"""One module is one feature of an editor: a document and an offset go in, plain values come out, without any LSP."""
