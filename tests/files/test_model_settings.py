"""What [model] may hold, and what is said of what it may not."""

import pytest

from gitagent.errors import ConfigError
from gitagent.files.settings import parse

GOOD = """
[model]
default = "anthropic:claude-sonnet-4-5"
fallback = ["second:claude-sonnet-4-5", "anthropic:claude-haiku-4-5", "claude-opus-4-5"]

[model.aliases]
sonnet = "second:claude-sonnet-4-5"
local = "mine:llama3:8b"

[model.providers.second]
base_url = "https://models.example.org/anthropic"
key_file = "~/.keys/second"

[model.providers.second.prices."claude-sonnet-4-5"]
input = 3
output = 15
cache_read = 0.3
cache_write = 3.75

[model.providers.mine]
kind = "openai"
base_url = "http://localhost:11434/v1"
key_env = "MINE"

[model.providers.lan]
kind = "openai"
base_url = "http://192.168.0.9:8080"
"""


def settings(text):
    return parse(f"target = 'main'\n[[check]]\nname='t'\nrun='t'\n{text}".encode())


def line(text):
    with pytest.raises(ConfigError) as caught:
        settings(text)
    assert 1 == len(caught.value.line().splitlines())
    return caught.value.line()


def test_models_aliases_providers_and_prices_are_taken():
    model = settings(GOOD).model

    assert "mine:llama3:8b" == model.aliases["local"]
    assert 3.75 == model.providers["second"].prices["claude-sonnet-4-5"]["cache_write"]


PROVIDER = "[model.providers.p]\n"
PRICE = PROVIDER + 'prices = { "m" = { %s } }\n'


@pytest.mark.parametrize(
    ("text", "problem", "mend"),
    [
        (
            '[model]\nfallback = ["nobody:m"]',
            'model.fallback contains the text "nobody:m"',
            "one of the providers anthropic",
        ),
        (
            '[model]\nfallback = ["anthropic:claude-sonnet-4-5"]',
            "model.fallback contains",
            "it is the default",
        ),
        ('[model]\nfallback = [" "]', "model.fallback contains", "leave it out"),
        ('[model.aliases]\n"a:b" = "m"', "is no short name", "without a colon"),
        ('[model.aliases]\na = "no:m"', "model.aliases.a is", "one of the providers"),
        ('[model.aliases]\na = ""', "model.aliases.a is", "write what it is"),
        (PROVIDER + 'kind = "google"', "p.kind is", '"anthropic" or "openai"'),
        (PROVIDER + 'base_url = "ftp://a"', "p.base_url is", "https://"),
        (PROVIDER + 'base_url = "https://"', "p.base_url is", "such as https://api."),
        (PROVIDER + 'base_url = "https://[a"', "p.base_url is", "such as https://api."),
        (PROVIDER + 'base_url = "https://a:99999"', "p.base_url is", "such as https:"),
        (PROVIDER + 'base_url = "https://u:p@a"', "p.base_url is", "without @"),
        (PROVIDER + 'base_url = "https://a?b=c"', "p.base_url is", "without @"),
        (
            PROVIDER + 'base_url = "http://a.example.org"\nkey_env = "K"',
            "p.base_url would be sent the key unencrypted",
            "write https://",
        ),
        (
            PROVIDER + 'key_env = "K"\nkey_file = "f"',
            "p.key_file is one place too many",
            "keep one of key_env and key_file",
        ),
        (
            PROVIDER + 'keyring = "k"\nkey_file = "f"',
            "p.keyring is one place too many",
            "keep one of key_file and keyring",
        ),
        (PRICE % "input = 3", "prices.m is not a whole price", "write output, in usd"),
        (PRICE % "", "prices.m is not a whole price", "write input and output"),
        (
            PRICE % "input = 3, output = 4, in = 5",
            "prices.m.in is no price",
            "prices are input, output, cache_read, cache_write",
        ),
        (PRICE % "input = -3, output = 4", "prices.m.input is", "a number from 0"),
    ],
)
def test_what_cannot_be_used_is_named_with_the_mend(text, problem, mend):
    said = line(text)

    assert problem in said
    assert mend in said


@pytest.mark.parametrize("key", ["sk-ant-0123456789", "$KEY", "a b", "1A", "K=V"])
def test_a_key_in_place_of_a_variable_s_name_is_not_repeated(key):
    said = line(f'{PROVIDER}key_env = "{key}"')

    assert key not in said
    assert said.endswith("write the name of an environment variable, never the key")
