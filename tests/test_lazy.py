"""A lazy property is computed once, and the computation for one object does not block another object."""

from __future__ import annotations

from threading import Barrier, Event, Thread

from pai_lsp.source.frozen import lazy

TIMEOUT = 100


class Text:
    def __init__(self) -> None:
        self.begun, self.may_end, self.count = Event(), Event(), 0

    @lazy
    def tree(self) -> object:
        """The tree of the text."""
        self.count += 1
        self.begun.set()
        assert self.may_end.wait(TIMEOUT)
        return object()


def test_threads_that_ask_at_the_same_time_get_the_same_value() -> None:
    text, found, ready = Text(), list[object](), Barrier(3)

    def ask() -> None:
        ready.wait(TIMEOUT)
        found.append(text.tree)

    threads = [Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    ready.wait(TIMEOUT)
    assert text.begun.wait(TIMEOUT)
    text.may_end.set()
    for thread in threads:
        thread.join(TIMEOUT)
    assert found == [text.tree, text.tree]
    assert text.count == 1


def test_a_slow_computation_does_not_block_another_object() -> None:
    slow, quick = Text(), Text()
    thread = Thread(target=lambda: slow.tree)
    thread.start()
    assert slow.begun.wait(TIMEOUT)
    quick.may_end.set()
    assert quick.tree is quick.tree
    slow.may_end.set()
    thread.join(TIMEOUT)
    assert (slow.count, quick.count) == (1, 1)


def test_it_has_the_docstring_of_its_function() -> None:
    assert Text.tree.__doc__ == "The tree of the text."
