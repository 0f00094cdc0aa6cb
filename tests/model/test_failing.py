"""What an error in place of an answer is told as."""

import pytest

from gitagent.model.failing import refused
from gitagent.model.provider import Ask, Wrong

ASK = Ask(system="", messages=())


def body(**error):
    return {"type": "error", "error": error}


@pytest.mark.parametrize(
    ("status", "error", "failure", "said"),
    [
        (
            401,
            body(type="authentication_error", message="invalid x-api-key"),
            "auth",
            "The provider of m answered auth (401): invalid x-api-key.",
        ),
        (
            404,
            body(type="not_found_error", message="model: m"),
            "no_model",
            "The provider of m answered no_model (404): model: m.",
        ),
        (
            502,
            body(
                type="api_error",
                message="The provider one cannot be reached: refused.",
                details={"error_code": "unreachable"},
            ),
            "unreachable",
            "The provider one cannot be reached: refused.",
        ),
        (503, "", "server", "The provider of m answered server (503)."),
    ],
)
def test_whose_words_they_are_is_said_and_which_failure_it_is(
    status, error, failure, said
):
    found = refused(ASK, "m", status, error)

    assert (Wrong.OTHER, failure, said) == (found.wrong, found.failure, found.sentence)


def test_words_of_the_gateway_itself_are_not_the_providers():
    said = body(type="x", message="Too big.", details={"error_code": "gitagent"})

    assert "Too big." == refused(ASK, "m", 413, said).sentence
