"""Passwords, tokens and keys in clear, outside a job's `secrets`; their values are never shown."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from pai_lsp.job.definition import name_span
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Scalar, walk
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.tree import JobTree
    from pai_lsp.source.nodes import Entry, Node

# A word of a command that is not a variable or a template, and what may be before it in the same command.
_WORD = r"['\"]?([^\s'\"`<>${}|;&()-][^\s'\"`<>${}|;&()]*)(?=['\"\s]|\Z)"
_SAME_COMMAND = r"[^\n|;&#]{0,200}?"
# The value of a variable that holds a password, unless it is a path; and one that looks like a token or key.
_END = r"(?=['\"\s;&|)]|\Z)"
_SET = rf"=(?!['\"]?[/.~])['\"]?([^\s'\"`<>${{}}|;&()-][^\s'\"`<>${{}}|;&()]{{0,200}}){_END}"
_SET_LONG = rf"=['\"]?((?=[^\s'\"]{{0,200}}[0-9])(?=[^\s'\"]{{0,200}}[A-Za-z])[\w.+=~-]{{16,400}}){_END}"
_NAME = r"(?<![\w$-])(?:[A-Z0-9_]*_)?"
# A header of a request with a credential. A short value without a digit, and one that speaks of you, is a placeholder.
# Sources: RFC 9110, section 11; RFC 7617; the manual pages of curl (`-H`) and wget (`--header`).
_HEADER = (
    r"(?<=\s)(?:-[A-Za-z]*H|--header)[ =]*[\\'\"]{0,3}(?i:(?:proxy-)?authorization|(?:[\w-]*[_-])?"
    r"(?:token|secret|password|(?:api|access|secret|private|auth|account|storage|subscription|functions)[_-]?key)): *"
    r"(?i:(?:bearer|basic|token|apikey|key) +)?(?![/.~]|(?i:your|my)[ _-]|[^\s'\"]{0,400}?(?:[xX]{3}|\.{3}|\*{3}))"
    r"(?=[^\s'\"]{0,400}?[0-9]|[^\s'\"]{20}|(?<=[Bb]asic )[A-Za-z+/]{8,}=*[^\w-])"
    r"([^\s'\"\\`<>${}|;&()%]{8,})(?=[\\'\"\s]|\Z)"
)
# Forms of tokens: a substring of every such token, its pattern, and its name in messages.
# Sources of the longer ones: AWS, IAM User Guide, "Manage access keys"; wandb, cli "login"; RFC 7519 and RFC 6750;
# Azure CLI, "az storage"; Docker, "docker login"; the manual pages of mysql, sshpass, curl and wget.
_FORMS = (
    ("gh", lazy_pattern(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})"), "a GitHub token"),
    ("glpat-", lazy_pattern(r"\bglpat-[\w-]{20,}"), "a GitLab token"),
    ("IA", lazy_pattern(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), "an AWS access key"),
    ("xox", lazy_pattern(r"\bxox[abprs]-[0-9A-Za-z-]{10,}"), "a Slack token"),
    ("hf_", lazy_pattern(r"\bhf_[A-Za-z0-9]{30,}"), "a Hugging Face token"),
    ("AccountKey=", lazy_pattern(r"\bAccountKey=([A-Za-z0-9+/]{40,}=*)"), "an Azure storage key"),
    ("sig=", lazy_pattern(r"[?&]sig=([A-Za-z0-9+/%]{30,}=*)"), "an Azure signature"),
    (
        "-----BEGIN ",
        lazy_pattern(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----(?:(?:(?!-----)[\s\S])*-----END [A-Z ]*-----)?"),
        "a private key",
    ),
    (
        "AWS_SECRET_ACCESS_KEY",
        lazy_pattern(r"\bAWS_SECRET_ACCESS_KEY[=:]\s*['\"]?([A-Za-z0-9+/]{40})(?![\w+/=])"),
        "an AWS key",
    ),
    ("WANDB_API_KEY", lazy_pattern(r"\bWANDB_API_KEY[=:]\s*['\"]?([0-9a-f]{40})\b"), "a Weights & Biases key"),
    ("wandb", lazy_pattern(r"\bwandb\s+login\s+(?:-\S+\s+){0,4}([0-9a-f]{40})\b"), "a Weights & Biases key"),
    ("Bearer", lazy_pattern(r"\bBearer\s+(eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?)"), "a bearer token"),
    ("--account-key", lazy_pattern(r"--account-key[ =]+['\"]?([A-Za-z0-9+/]{40,}=*)"), "an Azure storage key"),
    ("mysql", lazy_pattern(rf"(?<![\w-])mysql(?:dump|admin)?\s{_SAME_COMMAND}(?<=\s)-p{_WORD}"), "a password"),
    ("PASS", lazy_pattern(rf"(?<![\w$-])[A-Z0-9_]*PASS(?:WORD|WD|PHRASE){_SET}"), "a password"),
    ("_PWD", lazy_pattern(rf"(?<![\w$-])[A-Z0-9_]+_PWD{_SET}"), "a password"),
    ("TOKEN", lazy_pattern(rf"{_NAME}TOKEN{_SET_LONG}"), "a token"),
    ("SECRET", lazy_pattern(rf"{_NAME}SECRET{_SET_LONG}"), "a token"),
    ("KEY", lazy_pattern(rf"{_NAME}(?:API|ACCESS|SECRET|PRIVATE|ACCOUNT|STORAGE)_?KEY{_SET_LONG}"), "a key"),
    ("login", lazy_pattern(rf"\bdocker\s+login\s{_SAME_COMMAND}(?<=\s)(?:-p|--password)[ =]{_WORD}"), "a password"),
    ("sshpass", lazy_pattern(rf"\bsshpass\s+-p\s*{_WORD}"), "a password"),
    (
        "curl",
        lazy_pattern(rf"\bcurl\s{_SAME_COMMAND}(?<=\s)(?:-[A-Za-z]*u|--user[ =])\s*['\"]?[^\s:'\"<${{}}]+:{_WORD}"),
        "a password",
    ),
    ("curl", lazy_pattern(_HEADER), "a token"),
    ("wget", lazy_pattern(_HEADER), "a token"),
    ("@", lazy_pattern(r"://(?:<%[^%]*%>|[^\s/:@'\"<>])*:([^\s/@'\"<>${}]+)@"), "a password in an address"),
)
# A placeholder for a secret.
_PLACEHOLDER = lazy_pattern(r"(?i)[*x.]+|[<\[{(].*[>\]})]|none|null")
_WORD_FOR_PASSWORD = lazy_pattern(r"(?i)(?:your|my)?[ _-]?(?:user|pass(?:word|wd)?|pwd|token|secret|key)")
_NAME_WORD = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PASSWORDS = frozenset({"password", "passwd", "passphrase", "pwd"})
_TOKENS = frozenset({"token", "secret", "credential", "apikey", "accesskey", "secretkey", "privatekey"})
_KEY_OWNERS = frozenset({"api", "access", "secret", "private", "account", "storage", "auth", "encryption", "signing"})
_SHORTEST_TOKEN = 8
_OUTSIDE = lazy_pattern(r"[./~$]|[a-z]+://|ssh-")


@dataclass(frozen=True, slots=True, eq=False)
class ClearSecret:
    """A secret in clear: its place, its kind, and the entry whose value it is if the key identified it."""

    span: Span
    kind: str
    entry: Entry | None = None


def words_of(name: str) -> list[str]:
    """The words of a name such as `apiKey` or `API_KEY`, in lower case."""
    return [word.lower() for word in _NAME_WORD.findall(name)]


def clear_secrets(job: JobTree) -> tuple[ClearSecret, ...]:
    """Every password, token or key outside `secrets`, each once, in no particular order."""
    section = job.section("secrets")
    found: dict[Span, ClearSecret] = {}
    for entry, kind in _named_by_key(job):
        span = name_span(entry.value) if isinstance(entry.value, Scalar) else entry.value.span
        found.setdefault(span, ClearSecret(span, kind, entry))
    taken = sorted(found)
    for span, kind in tokens(job.text):
        at = bisect_right(taken, span)
        if not any(one.overlaps(span) for one in taken[max(at - 1, 0) : at + 1]):
            found[span] = ClearSecret(span, kind)
            taken.insert(at, span)
    hidden = section.value.span if section else Span(0, 0)
    return tuple(one for one in found.values() if not (len(hidden) and hidden.overlaps(one.span)))


def tokens(text: str) -> Iterator[tuple[Span, str]]:
    """Well-known forms of tokens, and passwords in addresses: the place and the kind of each."""
    for needle, form, kind in _FORMS:
        if needle not in text:
            continue
        for match in form.finditer(text):
            group = 1 if form.groups else 0
            if not _PLACEHOLDER.fullmatch(match[group]) and not _WORD_FOR_PASSWORD.fullmatch(match[group]):
                yield Span(*match.span(group)), kind


def _named_by_key(job: JobTree) -> Iterator[tuple[Entry, str]]:
    """The entries whose key names a secret."""
    for definition in job.definitions:
        auth = definition.node.get("auth") if definition.type == "dockerimage" else None
        password = auth.entry("password") if isinstance(auth, Mapping) else None
        if password is not None and isinstance(password.value, Scalar) and _is_literal(password.value):
            yield password, "a registry's password"
    places: list[Node | None] = [job.mapping("parameters"), job.extras]
    places += [definition.node for definition in job.definitions]
    for place in places:
        for node in walk(place):
            if isinstance(node, Mapping):
                for entry in node.entries:
                    if isinstance(entry.value, Scalar) and (kind := _kind(entry.name, entry.value)):
                        yield entry, kind


def _kind(name: str, value: Scalar) -> str:
    """What kind of secret a key names; empty where its value is not a secret."""
    kind = _kind_of_name(name)
    if not kind or not _is_literal(value):
        return ""
    if kind == "a password":
        return "" if isinstance(value.value, bool) else kind
    if not isinstance(value.value, str) or _OUTSIDE.match(value.text):
        return ""
    is_long = len(value.text) >= _SHORTEST_TOKEN and not any(character.isspace() for character in value.text)
    return kind if is_long else ""


@lru_cache(maxsize=1024)
def _kind_of_name(name: str) -> str:
    """What kind of secret a key names; empty for none. Found once for each name: most jobs have the same ones."""
    *owners, last = words_of(name) or [""]
    if last in _PASSWORDS:
        return "a password"
    if last == "key" and not _KEY_OWNERS.isdisjoint(owners):
        return "a key"
    return "a token" if last in _TOKENS else ""


def _is_literal(value: Scalar) -> bool:
    text = value.text.strip()
    if value.value is None or not text or "<%" in text or text[0] == "$":
        return False
    return _PLACEHOLDER.fullmatch(text) is None
