"""The command line.

Exit statuses: 0 for success, those below, and `OWN_FAILURE` of source/failures.py.
"""

FINDINGS = 1
WRONG_USAGE = 2


def json_text(answer: object) -> str:
    """What a subcommand prints with `--format json`.

    A value that JSON does not have, such as a date, becomes its text, and half a surrogate pair its escape.
    """
    import json  # noqa: PLC0415 - a check that prints text does without

    text = json.dumps(answer, indent=2, ensure_ascii=False, default=str)
    return text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n"
