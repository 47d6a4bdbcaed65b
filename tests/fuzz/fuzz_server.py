"""Types, pastes, deletes and asks at random through a whole server, for as long as one likes: `make fuzz`.

    python tests/fuzz/fuzz_server.py [--minutes 5] [--seed N]

Each round opens a job or a beginning of one, edits it in a unit of columns of its own, asks for every feature at random
places, cancels some of the questions, and ends with a comparison: what the server has published must be what a fresh
check of the same text gives. A round that fails is reported with its seed and its text, and the status is 1.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' own modules

from random_edits import assert_sound, job_texts, no_failures, random_edit
from server_client import CAPABILITIES, URI, Client

from pai_lsp.lsp import features
from pai_lsp.lsp.checks import diagnostics_of
from pai_lsp.lsp.convert import path_of
from pai_lsp.lsp.documents import OpenDocument
from pai_lsp.source.text import ColumnUnit

ROUNDS_OF_CHANGES = 12
# A text of this size is checked in milliseconds; what takes this long (in seconds) would be felt in an editor.
SLOW = 2.0
CANCELLED = -32800
REFUSED = -32803


class Round:
    """One document in one server; `text` is what the client has typed so far."""

    def __init__(self, seed: int, texts: dict[str, str]) -> None:
        self.source = random.Random(seed)  # noqa: S311 - nothing to keep secret
        self.unit = self.source.choice(list(ColumnUnit))
        text = self.source.choice(sorted(texts.values()))
        self.text = text[: self.source.randint(0, len(text))] if self.source.random() < 0.5 else text
        self.version = 1

    async def run(self) -> None:
        """Raise when anything does not hold."""
        client = Client()
        general = {"positionEncodings": [self.unit.value]}
        await client.ask("initialize", processId=None, rootUri=None, capabilities={**CAPABILITIES, "general": general})
        client.send(client.notification("initialized"))
        client.open(self.text)
        for _ in range(self.source.randint(1, ROUNDS_OF_CHANGES)):
            self._type(client)
            await self._ask(client)
        await self._compare(client)
        await client.ask("shutdown")
        client.send({"method": "exit"})
        assert await client.serving == 0

    def _type(self, client: Client) -> None:
        changes: list[dict[str, Any]] = []
        for _ in range(self.source.randint(1, 3)):
            edit = random_edit(self.text, self.source)
            changes.append(edit.change(self.text, self.unit))
            self.text = edit.applied(self.text)
        self.version += 1
        client.change(*changes, version=self.version)

    async def _ask(self, client: Client) -> None:
        """Ask some questions; each gets an answer, and an error only when it was cancelled or is a rename refused."""
        asked = [self._question(client) for _ in range(self.source.randint(0, 3))]
        client.send(*asked)
        cancelled = [question for question in asked if self.source.random() < 0.2]
        client.send(*({"method": "$/cancelRequest", "params": {"id": question["id"]}} for question in cancelled))
        for question in asked:
            answer = await client.answer(question)
            code = answer["error"]["code"] if "error" in answer else None
            is_refused = code == REFUSED and question["method"] == "textDocument/rename"
            assert code is None or is_refused or (code == CANCELLED and question in cancelled), (question, answer)

    def _question(self, client: Client) -> dict[str, Any]:
        start, end = self._position(), self._position()
        feature = self.source.choice([one for one in features.DOCUMENT_FEATURES if one.method.startswith("text")])
        return client.question(
            feature.method,
            textDocument={"uri": URI},
            position=start,
            range={"start": start, "end": end},
            context={"diagnostics": [], "includeDeclaration": True, "triggerKind": 1},
            options={"tabSize": 2, "insertSpaces": True},
            positions=[start, end],
            newName="renamed",
            ch=":",
        )

    def _position(self) -> dict[str, int]:
        return {"line": self.source.randint(0, self.text.count("\n") + 1), "character": self.source.randint(0, 90)}

    async def _compare(self, client: Client) -> None:
        # A change that changes nothing: the answer to it is the last one.
        self.version += 1
        client.change(version=self.version)
        published = await client.published(version=self.version)
        session = client.server.protocol.session
        assert session.documents[URI].text == self.text, "the server's text is not the client's"
        began = time.thread_time()
        document = OpenDocument(URI, self.version, "yaml", self.text, path_of(URI), session.client)
        fresh = diagnostics_of(document)
        assert time.thread_time() - began < SLOW, "a check was slow"
        assert published == client.server.protocol._converter.unstructure(fresh), "not what a fresh check gives"
        assert_sound(document.document)


def main() -> int:
    """Run rounds until the time is over or one fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="where to begin (default: the time)")
    arguments = parser.parse_args()
    texts = job_texts()
    end = time.monotonic() + arguments.minutes * 60
    seed = arguments.seed
    while time.monotonic() < end:
        one = Round(seed, texts)
        try:
            with no_failures():
                asyncio.run(one.run())
        except Exception:  # noqa: BLE001 - whatever it is, it is what we look for
            traceback.print_exc()
            sys.stdout.write(
                f"failed: --seed {seed}, {one.unit.value}, version {one.version}, with this text:\n{one.text!r}\n"
            )
            return 1
        seed += 1
        if (seed - arguments.seed) % 100 == 0:
            sys.stdout.write(f"{seed - arguments.seed} rounds\n")
    sys.stdout.write(f"{seed - arguments.seed} rounds, from seed {arguments.seed} on, and nothing found\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
