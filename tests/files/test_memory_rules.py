"""What [memory] may hold."""

import pytest

from gitagent.errors import ConfigError
from gitagent.files import settings


@pytest.mark.parametrize(
    ("line", "key", "mend"),
    [
        ("limit = -1", "limit", "write a whole number from 0 to 1000000"),
        ("recall = 21", "recall", "write a whole number from 0 to 20"),
        ("floor = 1.5", "floor", "write a number from 0 to 1"),
        ("withhold = -0.1", "withhold", "write a number from 0 to 1"),
        (
            'embeddings = "nobody:small"',
            "embeddings",
            'write "local", or provider:model with one of model.providers',
        ),
        ('distiller = "../x"', "distiller", ""),
        ('labels = "/etc/passwd"', "labels", ""),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_the_mend(line, key, mend):
    with pytest.raises(ConfigError) as caught:
        settings.parse(f"[memory]\n{line}\n".encode())

    said = caught.value.line()

    assert said.startswith(f".agent/config.toml:2: memory.{key} is ")
    assert said.endswith(mend)


def test_a_provider_that_the_settings_have_can_embed():
    parsed = settings.parse(b'[memory]\nembeddings = "anthropic:some-model"\n')

    assert parsed.memory.embeddings == "anthropic:some-model"
