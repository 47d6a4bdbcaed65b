"""The reports for programs: JSON, SARIF and GitHub's workflow commands."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from pai_lsp.cli.report import FORMATS, render
from pai_lsp.cli.report.results import CheckedFile, CheckFailure, Results, fingerprints
from pai_lsp.cli.report.terminal import Terminal
from pai_lsp.findings import diagnostic as diagnostic_module
from pai_lsp.findings.diagnostic import Consequence, Diagnostic, Fix, Related, Rule, Severity, Stage, causes
from pai_lsp.job.hidden import with_hidden
from pai_lsp.source.text import Span, TextEdit

JOB = "name: 训练😀\r\ntype: jobb\r\nsecrets:\r\n  key: topsecret\r\n"
SECRET = Span(JOB.index("topsecret"), JOB.index("topsecret") + len("topsecret"))
URL = "https://pai-lsp.example/rules/"

WRONG_TYPE = Diagnostic(
    "invalid-enum",
    Severity.ERROR,
    Span(17, 21),
    "'type' must be 'job', not the string 'jobb'",
    fixes=(Fix("Change to 'job'", (TextEdit(Span(17, 21), "job"),), safe=True),),
    related=(Related(Span(0, 4), "the job"), Related(Span(0, 1), "elsewhere", "other.yaml")),
    consequence=Consequence.REFUSED,
)
ODD_NAME = Diagnostic("odd-name", Severity.HINT, Span(6, 9), "an odd name", consequence=Consequence.STYLE)
RULES = (
    Rule(
        "invalid-enum",
        Severity.ERROR,
        lambda _job: (),
        "A value is none of those allowed.\n\nMore.",
        Stage.SERVER,
        Consequence.REFUSED,
        former=("wrong-enum",),
    ),
)


@pytest.fixture(autouse=True)
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reports as they are once the pages of the rules are published; see the last test for now."""
    monkeypatch.setattr(diagnostic_module, "RULE_PAGES", URL)


def report(
    name: str, *files: CheckedFile, folder: str = "/home/me/work", failures: tuple[CheckFailure, ...] = ()
) -> str:
    return render(name, Results(files, failures, folder=folder), Terminal(), RULES)


def one_file(*diagnostics: Diagnostic, path: str = "a b/x.yaml") -> CheckedFile:
    hidden = (SECRET,)
    return CheckedFile(path, with_hidden(JOB, hidden), diagnostics, hidden, {"other.yaml": "name: y\n"})


def test_json() -> None:
    loaded = json.loads(report("json", one_file(ODD_NAME, WRONG_TYPE), CheckedFile("b.yaml", "")))
    assert loaded == {
        "version": 1,
        "files": 2,
        "diagnostics": [
            {
                "path": "a b/x.yaml",
                "code": "odd-name",
                "severity": "hint",
                "consequence": "style",
                "message": "an odd name",
                "start": {"line": 1, "column": 7, "offset": 6},
                "end": {"line": 1, "column": 10, "offset": 9},
                "url": f"{URL}odd-name/",
                "fixable": False,
                "related": [],
            },
            {
                "path": "a b/x.yaml",
                "code": "invalid-enum",
                "severity": "error",
                "consequence": "refused",
                "message": "'type' must be 'job', not the string 'jobb'",
                "start": {"line": 2, "column": 7, "offset": 17},
                "end": {"line": 2, "column": 11, "offset": 21},
                "url": f"{URL}invalid-enum/",
                "fixable": True,
                "related": [
                    {
                        "path": "a b/x.yaml",
                        "message": "the job",
                        "start": {"line": 1, "column": 1, "offset": 0},
                        "end": {"line": 1, "column": 5, "offset": 4},
                    },
                    {
                        "path": "other.yaml",
                        "message": "elsewhere",
                        "start": {"line": 1, "column": 1, "offset": 0},
                        "end": {"line": 1, "column": 2, "offset": 1},
                    },
                ],
            },
        ],
    }


def test_json_of_nothing_and_of_a_related_file_that_is_not_at_hand() -> None:
    assert json.loads(report("json")) == {"version": 1, "files": 0, "diagnostics": []}
    alone = CheckedFile("x.yaml", JOB, (WRONG_TYPE,))
    related = json.loads(report("json", alone))["diagnostics"][0]["related"][1]
    assert related == {"path": "other.yaml", "message": "elsewhere", "start": None, "end": None}


def test_json_is_ascii_and_has_a_line_for_each_diagnostic() -> None:
    text = report("json", one_file(ODD_NAME, Diagnostic("odd-name", Severity.ERROR, Span(6, 9), "训练")))
    assert text.isascii()
    assert len(text.splitlines()) == 4


def test_a_name_that_is_no_utf8_goes_into_every_format() -> None:
    file = one_file(ODD_NAME, path="caf\udce9.yaml")
    for name in FORMATS:
        assert "caf" in report(name, file)
    assert uri_of(report("sarif", file)) == {"uri": "caf%E9.yaml", "uriBaseId": "%SRCROOT%"}


def test_github() -> None:
    several_lines = Diagnostic("long-one", Severity.WARNING, Span(0, 21), "100% wrong:\nreally")
    assert report("github", one_file(ODD_NAME, WRONG_TYPE, several_lines, path="a,b:c/50%.yaml")) == (
        f"::notice title=pai-lsp%3A odd-name,file=a%2Cb%3Ac/50%25.yaml,line=1,endLine=1,col=7,endColumn=10::"
        f"an odd name ({URL}odd-name/)\n"
        f"::error title=pai-lsp%3A invalid-enum,file=a%2Cb%3Ac/50%25.yaml,line=2,endLine=2,col=7,endColumn=11::"
        f"'type' must be 'job', not the string 'jobb' ({URL}invalid-enum/)\n"
        f"::warning title=pai-lsp%3A long-one,file=a%2Cb%3Ac/50%25.yaml,line=1,endLine=2::"
        f"100%25 wrong:%0Areally ({URL}long-one/)\n"
    )
    assert report("github", one_file()) == ""


def test_gitlab() -> None:
    entries = json.loads(report("gitlab", one_file(ODD_NAME, WRONG_TYPE, ODD_NAME, path="./jobs/x.yaml")))
    hint, error, again = entries
    assert error == {
        "description": f"'type' must be 'job', not the string 'jobb' ({URL}invalid-enum/)",
        "check_name": "invalid-enum",
        "fingerprint": error["fingerprint"],
        "severity": "critical",
        "location": {"path": "jobs/x.yaml", "lines": {"begin": 2, "end": 2}},
    }
    assert hint["severity"] == "info"
    assert len({entry["fingerprint"] for entry in entries}) == 3
    assert all(len(entry["fingerprint"]) == 64 for entry in entries)
    assert {**again, "fingerprint": hint["fingerprint"]} == hint
    assert report("gitlab", one_file()) == "[]\n"


def test_a_finding_is_the_same_to_gitlab_on_another_line() -> None:
    moved = Diagnostic(WRONG_TYPE.code, Severity.ERROR, Span(24, 31), WRONG_TYPE.message)
    one, other = (json.loads(report("gitlab", one_file(found)))[0] for found in (WRONG_TYPE, moved))
    assert one["location"] != other["location"]
    assert one["fingerprint"] == other["fingerprint"]


def test_a_finding_is_the_same_to_later_versions() -> None:
    """What a service has stored about a finding is lost with its fingerprint."""
    found = [Diagnostic("a-rule", Severity.ERROR, Span(at, at + 1), "wrong") for at in range(2)]
    results = Results((CheckedFile("./jobs/a.yaml", "abc", tuple(found)),))
    assert [one for _, one in fingerprints(results)] == [
        sha256(f"jobs/a.yaml\0a-rule\0wrong\0{number}".encode()).hexdigest() for number in (1, 2)
    ]


def test_one_more_place_of_a_cause_makes_no_new_finding() -> None:
    found = [Diagnostic("a-rule", Severity.ERROR, Span(at, at + 1), "wrong", cause="x") for at in range(3)]
    two, three = (json.loads(report("gitlab", one_file(*causes(found[:count]))))[0] for count in (2, 3))
    assert ("(and 1 more place)" in two["description"], "(and 2 more places)" in three["description"]) == (True, True)
    assert two["fingerprint"] == three["fingerprint"]


# The parts of the SARIF 2.1.0 schema that our logs use: the properties there are, the required ones, and their types.
# Source: OASIS, sarif-schema-2.1.0.json.
TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "markdown": {"type": "string"}},
    "required": ["text"],
}
MESSAGE = {"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": False}
POSITIVE = {"type": "integer", "minimum": 1}
REGION = {
    "type": "object",
    "properties": {"startLine": POSITIVE, "startColumn": POSITIVE, "endLine": POSITIVE, "endColumn": POSITIVE},
    "additionalProperties": False,
}
ARTIFACT = {
    "type": "object",
    "properties": {
        "uri": {"type": "string", "pattern": r"^([A-Za-z0-9._~:/?#@!$&'()*+,;=-]|%[0-9A-F]{2})+$"},
        "uriBaseId": {"const": "%SRCROOT%"},
    },
    "additionalProperties": False,
}
LOCATION = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 0},
        "message": MESSAGE,
        "physicalLocation": {
            "type": "object",
            "properties": {"artifactLocation": ARTIFACT, "region": REGION},
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
FIX = {
    "type": "object",
    "properties": {
        "description": MESSAGE,
        "artifactChanges": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "artifactLocation": ARTIFACT,
                    "replacements": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "object",
                            "properties": {"deletedRegion": REGION, "insertedContent": MESSAGE},
                            "required": ["deletedRegion"],
                            "additionalProperties": False,
                        },
                    },
                },
                "required": ["artifactLocation", "replacements"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["artifactChanges"],
    "additionalProperties": False,
}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
RULE = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "deprecatedIds": {"type": "array", "uniqueItems": True, "minItems": 0, "items": {"type": "string"}},
        "helpUri": {"type": "string", "format": "uri"},
        "shortDescription": TEXT,
        "fullDescription": TEXT,
        "help": TEXT,
        "defaultConfiguration": {"type": "object", "properties": {"level": LEVEL}, "additionalProperties": False},
        "properties": {
            "type": "object",
            "properties": {"tags": {"type": "array", "uniqueItems": True, "items": {"type": "string"}}},
        },
    },
    "required": ["id"],
    "additionalProperties": False,
}
RESULT = {
    "type": "object",
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "message": MESSAGE,
        "locations": {"type": "array", "items": LOCATION},
        "relatedLocations": {"type": "array", "uniqueItems": True, "items": LOCATION},
        "fixes": {"type": "array", "uniqueItems": True, "items": FIX},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "properties": {"type": "object"},
    },
    "required": ["message"],
    "additionalProperties": False,
}
INVOCATION = {
    "type": "object",
    "properties": {
        "executionSuccessful": {"type": "boolean"},
        "toolExecutionNotifications": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"level": LEVEL, "message": MESSAGE, "locations": {"type": "array", "items": LOCATION}},
                "required": ["message"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["executionSuccessful"],
    "additionalProperties": False,
}
RUN = {
    "type": "object",
    "properties": {
        "tool": {
            "type": "object",
            "properties": {
                "driver": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "version": {"type": "string"},
                        "informationUri": {"type": "string", "format": "uri"},
                        "rules": {"type": "array", "uniqueItems": True, "items": RULE},
                    },
                    "required": ["name"],
                    "additionalProperties": False,
                }
            },
            "required": ["driver"],
            "additionalProperties": False,
        },
        "invocations": {"type": "array", "items": INVOCATION},
        "originalUriBaseIds": {"type": "object", "additionalProperties": {"type": "object"}},
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "newlineSequences": {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "string"}},
        "results": {"type": "array", "items": RESULT},
    },
    "required": ["tool"],
    "additionalProperties": False,
}
SARIF = {
    "type": "object",
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": RUN},
    },
    "required": ["version", "runs"],
    "additionalProperties": False,
}


def sarif(
    *files: CheckedFile, folder: str = "/home/me/work", failures: tuple[CheckFailure, ...] = ()
) -> dict[str, Any]:
    log = json.loads(report("sarif", *files, folder=folder, failures=failures))
    jsonschema.validate(log, SARIF)
    run: dict[str, Any] = log["runs"][0]
    return run


def uri_of(log: str) -> dict[str, str]:
    location = json.loads(log)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert isinstance(location, dict)
    return location


def test_sarif() -> None:
    run = sarif(one_file(ODD_NAME, WRONG_TYPE))
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == "file:///home/me/work/"
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["odd-name", "invalid-enum"]
    described = run["tool"]["driver"]["rules"][1]
    assert described["shortDescription"] == {"text": "A value is none of those allowed."}
    assert described["helpUri"] == f"{URL}invalid-enum/"
    assert described["defaultConfiguration"] == {"level": "error"}
    assert described["deprecatedIds"] == ["wrong-enum"]
    assert described["properties"] == {
        "precision": "high",
        "tags": ["structure"],
        "stage": "server",
        "consequence": "refused",
        "status": "stable",
    }

    hint, error = run["results"]
    assert (hint["ruleId"], hint["ruleIndex"], hint["level"]) == ("odd-name", 0, "note")
    assert (error["ruleId"], error["ruleIndex"], error["level"]) == ("invalid-enum", 1, "error")
    place = error["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b/x.yaml", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 2, "startColumn": 7, "endLine": 2, "endColumn": 11}
    here, elsewhere = error["relatedLocations"]
    assert (here["id"], here["message"]["text"]) == (1, "the job")
    assert elsewhere["physicalLocation"]["artifactLocation"]["uri"] == "other.yaml"
    assert elsewhere["physicalLocation"]["region"]["endColumn"] == 2
    replacement = error["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert replacement == {"deletedRegion": place["region"], "insertedContent": {"text": "job"}}
    assert "fixes" not in hint


@pytest.mark.parametrize(
    ("path", "folder", "expected"),
    [
        ("x.yaml", "/home/me/work", {"uri": "x.yaml", "uriBaseId": "%SRCROOT%"}),
        ("./a/../b/x.yaml", "/home/me/work", {"uri": "b/x.yaml", "uriBaseId": "%SRCROOT%"}),
        ("/home/me/work/x.yaml", "/home/me/work", {"uri": "x.yaml", "uriBaseId": "%SRCROOT%"}),
        ("/home/me/work2/x.yaml", "/home/me/work", {"uri": "file:///home/me/work2/x.yaml"}),
        ("../x#y.yaml", "/home/me/work", {"uri": "file:///home/me/x%23y.yaml"}),
        ("训.yaml", "/home/me/work", {"uri": "%E8%AE%AD.yaml", "uriBaseId": "%SRCROOT%"}),
        ("<stdin>", "/", {"uri": "%3Cstdin%3E", "uriBaseId": "%SRCROOT%"}),
        ("marketplace://a/b", "/home/me/work", {"uri": "marketplace://a/b"}),
    ],
)
@pytest.mark.skipif(Path("/").as_uri() != "file:///", reason="the paths are those of POSIX")
def test_sarif_addresses(path: str, folder: str, expected: dict[str, str]) -> None:
    assert uri_of(report("sarif", one_file(ODD_NAME, path=path), folder=folder)) == expected


def test_sarif_of_a_failure() -> None:
    run = sarif(one_file(), failures=(CheckFailure("b.yaml", "KeyError in somewhere, line 3"),))
    invocation = run["invocations"][0]
    assert invocation["executionSuccessful"] is False
    notification = invocation["toolExecutionNotifications"][0]
    assert "KeyError in somewhere, line 3" in notification["message"]["text"]
    assert notification["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "b.yaml"


def test_no_format_tells_a_hidden_value() -> None:
    quoted = Fix("Quote it", (TextEdit(SECRET, "'topsecret'"),), safe=True)
    found = Diagnostic("some-rule", Severity.ERROR, SECRET, "quote it", fixes=(quoted,))
    for name in FORMATS:
        shown = report(name, one_file(found))
        assert "topsecret" not in shown
        assert "quote it" in shown
    assert "  key: *********" in report("text", one_file(found))
    assert "fixes" not in sarif(one_file(found))["results"][0]


def test_sarif_for_code_scanning() -> None:
    """A rule about secrets is one about security; an edit above a finding does not make it a new one."""
    first = Diagnostic("secret-in-clear", Severity.WARNING, Span(6, 9), "a password")
    moved = Diagnostic("secret-in-clear", Severity.WARNING, Span(17, 21), "a password")
    run = sarif(one_file(first, moved))
    properties = run["tool"]["driver"]["rules"][0]["properties"]
    assert properties == {"precision": "high", "tags": ["secrets", "security"], "security-severity": "6.0"}
    prints = [result["partialFingerprints"]["paiLspFinding/v1"] for result in run["results"]]
    assert len(set(prints)) == 2
    assert sarif(one_file(moved))["results"][0]["partialFingerprints"]["paiLspFinding/v1"] == prints[0]


def test_ndjson() -> None:
    lines = report("ndjson", one_file(ODD_NAME, WRONG_TYPE), CheckedFile("b.yaml", "")).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(report("json", one_file(ODD_NAME, WRONG_TYPE)))[
        "diagnostics"
    ]
    assert report("ndjson", one_file()) == ""


def test_azure() -> None:
    odd = Diagnostic("long-one", Severity.WARNING, Span(0, 21), "100% wrong;\nreally")
    assert report("azure", one_file(WRONG_TYPE, odd, path="a;b]/50%.yaml")) == (
        "##vso[task.logissue type=error;sourcepath=a%3Bb%5D/50%AZP25.yaml;linenumber=2;columnnumber=7;"
        "code=invalid-enum;]"
        f"'type' must be 'job', not the string 'jobb' ({URL}invalid-enum/)\n"
        "##vso[task.logissue type=warning;sourcepath=a%3Bb%5D/50%AZP25.yaml;linenumber=1;columnnumber=1;code=long-one;]"
        f"100%AZP25 wrong;%0Areally ({URL}long-one/)\n"
    )
    assert report("azure", one_file()) == ""


def test_junit() -> None:
    odd = Diagnostic("long-one", Severity.WARNING, Span(0, 21), "<&> \x1b \x00")
    root = ElementTree.fromstring(report("junit", one_file(WRONG_TYPE, odd), CheckedFile("b.yaml", "")))  # noqa: S314 - ours
    assert dict(root.attrib) == {"name": "pai-lsp", "tests": "3", "failures": "2", "errors": "0"}
    with_findings, without = root
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in root] == [
        ("a b/x.yaml", "2", "2"),
        ("b.yaml", "1", "0"),
    ]
    assert [case.get("name") for case in with_findings] == ["invalid-enum at 2:7", "long-one at 1:1"]
    assert [(one.get("type"), one.get("message")) for one in with_findings.iter("failure")] == [
        ("error", "'type' must be 'job', not the string 'jobb'"),
        ("warning", "<&> ␛ ␀"),
    ]
    assert not list(without.iter("failure"))


def test_rdjson() -> None:
    """Columns count bytes: the name before the finding is two Chinese characters, of three bytes each."""
    wide = Diagnostic("wide", Severity.HINT, Span(8, 9), "an emoji")
    found = json.loads(report("rdjson", one_file(wide, WRONG_TYPE)))
    emoji, wrong = found["diagnostics"]
    assert emoji["location"]["range"] == {"start": {"line": 1, "column": 13}, "end": {"line": 1, "column": 17}}
    assert wrong == {
        "message": "'type' must be 'job', not the string 'jobb'",
        "location": {
            "path": "a b/x.yaml",
            "range": {"start": {"line": 2, "column": 7}, "end": {"line": 2, "column": 11}},
        },
        "severity": "ERROR",
        "code": {"value": "invalid-enum", "url": f"{URL}invalid-enum/"},
        "suggestions": [
            {"range": {"start": {"line": 2, "column": 7}, "end": {"line": 2, "column": 11}}, "text": "job"}
        ],
    }


def test_hiding_keeps_every_place() -> None:
    text = "a: b c\r\n  d训"
    assert with_hidden(text, (Span(3, 6), Span(5, 12))) == "a: * *\r\n  **"
    assert with_hidden(text, ()) == text


def test_annotations_hold_no_control_characters() -> None:
    """Whoever names a key cannot write to the terminal of a log, and begins no second command."""
    name = "\x1b]0;pwned\x07\x1b[2J\u202e\r\n::error::x"
    finding = Diagnostic("unknown-key", Severity.ERROR, Span(6, 9), f"unknown key '{name}'")
    for style in ("github", "azure"):
        lines = report(style, one_file(ODD_NAME, finding, path=f"{name}.yaml")).removesuffix("\n").split("\n")
        assert all(line.isprintable() and line.startswith(("::error ", "::notice ", "##vso[task.")) for line in lines)


def test_without_pages_reports_name_the_command_that_explains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostic_module, "RULE_PAGES", "")
    for name in FORMATS:
        assert "http" not in report(name, one_file(WRONG_TYPE)).replace("https://json.schemastore.org", "").replace(
            "https://docs.oasis-open.org", ""
        )
    for name in ("github", "azure", "gitlab", "junit"):
        assert "(pai-lsp explain invalid-enum)" in report(name, one_file(WRONG_TYPE))
    assert json.loads(report("json", one_file(WRONG_TYPE)))["diagnostics"][0]["url"] is None
