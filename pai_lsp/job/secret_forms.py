"""Passwords, tokens and keys that a text shows, recognized by their own form or by the name beside them.

A text is any: a job, a line of it, a message, a log. What is found is reported (`clear_secrets`) and hidden (`hidden`).

* Tokens that have a form of their own: the table schemas/secret_patterns.json, and the few below that it lacks.
* Values after a name: options, variables, headers, parameters of an address, keys of JSON, YAML, INI and netrc files.
* Arguments of programs that take a password without a name.

Names such as `pad_token`, and values that are placeholders, variables, templates or paths, are not found.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import pairwise
from math import log2

from pai_lsp.platform.tables import table
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# A word of a command that is not a variable or a template, and what may be before it in the same command.
_WORD = (
    r"(?:'(?![-$<({])([^'\s`{}]+)'|\"(?![-<(])([^\"\s`<>${}]+)\"|"
    r"['\"]?([^\s'\"`<>${}|;&()-][^\s'\"`<>${}|;&()]*)(?=['\"\s|;&)]|\Z))"
)
_SAME_COMMAND = r"(?:[^\n|;&#]|[;&#](?=[^\s;&|])){0,200}?"
# It begins with a letter, which is found faster than a look-behind.
_ECHO = r"(?:echo(?<=\becho)|printf(?<=\bprintf))\s+(?:-\S+\s+)*"
# A text that goes to the standard input of the next command, or is typed for `passwd`, twice.
_SAYS = rf"{_ECHO}(?:['\"]%s(?:\\n)?['\"]\s+)?"
_TYPED = rf"{_SAYS}{_WORD}['\"]?"
_PIPED = rf"{_TYPED}[ \t]*\|[^\n|]{{0,200}}"
_PIPED_TO_IT = r"[ \t]*\|\s*(?:sudo\s+)?passwd\b"
# What reads a password from its standard input.
_READERS = (
    r"(?:\b(?:kinit|iinit|cryptsetup|gocryptfs|chpasswd|password_stdin|passwd\s[^\n|;&]{0,80}--stdin|vncpasswd\s+-f|"
    r"p4\s[^\n|;&]{0,80}login|encfs\s+-S|smbpasswd\s+-s|sudo\s+(?:-\S+\s+)*-S)\b|"
    r"--password-stdin|--passwd-on-stdin|--passphrase-fd[ =]0|-pass(?:in)?\s+stdin)"
)
# The name of a user, before a password, and arguments of a function: a text before others, and the one that counts.
_USER = r"['\"]?[^\s:'\"<$]+:"
_LOGIN = r"['\"]?[^\s:'\"<${}]+:"
_TEXT = r"\\?['\"][^'\"\n]+['\"]\s*,\s*"
_SHORT_TEXT = r"\\?['\"][^'\"\n]{1,100}['\"]\s*,\s*"
_LAST_TEXT = r"\\?['\"]([^'\"\n\\]{4,200})"
# Forms that the table lacks: a part of each such text in lower case, its pattern, and its name in messages.
# Sources: Hugging Face, "User access tokens"; Docker, "Personal access tokens"; Tailscale, "Key prefixes"; Discord,
# "Webhook resource"; SonarQube, "Managing tokens"; Telegram, "Bot API"; Azure Storage, "Connection strings" and
# "Service SAS"; RFC 7468 for keys.
_FORMS = (
    ("hf_", r"\bhf_[A-Za-z0-9]{30,}", "a Hugging Face token"),
    ("dckr_", r"\bdckr_(?:pat|oat)_[\w-]{20,}", "a Docker token"),
    ("tskey-", r"\btskey-[a-z]+-[A-Za-z0-9]{6,}-?[A-Za-z0-9]+", "a Tailscale key"),
    ("/api/webhooks/", r"/api/webhooks/[0-9]{10,}/([\w-]{40,})", "a Discord webhook"),
    ("hooks.slack.com/services/", r"hooks\.slack\.com/services/([A-Za-z0-9+/]{20,})", "a Slack webhook"),
    (":aa", r"(?<![0-9])[0-9]{8,10}:AA[\w-]{33}(?![\w-])", "a Telegram token"),
    ("hvs.", r"\bhvs\.[\w-]{24,}", "a Vault token"),
    ("/t/", r"/t/([a-z]{2}-[0-9a-z]{8}-[0-9a-z-]{27})(?=/)", "a token of a conda channel"),
    ("accountkey=", r"\bAccountKey=([A-Za-z0-9+/]{40,}=*)", "an Azure storage key"),
    ("x-amz-signature=", r"(?i:x-amz-signature)=([0-9a-f]{64})", "an AWS signature"),
    ("ya29.", r"\bya29\.[\w-]{20,}", "a Google token"),
    ("sct", r"\bSCT[0-9]{4,}T[A-Za-z0-9]{20,}", "a ServerChan key"),
    ("/v2/hook/", r"/bot/v2/hook/([0-9a-f-]{36})", "a Feishu webhook"),
    (
        "0exbli",
        r"\b(?:eyJ0eXBlIjo|ewogICJ0eXBlIjo|ewogICAgInR5cGUiO)[A-Za-z0-9+/]{100,}=*",
        "a key of a service account in base64",
    ),
    ("signature=", r"[?&]Signature=([\w~%+/-]{30,}=*)", "a signature of an address"),
    ("sig=", r"[?&]sig=([A-Za-z0-9+/%]{30,}=*)", "an Azure signature"),
    (
        "-----begin ",
        r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----(?:(?:(?!-----)[\s\S])*-----END [A-Z ]*-----)?",
        "a private key",
    ),
    ("ls0tls1crudjti", r"\bLS0tLS1CRUdJTi[A-Za-z0-9+/]{40,}=*", "a key or certificate in base64"),
    ("@", r"://(?=[^\s/@]{0,200}[0-9])(?=[^\s/@]{0,200}[a-z])([A-Za-z0-9_-]{20,200})@", "a token in an address"),
    ("account.key.", r"\baccount\.key\.[\w.-]{1,200}['\"]?[ =]\s*['\"]?([A-Za-z0-9+/]{40,}=*)", "an Azure storage key"),
    ("sq", r"\bsq[apu]_[0-9a-f]{40}", "a SonarQube token"),
    ("secret", r"(?i:secret[_-]?id)['\"]?[ =:]{1,3}['\"]?([0-9a-f]{8}-[0-9a-f-]{27})", "a secret of Vault"),
    ("akcp", r"\bAKCp[A-Za-z0-9]{50,}", "a JFrog key"),
    ("argon2:", r"\bargon2:\$argon2[^\s'\"]{20,}", "the hash of a password"),
    ("passwo", r"<(?:\w+:)?[\w.-]{0,40}(?i:password)>([^<>$\s]{4,200})</", "a password"),
    (
        "@",
        r"://(?:<%[^%]*%>|[^\s/:@'\"<>]{0,200}):([^\s/@'\"<>${}]{1,200}(?:@[^\s/@'\"<>${}:]{1,40}(?=@))?)@",
        "a password in an address",
    ),
)
# How vendors write their names, where a capital letter is not enough.
_VENDORS = {
    "1password": "1Password", "aws": "AWS", "digitalocean": "DigitalOcean", "gcp": "Google Cloud", "github": "GitHub",
    "gitlab": "GitLab", "huggingface": "Hugging Face", "jwt": "JSON Web", "microsoft": "Microsoft Teams", "npm": "npm",
    "openai": "OpenAI", "openshift": "OpenShift", "pypi": "PyPI",
}  # fmt: skip
# The options of programs that take a password.
# Sources: the manual pages of mysql, sshpass, redis-cli, zip, 7z, rar, openssl, ncftpget, ipmitool, ldapsearch,
# mosquitto_pub, bcp, p4, ccrypt and mcrypt; the help of mongosh, cqlsh, sqlcmd, cypher-shell, rabbitmqadmin, beeline,
# twine, ossutil, obsutil, coscmd and coscli.
_OPTIONS = {
    "mysql mysqldump mysqladmin mycli 7z 7za 7zr": "-p",
    "rar unrar": "-h?p",
    "mongo mongosh mongodump mongorestore mongoimport mongoexport cqlsh beeline cypher-shell rabbitmqadmin": r"-p\s+",
    "sshpass twine ncftp ncftpget ncftpput ncftpls": r"-p\s*",
    "zip unzip sqlcmd ipmitool mosquitto_pub mosquitto_sub bcp tsql p4": r"-P\s*",
    "ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami": r"-w\s*",
    "sendemail sendEmail": r"-xp\s+",
    "redis-cli": r"-a\s+",
    "openssl ccrypt mcrypt": r"-[kK]\s+",
    "ossutil ossutil64 obsutil coscli": "-k[ =]",
    "coscmd": r"-s\s+",
}
# Programs that take a password without a name, by its kind: a part of each such text in lower case, or several of
# which it has one, and the pattern.
# Sources: the manual pages of curl, htpasswd, smbclient, openssl, gpg, chpasswd and vncpasswd; the help of gh, skopeo
# and etcdctl; Azure CLI, "az login"; Weights & Biases, "wandb login"; Microsoft, "net use"; Redis, "Configuration";
# PostgreSQL, "CREATE ROLE"; Jupyter Server, "Config file"; RFC 7617.
_ARGUMENTS = {
    "a Weights & Biases key": (
        ("wandb", r"\bwandb\.login\([^)\n]{0,100}key\s*=\s*\\?['\"]([0-9a-f]{40})"),
        ("wandb", r"\bwandb\s+login\s[^\n|;&#]{0,200}?(?<![\w-])((?:local-)?[0-9a-f]{40})\b"),
    ),
    "an AWS key": (
        ("akia", r"\bAKIA[A-Z0-9]{16}\s+([A-Za-z0-9+/]{40})(?![\w+/=])"),
        ("_secret_access_key ", r"\b(?:aws_)?secret_access_key\s+['\"]?([A-Za-z0-9+/]{40})(?![\w+/=])"),
    ),
    "an Azure storage key": (("accountkey ", r"\baccountKey[ \t]+([A-Za-z0-9+/]{40,}=*)"),),
    "a Kaggle key": (("username", r"['\"]key\\?['\"]\s*:\s*\\?['\"]([0-9a-f]{32})\\?['\"]"),),
    "a token": (
        ("=", r"(?<=\s)(?:-b|--cookie)[ =]['\"]?\w{0,40}(?i:sess|token|auth)\w{0,20}=([\w%.-]{16,400})"),
        ("vault", rf"\bvault\s+login\s+(?:-\S+\s+)*(?=\S*[0-9]){_WORD}"),
        ("bduss", r"(?i:\bbduss)\s?[ =]\s?['\"]?([\w~-]{60,400})"),
        ("app.", r"\b(?:Notebook|Server|Jupyter|Lab)App\.(?:token|password)\s*=\s*\\?['\"]([^'\"\s\\<>${}]{4,200})"),
        ("login(", r"\blogin\(\s*\\?['\"](?=[^'\"\n]{0,200}[0-9])([\w-]{20,200})\\?['\"]\s*\)"),
        ("authtoken", r"\bngrok\s+(?:config\s+add-)?authtoken\s+([\w-]{20,})"),
        ("-bearer", rf"--oauth2-bearer[ =]{_WORD}"),
        ("poetry", rf"\bpoetry\s+config\s+(?:-\S+\s+)*pypi-token\.\S+\s+{_WORD}"),
        ("frp", r"(?m)^[ \t]*token[ \t]*=[ \t]*\"?([^\s'\"<>${}]{6,})\"?[ \t]*$"),
        ("token(", r"token\(\s*\\?['\"](?=[^'\"\n]{0,200}[0-9])(?=[^'\"\n]{0,200}[A-Za-z])([\w.-]{16,200})\\?['\"]"),
        (
            "cookie",
            r"(?i:cookie['\"]?[ \t]*[:=][^\n]{0,60}?(?:sess\w{0,40}|sid|\w{0,40}(?:token|auth)))=([\w%.-]{16,400})",
        ),
        ("--with-token", rf"{_PIPED}--with-token"),
        (
            "authorization",
            r"(?i:authorization)['\"]?\s*[:=]\s*['\"]?(?i:bearer|basic|token|apikey|key)\s+(?=\S{0,400}[0-9]|\S{20})([^\s'\"\\`<>${}|;&()]{8,})",
        ),
    ),
    "a key": (
        ("qshell", rf"\bqshell\s+account\s+(?:-\S+\s+)*\S+\s+{_WORD}"),
        ("minio(", rf"\bMinio\(\s*{_TEXT}{_TEXT}{_LAST_TEXT}"),
        ("mc", rf"\bmc\s+(?:alias\s+set|config\s+host\s+add)\s+\S+\s+\S+\s+\S+\s+{_WORD}"),
        ("passwd-s3fs", rf"{_ECHO}['\"]?[\w.-]+:([\w+/=-]{{6,}})['\"]?[^\n|;&]{{0,40}}>[^\n|;&]{{0,100}}passwd-s3fs"),
        ("swanlab", rf"\bswanlab\s+login\s{_SAME_COMMAND}(?:-k|--api-key)[ =]{_WORD}"),
        ("key:", r"(?m)^[ \t]*key:[ \t]*[0-9]+:([0-9a-f-]{36})\b"),
        (
            ("sk=", "sk:", "sk ", "sk\t", 'sk"', "sk'"),
            (
                r"[sS][kK](?<![A-Za-z0-9]..)['\"]?(?:[ \t]*[=:][ \t]*|[ \t]+)['\"]?"
                r"(?=\S{0,63}[0-9])(?=\S{0,63}[A-Za-z])([A-Za-z0-9+/]{28,64}=*)(?![\w+/=])"
            ),
        ),
        (
            ("key", "token", "password", "secret"),
            r"s(?<=\bs)([/|#,])[^/|#,\n]{0,60}(?:KEY|TOKEN|PASSWORD|SECRET)[^/|#,\n]{0,20}\1(?P<value>[^/|#,\s$]{8,200})\1",
        ),
        (
            ", ",
            (
                r"['\"](?i:[a-z0-9_.]{0,60}(?:[_.]key|token|secret|password))['\"]\s*,\s*['\"]"
                r"((?=[^'\"\n]{0,200}[0-9])(?=[^'\"\n]{0,200}[a-z])[^'\"\s]{8,200})['\"]"
            ),
        ),
        ("auth(", rf"\bAuth\(\s*{_SHORT_TEXT}\\?['\"]([^'\"\s\\]{{16,200}})['\"]"),
    ),
    "a password": (
        *(
            (program.lower(), rf"(?<![\w.-]){program}\s{_SAME_COMMAND}(?<=\s){option}{_WORD}")
            for programs, option in _OPTIONS.items()
            for program in programs.split()
        ),
        ("|", rf"{_PIPED}{_READERS}"),
        ("<<<", rf"{_READERS}{_SAME_COMMAND}<<<\s*{_WORD}"),
        ("password", r"(?i:\bpassword\s+(?:=\s*)?)\\?'([^'\n\\]{3,200})'"),
        ("identified by", r"(?i:\bidentified by\s+)\\?'([^'\n\\]{3,200})'"),
        (("requirepass", "masterauth"), rf"\b(?:requirepass|masterauth)[ =]\s*{_WORD}"),
        ("-password ", rf"\bset-(?:initial|default-admin)-password\s+{_WORD}"),
        ("creds", rf"(?<=\s)--(?:\w+-)?creds[ =]{_USER}{_WORD}"),
        ("etcdctl", rf"\betcdctl\s{_SAME_COMMAND}(?<=\s)--user[ =]{_USER}{_WORD}"),
        ("curl", rf"\bcurl\s{_SAME_COMMAND}(?<=\s)(?:--pass\s+|(?:-E|--cert)\s+{_USER}){_WORD}"),
        ("/p:", rf"(?<=\s)/p:{_WORD}"),
        ("net use", rf"\bnet use\s{_SAME_COMMAND}\s/user:\S+\s+{_WORD}"),
        ("net use", rf"\bnet use\s+(?:\w:\s+)?\\\\\S+\s+(?![/*]){_WORD}"),
        ("mega-login", rf"\bmega-login\s+[^\s@]+@\S+\s+{_WORD}"),
        ("securestring", rf"\bConvertTo-SecureString\s+(?:-String\s+)?{_WORD}"),
        ("sql", rf"sql(?:db)?\.connect\(\s*{_TEXT}{_TEXT}{_LAST_TEXT}"),
        ("redis(", rf"\bRedis\(\s*{_TEXT}[0-9]+\s*,\s*[0-9]+\s*,\s*{_LAST_TEXT}"),
        (
            "%s",
            (
                r"\bprintf\s+['\"][^'\"]{0,400}(?i:pass(?:word|wd)?|token|secret|key)['\"]?[ =:]{1,3}['\"]?"
                rf"%s[^'\"%]{{0,200}}['\"](?:\s[^\n|;&>#]{{0,200}})?\s{_WORD}['\"]?\s*(?=[>|\n]|\Z)"
            ),
        ),
        ("<(", rf"(?i:pass|secret|token|key)[\w-]*[ =]<\({_SAYS}{_WORD}"),
        ("login", rf"(?<=\s)login\s{_SAME_COMMAND}(?<=\s)-p[ =]?(?!\d{{1,5}}(?:\s|\Z)){_WORD}"),
        ("login", rf"\.login\(\s*{_SHORT_TEXT}{_LAST_TEXT}"),
        ("auth", r"\\?\"auth\\?\"\s*:\s*\\?\"([A-Za-z0-9+/]{12,}=*)"),
        ("passwd", rf"\bopenssl\s+passwd\s+(?:-\S+\s+)*{_WORD}"),
        ("assword", r"assword\W[^\n]{0,80}\n?[ \t]{0,20}\bsend\s+(?:--\s+)?\\?[\"{]([^\"\n\\$]{3,200})\\+[rn]"),
        ("lftp", rf"\blftp\s{_SAME_COMMAND}(?<=\s)-u\s*[^\s,'\"]+,{_WORD}"),
        ("mount", r"\bmount(?:\.\w+)?\s[^\n|;&#]{0,200}?[ ,]pass(?:word)?=((?:[^\s,'\"`<>${}|;&()]|&(?![&\s]))+)"),
        ("curl", rf"\bcurl\s{_SAME_COMMAND}(?<=\s)(?:-[A-Za-z]{{0,20}}u|--(?:proxy-)?user[ =])\s*{_LOGIN}{_WORD}"),
        (
            "htpasswd",
            rf"\bhtpasswd\s+-[ac-zA-Z]*b[a-zA-Z]*\s+(?:-\S+\s+)*(?:\S+\s+){{1,2}}?{_WORD}[ \t]*(?=[\n'\"|;&)]|\Z)",
        ),
        ("smbclient", rf"\bsmbclient\s{_SAME_COMMAND}(?<=\s)-U\s*['\"]?[^\s%'\"]+%{_WORD}"),
        ("pass:", rf"\bopenssl\s{_SAME_COMMAND}(?<=\s)-pass(?:in|out)?\s+['\"]?pass:{_WORD}"),
        ("auth", r"\b(?:\w{1,20}_)?auth\s*=\s*\(\s*['\"][^'\"\n]{1,100}['\"]\s*,\s*['\"]([^'\"\n]{3,200})['\"]"),
        (("http ", "https "), rf"http(?<![\w./:-]http)s?\s{_SAME_COMMAND}(?<=\s)(?:-a|--auth)[ =]?{_LOGIN}{_WORD}"),
        ("http-basic", rf"\b(?:poetry|composer)\s+config\s+(?:-\S+\s+)*http-basic\.\S+\s+\S+\s+{_WORD}"),
        ("ssh-keygen", rf"\bssh-keygen\s{_SAME_COMMAND}(?<=\s)-[NP]\s*{_WORD}"),
        (
            "user",
            r"\buser(?:add|mod)\s[^\n|;&#]{0,200}?(?:-p|--password)[ =]?\s*['\"]?(\$[0-9a-z]{1,2}\$[^\s'\"]{20,})",
        ),
        (("storepass", "keypass"), rf"(?<=\s)-(?:src|dest|new)?(?:store|key)pass\s+{_WORD}"),
        (("-password ", "-passwd ", "-pw "), rf"(?<=\s)-(?:password|passwd|pw)\s+{_WORD}"),
        ("sqlplus", r"\bsqlplus\s+(?:-\S+\s+)*['\"]?[\w.-]+/([^\s'\"`<>${}|;&()@/]+)(?=@|['\"\s]|\Z)"),
        # A line of a file in which `pass` is a key, as in that of rclone; elsewhere it counts passes.
        ("pass", r"(?m)^[ \t]*pass[ \t]*=[ \t]*(?=\S{0,400}[0-9])(?=\S{0,400}[A-Za-z])([\w+/!@#%^&*?=~-]{8,})[ \t]*$"),
        ("passwd", rf"{_TYPED}(?:\s*;\s*echo\s[^\n|;&]{{0,60}}\)?)?{_PIPED_TO_IT}"),
        ("passwd", rf";\s*{_TYPED}\)?{_PIPED_TO_IT}"),
        ("smtp", rf"\bSMTP(?:_SSL)?\(\s*\\?['\"][^'\"\n@]{{1,100}}@[^'\"\n]{{1,100}}['\"]\s*,\s*{_LAST_TEXT}"),
        ("pgpass", r"(?<![\w.:-])[\w.*-]+:(?:[0-9]+|\*):[\w.*-]+:[\w.*-]+:([^\s'\"`<>${}|;&():]+)"),
        ("ftp", rf"(?m)^[ \t]*(?:quote[ \t]+)?user[ \t]+\S+[ \t]+{_WORD}[ \t]*$"),
        (".connect(", rf"\.connect\(\s*{_TEXT}[0-9]+\s*,\s*{_TEXT}{_LAST_TEXT}"),
        (
            "davfs2/secrets",
            r"\b(?:echo|printf)\s+['\"]?\S+[ \t]+\S+[ \t]+([^\s'\"]+)[^\n|;&]{0,20}>[^\n|;&]{0,20}davfs2/secrets",
        ),
        ("密码", r"密码[ \t]*(?:[:：=是为][ \t]*)?((?=\S{0,60}[0-9])(?=\S{0,60}[A-Za-z])[!-~]{6,60})"),
        ("passwd(", r"\bpasswd\(\s*\\?['\"]([^'\"\n\\]{6,200})"),
        (
            "value",
            (
                r"\bname['\"]?:[ \t]*['\"]?\w{0,60}(?:PASSW(?:OR)?D|TOKEN|SECRET|(?:API|ACCESS)_?KEY)['\"]?[\s,]{1,40}"
                r"['\"]?value['\"]?:[ \t]*['\"]?([^\s'\"<>{}$]{6,200})"
            ),
        ),
        (
            ("pass", "secret", "token", "credential", "key"),
            (
                rf"{_ECHO}['\"]?(?=\S{{0,200}}[0-9!@#%^&*+?=])([^\s'\"`<>${{}}|;&()]{{6,200}})['\"]?\s*"
                r">\s*[^\s|;&<>]{0,100}(?:pass(?:w(?:or)?d)?|secrets?|token|credentials?|api_?key)(?=[\s;|&)]|\Z)"
            ),
        ),
        ("auth", rf"(?<=\s)--[\w-]{{0,40}}auth[ =]['\"]?[^\s:/'\"<${{}}]+:(?=\S*[A-Za-z]){_WORD}"),
        ("obscure", rf"\brclone\s+obscure\s+(?:-\S+\s+)*{_WORD}"),
        ("add_user", rf"\brabbitmqctl\s{_SAME_COMMAND}\badd_user\s+\S+\s+{_WORD}"),
        ("login", rf"\bmachine\s+\S+\s+login\s+\S+\s+password\s+{_WORD}"),
        ("password ", rf"(?m)^[ \t]*(?:-[ \t]+)?password[ \t]+{_WORD}[ \t]*$"),
    ),
}
_SEARCHES = (
    *((parts, lazy_pattern(pattern), kind) for parts, pattern, kind in _FORMS),
    *((parts, lazy_pattern(pattern), kind) for kind, rows in _ARGUMENTS.items() for parts, pattern in rows),
)
_PARTS_OF_SEARCHES = tuple(
    (part, number)
    for number, (parts, _, _) in enumerate(_SEARCHES)
    for part in ([parts] if isinstance(parts, str) else parts)
)
# The last word of a name and what is between it and its value; the value in double, single or no quotes.
_NAMED = lazy_pattern(
    r"((?i:pass(?:word|wd|wort|phrase|code)?|pwd?(?![a-z])|token|secret|credentials?|key|psw|kennwort|senha|mdp))['\"\\]{0,2}\]?"
    r"([ \t]*(?:=>|:[-=]|=|:(?!//))[ \t]*|[ \t]+)"
)
_VALUE = lazy_pattern(
    r"\\?(?:b?\"([^\"\n\\]+)|[b$]?'([^'\n]+)|([^\s'\"`<>${}|;&(),\[\]\\*#](?:[^\s'\"`<>${}|;&(),\[\]\\]|\$(?![\w{(\[]))*)(?![`<>${(\[\\]))"
)
# A value that is the rest of a line, as in INI and YAML files, with signs that would end it elsewhere.
_REST_OF_LINE = lazy_pattern(r"([^\s'\"`<>${}()\[\]|>*#,][^\s'\"`$\[\]]*)[ \t]*$", re.MULTILINE)
_BEGIN_OF_LINE = lazy_pattern(r"[ \t]*(?:-[ \t]+)?[\w.-]*")
_LONGEST_VALUE = 400
# The words that may have a token of the table, the shortest of which has 13 characters.
_LONG_WORDS = lazy_pattern(r"\S{13,}")
# A line that is remembered with what may be in it has fewer characters.
_LONG_LINE = 1_000
_REST: Any = lazy_pattern(r"[\w+/=-]*")  # always matches
# A template, variable or substitution in a value.
_NOT_LITERAL = lazy_pattern(r"<%|\{\{|`|\$[A-Za-z_({]")
_NEEDLES = ("pass", "pw", "token", "secret", "credential", "key", "psw", "kennwort", "senha", "mdp")
_LONGEST_NAME = 80
_NAME_BEFORE = lazy_pattern(r"[\w.-]*\Z")
# Sources: the manual pages of curl (`-H`) and wget (`--header`).
_HEADER = lazy_pattern(r"(?<=\s)(?:-[A-Za-z]*H|--header)[ =]*[\\'\"]{0,3}\Z")
_LONGEST_HEADER = 20
# A command that is given names and values as words, such as `rclone config create NAME TYPE KEY VALUE`.
# Sources: the help of rclone, aws, git, npm, conda and dvc; the manual pages of tcsh and fish; Docker, "ENV".
_SETS = lazy_pattern(
    r"\b(?:config(?:ure)?|remote)[ \t]+(?:--?[\w-]+[ \t]+)*(?:set|create|update|add|modify|--set)[ \t][^\n|;&]*\Z"
    r"|\bgit[ \t]+config[ \t]+(?:--\w+[ \t]+)*\Z|(?:\bsetenv|\bsetx|\bset[ \t]+-[a-z]{1,4}|^ENV)[ \t]+\Z",
    re.MULTILINE,
)
_LONGEST_COMMAND = 200
_NAME_WORD = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PASSWORDS = frozenset(
    {"password", "passwd", "passwort", "passphrase", "passcode", "pwd", "pw", "psw", "kennwort", "senha", "mdp"}
)
# Whose password, key or token it is: without one of these words, `pass` counts passes and `key` is one of a table.
_PASS_OWNERS = frozenset({
    "admin", "become", "bind", "database", "db", "ftp", "git", "http", "https", "imap", "jenkins", "ldap", "login",
    "mail", "minio", "mongo", "mqtt", "mysql", "nexus", "pg", "postgres", "proxy", "redis", "registry", "root", "sftp",
    "smb", "smtp", "sql", "ssh", "sudo", "user", "vnc", "vpn",
})  # fmt: skip
_KEY_OWNERS = frozenset({
    "access", "account", "anthropic", "api", "app", "auth", "aws", "clearml", "client", "comet", "cookie", "deploy",
    "encryption", "fernet", "hmac", "jwt", "kaggle", "license", "master", "neptune", "openai", "private", "roboflow",
    "secret", "service", "shared", "signing", "storage", "subscription", "swanlab", "wandb",
})  # fmt: skip
_TOKEN_OWNERS = frozenset({
    "access", "api", "app", "auth", "bearer", "bot", "ci", "client", "csrf", "deploy", "git", "github", "gitlab",
    "hf", "hub", "huggingface", "id", "jupyter", "jwt", "login", "notebook", "notebookapp", "npm", "oauth",
    "personal", "private", "pypi", "refresh", "registry", "sas", "secret", "security", "serverapp", "service",
    "session", "slack", "user", "vault", "wandb",
})  # fmt: skip
# Words of text models, whose tokens are parts of a text, and of nuScenes, whose tokens name records.
_NO_OWNERS = frozenset({
    "annotation", "attribute", "bos", "category", "cls", "eos", "first", "image", "instance", "last", "log", "map",
    "mask", "max", "min", "new", "next", "num", "pad", "pose", "prev", "sample", "scene", "sensor", "sep", "special",
    "start", "stop", "unk", "visibility", "vocab",
})  # fmt: skip
_SHORTEST = 8
_SHORTEST_OPTION = 10
_SHORTEST_ALONE = 16
_JOINED = lazy_pattern(r"([a-z]+?)(password|passwd|passphrase|token|secret|pass)")
# Placeholders: signs alone, brackets around a word, words that say what belongs there, and examples of documentation.
_PLACEHOLDER = lazy_pattern(
    r"(?i)[*x.\-_#?]+|[<\[{(%].*[>\]})%]|(?:your|the|an?|some|insert|enter|put)[ _-][^0-9]*|your.*|"
    r"(?-i:[\w/+]*EXAMPLE(?:KEY)?)|(?:[\w]+[-_])?example|"
    r"none|null|nil|true|false|yes|no|on|off|todo|tbd|dummy|fake|test|secret|hidden|masked|empty|prompt|stdin|ask|"
    r"string|str|int|value|password|passwd|token|key|auto|default|undefined|optional|required|env(?:ironment)?"
)
# The same, with other characters around them.
_SAYS_SO = lazy_pattern(
    r"(?i)your[ _-]|[ _-]here\Z|eyJzdWIiOiIxMjM0NTY3ODkwIi|placeholder|"
    r"change[ _-]?me|redacted|x{4}|\*{3}|\.{3}|\A(?:\w+[-_])?example[-_]\w"
)
_WORDS_OF_SECRETS = frozenset({
    "access", "api", "arg", "auth", "config", "db", "env", "file", "for", "from", "id", "key", "my", "name", "new",
    "of", "old", "pass", "passphrase", "passwd", "password", "private", "pwd", "secret", "str", "the", "token",
    "user", "value", "var", "your",
})  # fmt: skip
# A reference to something else: a path, an address, a variable, a tag of YAML, a sealed secret of Kubernetes.
_ELSEWHERE = lazy_pattern(
    r"[./~$%@]|![a-z]+\Z|Ag[A-D][A-Za-z0-9+/]{100}|[a-z][a-z0-9+]*://|[A-Z][A-Z0-9_]*_(?:PASS\w*|TOKEN|KEY|SECRET)\Z"
)
_EXPRESSION = lazy_pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+[(\[]?|\w+\(.*")
# Without an owner, `pass` counts passes unless its value has letters and digits or signs; with one of these it does so.
_MIXED = lazy_pattern(r"(?=[^\s]*[A-Za-z])(?=[^\s]*[0-9!@#%^&*+?.=~-])\S{6,}")
_COUNTERS = frozenset({
    "first", "last", "max", "min", "multi", "n", "no", "num", "one", "render", "second", "single", "three", "two",
})  # fmt: skip
# A password of an application, as Google and Tencent make them for mail programs.
_APP_PASSWORD = lazy_pattern(r"[a-z]{16}|[a-z]{4}(?: [a-z]{4}){3}")
# A value that is hardly anything but a key, whatever the name before `key` says; names that speak of other keys.
_LONG_KEY = lazy_pattern(r"(?=[^\s]*[0-9])(?=[^\s]*[A-Za-z])[A-Za-z0-9+/_-]{24,}={0,2}")
_OTHER_KEYS = frozenset(
    {"cache", "foreign", "gpg", "host", "idempotency", "partition", "primary", "pub", "public", "recv", "sort"}
)
# The name of a header, a key or a variable, such as `X-Auth-Token`.
_NAME_OF_SECRET = lazy_pattern(r"(?i)(?:[a-z0-9]+[_-])+(?:token|key|secret|password|credentials?)")
# A variable and the name of the secret that it gets, such as `WANDB_API_KEY=ANN_WANDB_KEY`.
_PAIR_OF_NAMES = lazy_pattern(r"[A-Z]\w*=[A-Z_a-z-][\w-]*")
# The name of something else, as Kubernetes has them.
_NAME_OF_OBJECT = lazy_pattern(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")
_FOLDERS = lazy_pattern(r"/?(?:[\w.-]+/){2,}[\w.-]*")
_FILE_NAME = lazy_pattern(r"[\w.-]+(?:/[\w.-]+)*\.[a-z][a-z0-9]{0,4}")


def secrets_in(text: str) -> Iterator[tuple[Span, str]]:
    """The place of each password, token or key in a text, and what it looks like; places can overlap.

    Places are in code points, half-open. The time is linear in the length of the text.
    """
    lower = text.lower()
    if len(lower) != len(text):  # a letter that has two in lower case
        lower = text
    lines = {*lower.split("\n")}
    long = [line for line in lines if len(line) >= _LONG_LINE]
    lines.difference_update(long)
    forms = len(_rows())
    for number in sorted(set().union(*map(_needles_in, lines), *map(_needles_in.__wrapped__, long))):
        if number < forms:
            yield from _of_form(text, *_token_form(number))
            continue
        _, pattern, kind = _SEARCHES[number - forms]
        for match in pattern.finditer(text):
            group = match.lastindex or 0
            if not is_placeholder(match[group]):
                yield Span(*match.span(group)), kind
    yield from _named_values(text, lower)


@lru_cache(maxsize=2048)
def _needles_in(line: str) -> tuple[int, ...]:
    """The rows of the table of tokens, and after them those of `_SEARCHES`, that may find something in a line.

    The line is in lower case. Most lines of a text have been seen before: in its former version, or in another job.
    """
    words = " ".join(_LONG_WORDS.findall(line))
    forms = [number for needle, number in _needles_of_forms() if needle in words] if words else []
    return (*forms, *(len(_rows()) + number for part, number in _PARTS_OF_SEARCHES if part in line))


def is_placeholder(value: str) -> bool:
    """Whether a value only says that a secret belongs there, or is an example of documentation."""
    if _PLACEHOLDER.fullmatch(value) or _SAYS_SO.search(value) or len(set(value)) <= 2:
        return True
    return _WORDS_OF_SECRETS.issuperset(words_of(value)) and value[0].isalpha()


def words_of(name: str) -> list[str]:
    """The words of a name such as `apiKey` or `API_KEY`, in lower case."""
    return [word.lower() for word in _NAME_WORD.findall(name)]


def _of_form(text: str, pattern: re.Pattern[str], entropy: float, kind: str) -> Iterator[tuple[Span, str]]:
    for match in pattern.finditer(text):
        # A group that is nearly all of the match is the token without the signs around it.
        group = 1 if pattern.groups and match[1] and 2 * len(match[1]) > len(match[0]) else 0
        value = match[group]
        if _entropy(value) >= entropy and not is_placeholder(value):
            # The form may be a part of a longer word, of which nothing is shown.
            yield Span(match.start(group), _REST.match(text, match.end(group)).end()), kind


def _named_values(text: str, lower: str) -> Iterator[tuple[Span, str]]:
    """The values after names of secrets; a value is not searched for further ones, so that the time is linear."""
    done = 0
    for start in sorted({start for needle in _NEEDLES for start in places_of(needle, lower)}):
        name = _NAMED.match(text, start) if start >= done else None
        value = _value_after(text, name) if name else None
        if name and value and (kind := _kind_of_value(text, name, value[value.lastindex or 0])):
            done = _REST.match(text, value.end()).end()
            yield Span(value.start(value.lastindex or 0), done), kind


def _value_after(text: str, name: re.Match[str]) -> re.Match[str] | None:
    end = name.end() + _LONGEST_VALUE
    line = None
    if name[2].strip() in ("=", ":") and _is_first_in_line(text, name):
        line = _REST_OF_LINE.match(text, name.end(), end)
    return line or _VALUE.match(text, name.end(), end)


def _is_first_in_line(text: str, name: re.Match[str]) -> bool:
    begin = text.rfind("\n", max(0, name.start() - _LONGEST_NAME), name.start()) + 1
    is_whole = begin > 0 or name.start() <= _LONGEST_NAME
    return is_whole and _BEGIN_OF_LINE.fullmatch(text, begin, name.start()) is not None


def places_of(part: str, text: str) -> Iterator[int]:
    """Where a text begins in another one."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _kind_of_value(text: str, match: re.Match[str], value: str) -> str:
    """What kind of secret the value after a name is; empty for none."""
    before = _NAME_BEFORE.search(text, max(0, match.start() - _LONGEST_NAME), match.start())
    name = (before[0] if before else "") + match[1]
    start = match.end(1) - len(name)
    is_option = name.startswith("--")
    separator = match[2].strip()
    kind = kind_of_name(name)
    # The second is how yacs is given a key, as in `LOGGER.COMET.API_KEY x`.
    is_set = separator in ("", "=") and bool(_SETS.search(text, max(0, start - _LONGEST_COMMAND), start))
    is_set = is_set or (not separator and "." in name and name.isupper())
    if not separator and not is_option and not (is_set and (kind or name.lower() == "pass")):
        return ""
    is_folder = name.lower() == "pwd" and _FOLDERS.fullmatch(value) is not None  # the working folder
    if not kind and not is_folder and _may_be_password(name, is_set=is_set):
        kind = "a password" if _MIXED.fullmatch(value) else ""
    if not kind and name.lower() == "key" and text[start - 1 : start] in ("?", "&"):
        kind = "a key"
    is_plain = separator in ("=", ":-", "") and (is_option or is_set or name.isupper())
    is_plain = is_plain or bool(_HEADER.search(text, max(0, start - _LONGEST_HEADER), start))
    if not is_plain and match[2] == "=" and any(one.isdigit() for one in value):
        # As in `db.password=x`, which Hydra and Helm are given, and in lines of files.
        is_setting = "." in name and not name.startswith("self.")
        is_plain = is_setting or (not value.islower() and _is_first_in_line(text, match))
    if not kind and is_plain and _LONG_KEY.fullmatch(value) and not _is_other_key(name):
        kind = "a key"
    if not kind or value[0].isspace() or is_placeholder(value) or _ELSEWHERE.match(value) or _NOT_LITERAL.search(value):
        return ""
    if not is_plain and _EXPRESSION.fullmatch(value):
        return ""
    if kind == "a password":
        return kind if _can_be_password(value, is_plain=is_plain) else ""
    if _NAME_OF_SECRET.fullmatch(value) or _PAIR_OF_NAMES.fullmatch(value) or any(map(str.isspace, value)):
        return ""
    return kind if _can_be_token(value, name, is_plain=is_plain) else ""


def _may_be_password(name: str, *, is_set: bool) -> bool:
    """Whether the value after a name that is not that of a password may look like a password."""
    words = words_of(name)
    if words[-1:] in (["pwd"], ["pw"], ["mdp"]):
        return True
    is_given = name.isupper() or name.startswith("--")
    return name.lower().endswith("pass") and (is_set or (is_given and _COUNTERS.isdisjoint(words)))


def _is_other_key(name: str) -> bool:
    *owners, last = words_of(name) or [""]
    return last != "key" or not owners or not _OTHER_KEYS.isdisjoint(owners)


def _can_be_password(value: str, *, is_plain: bool) -> bool:
    """Whether a value can be a password: after an option or a variable any word, elsewhere one that is not a name."""
    if is_plain:
        return not value.isdigit() or len(value) >= 4
    if _FILE_NAME.fullmatch(value) or value.endswith(":"):
        return False
    if _APP_PASSWORD.fullmatch(value):
        return True
    has_digit = any(character.isdigit() for character in value)
    has_sign = any(character in "!@#%^&*+?=~" for character in value) or ("-" in value and not value.islower())
    return len(value) >= 6 and not value.isdigit() and (has_digit or has_sign) and "(" not in value


def _can_be_token(value: str, name: str, *, is_plain: bool) -> bool:
    """Whether a value can be a token or key: long, with letters and digits, without blanks."""
    owners = set(words_of(name)[:-1])
    has_owner = not (_KEY_OWNERS | _TOKEN_OWNERS).isdisjoint(owners)
    is_said = (is_plain and has_owner) or (
        "secret" in words_of(name) and not name.startswith("--") and not _NAME_OF_OBJECT.fullmatch(value)
    )
    shortest = _SHORTEST if is_said else _SHORTEST_ALONE
    if is_plain and name in {"--token", "--secret"} and "-" not in value:
        shortest = _SHORTEST_OPTION
    if len(value) < shortest or _FILE_NAME.fullmatch(value):
        return False
    if not (_is_random(value) or (any(one.isdigit() for one in value) and any(one.isalpha() for one in value))):
        return False
    if "abc123" in value:
        return False
    # Base64 may have '/', a path has names between them.
    return "/" not in value or (len(value) >= 20 and not value.islower() and _entropy(value) > 4)


def _is_random(letters: str) -> bool:
    """Whether letters change between large and small ones more often than in names."""
    changes = sum(one.islower() != other.islower() for one, other in pairwise(letters))
    return letters.isalpha() and 2.2 * changes > len(letters)


@cache
def kind_of_name(name: str) -> str:
    """What kind of secret a name is about: `a password`, `a token` or `a key`; empty for none."""
    *owners, last = words_of(name) or [""]
    joined = _JOINED.fullmatch(last)
    if joined:  # as in `PGPASSWORD` and `authtoken`
        owners, last = [*owners, joined[1]], joined[2]
    if last in {"pwd", "pw", "mdp"} and not owners:
        return ""
    if last in _PASSWORDS or (last == "pass" and not _PASS_OWNERS.isdisjoint(owners)):
        return "a password"
    if last in {"apikey", "accesskey", "secretkey", "privatekey"}:
        return "a key"
    if last == "key":
        return "" if _KEY_OWNERS.isdisjoint(owners) else "a key"
    if last == "token":
        return "a token" if _NO_OWNERS.isdisjoint(owners) else ""
    return "a token" if last in {"secret", "credential", "credentials"} else ""


@cache
def _rows() -> list[dict[str, Any]]:
    return list(table("secret_patterns.json")["patterns"])


@cache
def _needles_of_forms() -> tuple[tuple[str, int], ...]:
    """For each row of the table the texts in lower case of which each token has one, with the row's number."""
    return tuple((needle, number) for number, row in enumerate(_rows()) for needle in row["needles"])


@cache
def _token_form(number: int) -> tuple[re.Pattern[str], float, str]:
    """The pattern of a row of the table, its entropy in bits a character, 0 where the form is enough, and its kind."""
    row = _rows()[number]
    return lazy_pattern(row["pattern"]), row["entropy"], _kind_of_form(row["id"])


def _kind_of_form(identifier: str) -> str:
    """`github-pat` as it is named in messages: `a GitHub token`."""
    vendor, *rest = identifier.split("-")
    name = _VENDORS.get(vendor, vendor.capitalize())
    article = "an" if name[0] in "AEIO" else "a"
    return f"{article} {name} webhook" if "webhook" in rest else f"{article} {name} token"


def _entropy(value: str) -> float:
    """Shannon's entropy of the characters, in bits a character."""
    counts = (value.count(one) for one in set(value))
    return -sum(count / len(value) * log2(count / len(value)) for count in counts)
