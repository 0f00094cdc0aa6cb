"""Where keys come from, and what is said when they do not."""

import os
import sys
import types

import pytest

from gitagent.core.settings import Provider
from gitagent.errors import UserError
from gitagent.model.credentials import Credentials

KEY = "sk-planted-0123456789"


def read(provider, environ=None):
    return Credentials(environ or {}).key("one", provider)


def refusal(provider, environ=None):
    with pytest.raises(UserError) as caught:
        read(provider, environ)
    assert KEY not in caught.value.line()
    assert "\n" not in caught.value.line()
    assert caught.value.hint
    return caught.value.line()


def test_a_key_comes_from_the_environment():
    known = Credentials({"K": f" {KEY}\n"})

    assert KEY == known.key("one", Provider(key_env="K"))
    assert {KEY} == known.seen
    assert "" == read(Provider())


@pytest.mark.parametrize("environ", [{}, {"K": ""}, {"K": " \n"}])
def test_an_empty_variable_is_named(environ):
    assert "environment variable K" in refusal(Provider(key_env="K"), environ)


@pytest.mark.parametrize("bad", ["two words", "line\nbreak", "kéy", "a\x00b"])
def test_a_key_that_no_header_can_hold_is_refused_unshown(bad):
    line = refusal(Provider(key_env="K"), {"K": f"{KEY}{bad}"})

    assert bad not in line


def test_a_key_comes_from_a_file_that_only_its_owner_can_read(tmp_path):
    path = tmp_path / "key"
    path.write_text(f"{KEY}\n")
    path.chmod(0o600)
    provider = Provider(key_file=str(path))
    assert KEY == read(provider)

    path.chmod(0o640)
    assert "chmod 600" in refusal(provider)
    path.chmod(0o600)
    path.write_text(" \n")
    assert "is missing" in refusal(provider)
    path.unlink()
    assert "No such file" in refusal(provider)
    path.mkdir(0o700)
    assert "is no file" in refusal(provider)
    path.rmdir()
    os.mkfifo(path, 0o600)
    assert "is no file" in refusal(provider)


def test_a_key_file_may_lie_below_home(home):
    path = home / "key"
    path.write_text(KEY)
    path.chmod(0o600)

    assert KEY == read(Provider(key_file="~/key"))


def test_a_keyring_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", None)

    assert "extra `keyring`" in refusal(Provider(keyring="entry"))


def test_a_key_comes_from_a_keyring(monkeypatch):
    class Locked(Exception):
        pass

    entries = {("gitagent", "entry"): KEY}
    fake = types.ModuleType("keyring")
    fake.get_password = lambda service, name: entries.get((service, name))
    monkeypatch.setitem(sys.modules, "keyring", fake)

    assert KEY == read(Provider(keyring="entry"))
    assert "keyring set gitagent other" in refusal(Provider(keyring="other"))

    def fail(*_):
        raise Locked(KEY)

    fake.get_password = fail
    assert "Locked" in refusal(Provider(keyring="entry"))


@pytest.mark.parametrize(
    ("address", "sent"),
    [
        ("https://api.example.org", True),
        ("http://127.0.0.1:8080/v1", True),
        ("http://localhost:8080", True),
        ("http://[::1]:8080", True),
        ("http://api.example.org", False),
        ("http://127.0.0.1.example.org", False),
        ("http://localhost@example.org", False),
        ("http://192.168.0.9:8080", False),
    ],
)
def test_a_key_goes_unencrypted_to_this_machine_alone(address, sent):
    provider = Provider(key_env="K", base_url=address)
    if sent:
        assert KEY == read(provider, {"K": KEY})
    else:
        assert "unencrypted" in refusal(provider, {"K": KEY})
