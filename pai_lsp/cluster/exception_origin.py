"""Whether an uncaught exception is an error of the program, or is about something outside of it.

The name of an exception is an answer only in the first case: a wrong key, type or shape, or a `raise` in the program's
own code. A file, a server, a device, another process or a version that a library complains of has a cause elsewhere,
and so has a library that ends without a word.
"""

from __future__ import annotations

import re

# Mistakes in code and values, whatever their message names.
_OF_CODE = re.compile(
    r"^(?:Key|Index|Attribute|Type|Name|UnboundLocal|ZeroDivision|FloatingPoint|Overflow|Arithmetic|NotImplemented|"
    r"Recursion|Syntax|Indentation|Tab|LinAlg|Validation)Error$|^StopIteration$"
)
# Kinds of exceptions for what is outside of a program: its system, files, network, and other processes.
_OF_OUTSIDE = re.compile(
    r"^(?:OS|IO|EOF|Environment|System|Internal|Xla\w*)Error$|^(?:SystemExit|KeyboardInterrupt|CancelledError)$|"
    r"^NoSuch|Timeout|TimedOut|Connect|HTTP|Http|URL|SSL|Socket|Network|Signal|^Broken|Unavailable|File|Director|Disk|"
    r"Storage|Permission|Login|Auth|Credential|Token|Server|Client|Service|Daemon|Process|Worker|Actor|Rpc|RPC|Driver|Backend|"
    r"Download|Install|Version|Dependenc|Lock"
)
# Kinds that say nothing of their cause, and packages whose own kinds are about code and values.
_BUILT_IN = re.compile(
    r"^(?:Value|Runtime|Assertion|Lookup|Buffer|Reference|Import|Unicode\w*)Error$|^Exception$|Warning$"
)
_OF_VALUES = re.compile(
    r"^(?:numpy|pandas|polars|sklearn|scipy|torch\.(?!distributed)|torchvision|tensorflow|keras|jax|flax|optax|pydantic|"
    r"omegaconf|hydra|lightning|pytorch_lightning|numba|cv2|statsmodels|networkx|einops|dask|pyarrow|duckdb|yaml|json|"
    r"decimal|configparser|binascii|xml|csv|PIL|sqlalchemy|pickle|_pickle|struct|queue|concurrent|joblib|xgboost|lightgbm|optuna|marshmallow|jinja2)\b"
)
# What a message names that is outside of a program: paths, addresses, and words for them; or it points elsewhere.
_NAMES_OUTSIDE = re.compile(
    r"(?:^|[\s'\"`=(])(?:~|\.{1,2})?/\w|[A-Za-z][\w+.-]*://|\b\d{1,3}(?:\.\d{1,3}){3}\b|\blocalhost\b|\[Errno |"
    r"(?i:\b(?:files?|director(?:y|ies)|folders?|paths?|urls?|address(?:es)?|hosts?|ports?|servers?|services?|sockets?|"
    r"connect(?:ion|ed|ing)?|network|remote|download\w*|timeout|timed out|deadline|backends?|drivers?|"
    r"(?:load|open|read|connect|start|fetch)(?:ing)?\b.*\bfailed|"
    r"(?:cannot|can't|could not|unable to|failed to) (?:be )?(?:load|open|read|write|connect|start|launch|fetch|reach)|"
    r"(?<!forked )subprocess|child process|worker process|terminated|killed|signal|died|daemon|"
    r"credentials?|tokens? (?:is|are|was)|"
    r"(?:see|check|look at)\b.*\babove|root cause|"
    r"permissions?|environment variables?|install(?:ed|ation)?|pip|libraries|library|binary|executable|disk|"
    r"corrupt(?:ed)?|truncated|magic number|checksum|locked|repository|repo|license|unavailable)\b)"
)
# Where in the source of a C++ library a check failed.
_PLACE = re.compile(r"\S+\.(?:c|cc|cpp|cu|cuh|h|hpp):\d+\b")
# The beginning of a message is looked at.
_MOST_CHARACTERS = 400
_RAISES = re.compile(r"^\s*(?:raise|assert)\b")


def is_of_program(message: str, *, is_library: bool, source: str) -> bool:
    """Whether an exception is an error of the program itself.

    message: the line of the exception, with the next words where it has none. is_library: whether the last frame of
    its traceback is in an installed library. source: the line of code of that frame; empty where it is not known.
    """
    if not is_library and _RAISES.match(source):
        return True
    name, _, said = message.partition(":")
    kind = name.rpartition(".")[2].strip()
    if _OF_CODE.match(kind):
        return True
    if _OF_OUTSIDE.search(kind) or not (_BUILT_IN.search(kind) or _OF_VALUES.search(name)):
        return False
    said = _PLACE.sub("", said[:_MOST_CHARACTERS])
    return not _NAMES_OUTSIDE.search(said) if said.strip() else not is_library
