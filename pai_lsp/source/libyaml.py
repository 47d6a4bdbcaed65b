"""PyYAML, imported without compiling the patterns of its own reader.

PyYAML compiles all its patterns when it is imported. The one of its Python reader takes longer than the check of a job,
and libyaml's parser, which reads the files here, never uses it.
"""

from __future__ import annotations

import re

from pai_lsp.source.patterns import lazy_pattern

_compile = re.compile
try:
    re.compile = lazy_pattern  # has the same attributes, and compiles at the first use
    import yaml
    from yaml.constructor import SafeConstructor
    from yaml.nodes import ScalarNode
    from yaml.resolver import Resolver
finally:
    re.compile = _compile

__all__ = ["Resolver", "SafeConstructor", "ScalarNode", "yaml"]
