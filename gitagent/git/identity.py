"""Who commits: gitagent itself, or the person in whose name a command does."""

import os

from gitagent.errors import GitError, UserError
from gitagent.git.repository import Repository
from gitagent.git.text import Person, parse_signature

OWN = Person("gitagent", "gitagent@localhost")  # of records, candidates and claims

_VARIABLES = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "EMAIL")


def author(repo: Repository) -> Person:
    """Return the person that calls, now. Source: git-var(1).

    Raises:
        UserError: Git does not know their name or address.
    """
    env = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    try:
        done = repo.git.run("var", "GIT_AUTHOR_IDENT", env=env, user_config=True)
    except GitError as error:
        raise UserError(
            "git does not know your name and address",
            'run: git config --global user.name "…" and user.email "…"',
        ) from error
    return parse_signature(done.out.strip())
