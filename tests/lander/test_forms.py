"""What the commits of a landing are made of, by strategy."""

import subprocess
from dataclasses import replace

import pytest

from gitagent.core.candidate import Candidate
from gitagent.core.layout import REMOTES
from gitagent.core.settings import Lander, Settings, Strategy
from gitagent.errors import LostRace, UserError
from gitagent.files.message import trailers
from gitagent.git.tree import product_tree
from gitagent.lander.forms import form, signer
from tests.support.lander import Bench

ANN, BOB = "Ann <ann@example.org>", "Bob <bob@example.org>"
WORK = "refs/heads/work"


def branch(made: Bench, *changes, messages=(), authors=()):
    """Commit each change on a branch that starts at the target; return the tip."""
    parents, tip = (made.target,), made.target
    for n, files in enumerate(changes):
        message = messages[n] if messages else f"change {n}\n\nWords {n}.\n"
        who = authors[n] if authors else ANN
        tip = made.repo.commit_at(WORK, files, message, parents=parents, author=who)
        parents = (tip,)
    return tip


def formed(made: Bench, tip, strategy, product="", **fields):
    """Return the form of a landing, and the commits written below its last one."""
    written = []

    def write(tree, parents, message, who):
        oid = made.objects.write_commit(tree, parents, message, who, who)
        written.append(made.objects.commit(oid))
        return oid

    settings = replace(made.settings, lander=Lander(strategy=Strategy(strategy)))
    submission = made.submit(tip, **fields)
    product = product or product_tree(made.objects, made.objects.commit(tip).tree)
    candidate = Candidate(made.target, (tip,), product=product)
    facts = (made.repository, made.objects, submission, candidate, made.target)
    return form(*facts, settings, write), written


def test_a_merge_has_the_tip_as_its_second_parent(made: Bench):
    tip = branch(made, {"a": "1"}, {"a": "2"})

    found, below = formed(made, tip, "merge", submitter=BOB)

    assert (made.target, tip) == found.parents
    assert ("change 1", BOB) == (found.subject, found.author.ident)
    assert [] == below


def test_a_squash_has_one_parent_and_names_every_commit_and_author(made: Bench):
    tip = branch(made, {"a": "1"}, {"a": "2"}, {"a": "3"}, authors=(ANN, BOB, ANN))

    found, below = formed(made, tip, "squash")

    assert (made.target,) == found.parents
    assert "change 2" == found.subject
    assert "- change 0\n- change 1\n- change 2\n\nWords 2." == found.body.strip()
    assert (("Co-authored-by", BOB),) == found.others
    assert ANN == found.author.ident
    assert [] == below


def test_a_squash_of_one_commit_is_told_as_that_commit(made: Bench):
    found, _ = formed(made, branch(made, {"a": "1"}), "squash")

    assert ("change 0", "Words 0.", ()) == (
        found.subject,
        found.body.strip(),
        found.others,
    )


def test_a_rebase_puts_all_but_the_last_commit_below_it(made: Bench):
    tip = branch(made, {"a": "1"}, {"b": "2"}, {"c": "3"}, authors=(ANN, BOB, ANN))
    made.repo.commit_at("refs/heads/main", {"main": "1"})
    product = made.prepare(made.submit(tip)).product

    found, below = formed(made, tip, "rebase", product)

    assert [(made.target,), (below[0].oid,)] == [each.parents for each in below]
    assert (below[1].oid,) == found.parents
    assert [ANN, BOB, ANN] == [each.author.ident for each in (*below, found)]
    assert "change 2" == found.subject
    assert {"a", "b", "main"} < set(made.repo.paths(below[1].oid))


def test_replayed_commits_keep_words_and_date_and_name_their_submission(made: Bench):
    messages = (
        "one\n\nWords.\n\nGitagent-Submission: s-000000000000\nSigned-off-by: A <a@b>",
        "two",
    )
    tip = branch(made, {"a": "1"}, {"b": "2"}, messages=messages)
    first = made.objects.commit(made.objects.commit(tip).parents[0])

    _, (below,) = formed(made, tip, "rebase")
    said = trailers(below.message)

    assert made.submit(tip).id == dict(said)["Gitagent-Submission"]
    assert 1 == sum(key == "Gitagent-Submission" for key, _ in said)
    assert "> Gitagent-Submission: s-000000000000" in below.message
    assert first.author == below.author


def test_a_date_that_git_refuses_is_mended(made: Bench):
    tip = branch(made, {"a": "1"})
    raw = made.repo.raw("cat-file", "commit", tip).decode()
    when = str(made.objects.commit(tip).author.when)
    bad = made.repo.git(
        "hash-object", "-t", "commit", "-w", "--stdin", "--literally",
        stdin=raw.replace(when, "-5").encode(),
    )  # fmt: skip

    for strategy in Strategy:
        found, _ = formed(made, bad, strategy)
        assert 0 == found.author.when


def test_what_comes_to_something_else_has_lost_a_race(made: Bench):
    tip = branch(made, {"a": "1"})

    with pytest.raises(LostRace):
        formed(made, tip, "rebase", "1" * 40)


def test_what_cannot_be_replayed_any_more_has_lost_a_race(made: Bench):
    tip = branch(made, {"a": "1"}, {"a": None, "b": "1"})
    made.repo.commit_at("refs/heads/main", {"a": "2"})

    with pytest.raises(LostRace):
        formed(made, tip, "rebase")


def test_what_a_remote_has_is_merged_whatever_the_strategy(made: Bench):
    tip = branch(made, {"a": "1"})

    for strategy in Strategy:
        found, _ = formed(made, tip, strategy, branch=f"{REMOTES}origin")
        assert (made.target, tip) == found.parents


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
def test_a_landing_that_is_tried_again_has_the_same_signature(tmp_path, kind):
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", key], check=True)
    settings = replace_key(str(key))

    first, again = signer(settings)(b"payload"), signer(settings)(b"payload")
    other = signer(settings)(b"other")

    assert first == again != other
    assert first.startswith("-----BEGIN SSH SIGNATURE-----")


def test_without_a_key_nothing_is_signed():
    assert signer(replace_key("")) is None


def test_a_key_that_is_not_there_is_the_users_to_mend(tmp_path):
    with pytest.raises(UserError):
        signer(replace_key(str(tmp_path / "none")))(b"payload")


def replace_key(key):
    return Settings(lander=Lander(signing_key=key))
