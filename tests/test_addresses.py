"""Addresses of prerequisites outside the job."""

from __future__ import annotations

import pytest

from pai_lsp.job.lookup import (
    Address,
    AddressFault,
    AddressKind,
    displayed_path,
    looks_like_address,
    near_addresses,
    read_address,
)


@pytest.mark.parametrize(
    ("reference", "address"),
    [
        ("marketplace://name/mnist", Address(AddressKind.NAME, "mnist")),
        ("marketplace://data/mnist-2_a", Address(AddressKind.TYPE_AND_NAME, "mnist-2_a", "data")),
        ("marketplace://dockerimage/x", Address(AddressKind.TYPE_AND_NAME, "x", "dockerimage")),
        ("marketplace://prerequisites/itemId/1", Address(AddressKind.ITEM, "1")),
        ("https://example.com/a.yaml", Address(AddressKind.WEB, "https://example.com/a.yaml")),
        ("http://10.0.0.1:8080/a?b=c#d", Address(AddressKind.WEB, "http://10.0.0.1:8080/a?b=c#d")),
        ("http://[::1]/a", Address(AddressKind.WEB, "http://[::1]/a")),
    ],
)
def test_right(reference: str, address: Address) -> None:
    assert read_address(reference) == address


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        ("marketplace://mnist", "marketplace://name/mnist"),
        ("marketplace:/name/mnist", "marketplace://name/mnist"),
        ("marketplace:name/mnist", "marketplace://name/mnist"),
        ("market_place://name/mnist", "marketplace://name/mnist"),
        ("marketplace://names/mnist", "marketplace://name/mnist"),
        ("marketplace://dockerImage/mnist", "marketplace://dockerimage/mnist"),
        ("marketplace://itemId/7", "marketplace://prerequisites/itemId/7"),
        ("marketplace://prerequisites/items/7", "marketplace://prerequisites/itemId/7"),
        ("marketplace://prerequisites/itemId/", ""),
        ("marketplace://prerequisites/itemId", ""),
        ("marketplace://name/../../x", ""),
        ("marketplace://name/a b", ""),
        ("marketplace://name/", ""),
        ("marketplace://name", ""),
        ("marketplace://", ""),
        ("marketplace:///x", ""),
        ("ftp://example.com/x", ""),
        ("gopher://example.com/x", ""),
        ("https://", ""),
        ("https://a b/c", ""),
        ("://name", ""),
        ("data/mnist", ""),
        ("/x", ""),
    ],
)
def test_wrong(reference: str, meant: str) -> None:
    fault = read_address(reference)
    assert isinstance(fault, AddressFault)
    assert fault.message
    assert fault.meant == meant
    assert not meant or isinstance(read_address(meant), Address)


FORMS = "'marketplace://name/NAME', 'marketplace://TYPE/NAME' or 'marketplace://prerequisites/itemId/ID'"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("marketplace:/name/a", "an address must begin with 'marketplace://', not 'marketplace:/'"),
        ("https//a.b", "an address must begin with 'https://', not 'https//'"),
        ("ftp://x", "'ftp://x' must begin with 'marketplace://', 'https://' or 'http://'"),
        ("https:// a", "'https:// a' is not a valid URL"),
        ("/x", f"'/x' is neither a name nor an address; expected a name or {FORMS}"),
        ("marketplace://tool", "expected 'marketplace://name/tool'"),
        ("marketplace://dat/a b", f"'dat' is not a kind of address; expected {FORMS}; did you mean 'data'?"),
        ("marketplace://zzz/a", f"'zzz' is not a kind of address; expected {FORMS}"),
        ("marketplace:///x", f"'marketplace:///x' is not an address; expected {FORMS}"),
        ("marketplace://name/", "a name is missing after 'marketplace://name/'"),
        ("marketplace://data/a/b", "'a/b' is not a prerequisite name; only letters, digits, '_' and '-' are allowed"),
        ("marketplace://itemId/7", "the address of a marketplace item must be 'marketplace://prerequisites/itemId/ID'"),
    ],
)
def test_what_is_said_of_a_wrong_address(reference: str, message: str) -> None:
    fault = read_address(reference)
    assert isinstance(fault, AddressFault)
    assert fault.message == message


@pytest.mark.parametrize(
    ("path", "folder", "shown"),
    [("/a/b/c", "/a", "b/c"), ("/ab/c", "/a", "/ab/c"), ("https://a/b", "/a", "https://a/b"), ("/x", "", "/x")],
)
def test_paths_in_messages(path: str, folder: str, shown: str) -> None:
    assert displayed_path(path, folder) == shown


def test_what_looks_like_an_address() -> None:
    assert looks_like_address("data/x")
    assert looks_like_address("a:b")
    assert not looks_like_address("mnist_2-a")


def test_near_addresses_are_near_in_their_names() -> None:
    known = ("marketplace://name/mnist", "marketplace://name/imagenet", "marketplace://data/mnist")
    assert near_addresses("marketplace://name/mnits", known) == ("marketplace://name/mnist",)
    assert near_addresses("marketplace://data/mnits", known) == ("marketplace://data/mnist",)
    assert near_addresses("marketplace://name/tools", known) == ()
    assert near_addresses("marketplace://script/mnist", known) == ("marketplace://name/mnist",)
    assert near_addresses("marketplace://prerequisites/itemId/mnits", known) == ()
