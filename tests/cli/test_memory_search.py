"""``gitagent memory search`` and ``eval``, on items that the executor wrote."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import call
from tests.support.memory import MAIN, Writer, add, withdraw, writing
from tests.support.search import note, note_path

SET = """\
[gates]
hit = 0.9
[[query]]
text = "how many are three and three"
wanted = ["sixes"]
[[query]]
text = "dark mode"
wanted = []
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("template") / "repo"


@pytest.fixture
def writer(template: Path, tmp_path: Path) -> Iterator[Writer]:
    with writing(template, tmp_path / "repo") as made:
        made.ask(
            add("fours"),
            add("sixes", "Three and three are six.", sources=("main:facts.txt:2-2",)),
        )
        yield made


def put(writer: Writer, files: dict[str, str]) -> None:
    writer.bench.repo.commit_at(MAIN, files)


def test_hits_are_told_with_source_and_date(writer: Writer):
    put(writer, {note_path("s-1"): note("s-1", "Count to six", "Three more.")})
    put(writer, {"docs/six.md": "# Sums\n\nThree and three\nare six.\n"})
    done = call(writer.bench.repo, "memory", "search", "three", "and", "three", "are")
    item = writer.shelf.items["sixes"]
    commit = writer.bench.target[:12]

    lines = done.lines
    assert (0, "") == (done.code, done.err)
    assert lines[0].endswith(
        f"[sixes@{item.blob[:12]} · fact · facts.txt:2-2 at"
        f" {item.sources[0].oid[:12]} · {item.updated[:10]} · active]"
        " Three and three are six."
    )
    document = next(n for n, line in enumerate(lines) if "[document" in line)
    assert f"[document · docs/six.md:1 at {commit} · 20" in lines[document]
    assert ["      Three and three", "      are six."] == lines[document + 2 :][:2]
    assert any("[landing · s-1 · 2026-02-03] # Count to six" in line for line in lines)


def test_as_json_hits_have_their_names_and_objects(writer: Writer):
    done = call(
        writer.bench.repo,
        "memory",
        "search",
        "six",
        "--kind",
        "item",
        "-n",
        "1",
        "--json",
    )

    (hit,) = done.json["hits"]
    item = writer.shelf.items["sixes"]
    assert (1, writer.bench.target) == (done.json["version"], done.json["commit"])
    assert ("item", "sixes", item.blob) == (hit["kind"], hit["name"], hit["blob"])
    assert 0 < hit["score"] <= 1


def test_what_is_withdrawn_is_gone_from_the_next_query_on(writer: Writer):
    before = call(writer.bench.repo, "memory", "search", "three")
    writer.one(withdraw("sixes"))
    after = call(writer.bench.repo, "memory", "search", "three")

    assert "sixes@" in before.out
    assert (0, "") == (after.code, after.out)
    assert "gitagent: nothing is close to that\n" == after.err


@pytest.mark.parametrize("query", ['"', "a AND (", "--", "'; DROP TABLE word"])
def test_any_text_is_a_query(writer: Writer, query: str):
    done = call(writer.bench.repo, "memory", "search", "--", query)

    assert (0, "") == (done.code, done.out)


def test_without_a_query_the_usage_is_told(writer: Writer):
    assert 2 == call(writer.bench.repo, "memory", "search").code


def test_the_target_s_set_is_scored_against_its_gates(writer: Writer):
    put(writer, {".agent/recall.toml": SET})
    done = call(writer.bench.repo, "memory", "eval")

    assert 0 == done.code
    assert (
        "2 queries, 1 for nothing; the first 3 with at least 0.25; words alone"
        == done.lines[0]
    )
    assert [line.split()[0] for line in done.lines[1:]] == [
        "precision@3",
        "recall@3",
        "hit",
        "quiet",
        "mrr",
        "ndcg",
    ]
    assert "hit          1.000  [0.207, 1.000]  n 1     gate 0.9" in done.lines[3]


def test_a_missed_gate_is_named_and_ends_with_1(writer: Writer, tmp_path: Path):
    file = tmp_path / "other.toml"
    file.write_text(SET.replace("sixes", "nothing"))
    done = call(writer.bench.repo, "memory", "eval", "--file", str(file))

    assert 1 == done.code
    assert "gitagent: the search is below its gates: hit 0.000 < 0.9\n" == done.err
    assert "missed       'how many are three and three': nothing" == done.lines[-1]


def test_as_json_the_figures_have_their_intervals(writer: Writer, tmp_path: Path):
    file = tmp_path / "other.toml"
    file.write_text(SET)
    done = call(writer.bench.repo, "memory", "eval", "--file", str(file), "--json")

    hit = {"value": 1.0, "low": pytest.approx(0.2065, abs=1e-4), "high": 1.0, "n": 1}
    assert hit == done.json["figures"]["hit"]
    assert ([], {"hit": 0.9}) == (done.json["failed"], done.json["gates"])


def test_without_a_set_the_mend_is_told(writer: Writer):
    done = call(writer.bench.repo, "memory", "eval")

    assert 1 == done.code
    assert done.err.startswith(
        "gitagent: there is no labelled set at .agent/recall.toml; commit one, or name"
    )


def test_a_set_that_is_none_is_wrong_usage(writer: Writer):
    put(writer, {".agent/recall.toml": "k = 3\n"})
    done = call(writer.bench.repo, "memory", "eval")

    assert (2, 1) == (done.code, done.err.count("\n"))
    assert ".agent/recall.toml has no [[query]]" in done.err
