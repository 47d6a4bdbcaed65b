"""Addresses of prerequisites outside the job."""

from __future__ import annotations

import pytest

from pai_lsp.job.lookup import Address, AddressFault, AddressKind, looks_like_address, near_addresses, read_address


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
