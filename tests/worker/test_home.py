"""Files that are written into a HOME that a worker has had before."""

import pytest

from gitagent.worker import home


@pytest.fixture
def place(tmp_path):
    inner = tmp_path / "home"
    inner.mkdir()
    return inner


def test_a_file_is_there_below_folders_that_were_not(place):
    home.put(place, [(".a/b/c.json", b"{}"), ("plain", b"x")])

    assert b"{}" == (place / ".a/b/c.json").read_bytes()
    assert b"x" == (place / "plain").read_bytes()


def test_it_takes_the_place_of_an_older_one(place):
    (place / "f").write_bytes(b"older and longer")

    home.put(place, [("f", b"new")])

    assert b"new" == (place / "f").read_bytes()
    assert ["f"] == [each.name for each in place.iterdir()]


def test_a_link_in_its_place_leads_nowhere(place, tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    (place / "f").symlink_to(outside)

    home.put(place, [("f", b"new")])

    assert b"mine" == outside.read_bytes()
    assert b"new" == (place / "f").read_bytes()
    assert not (place / "f").is_symlink()


def test_a_link_in_place_of_a_folder_leads_nowhere(place, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (place / ".a").symlink_to(outside)

    home.put(place, [(".a/f", b"new")])

    assert [] == list(outside.iterdir())
    assert b"new" == (place / ".a/f").read_bytes()


def test_what_else_is_in_the_way_is_put_aside(place):
    (place / "f/deep").mkdir(parents=True)
    (place / "g").write_bytes(b"no folder")

    home.put(place, [("f", b"new"), ("g/h", b"new")])

    assert b"new" == (place / "f").read_bytes()
    assert b"new" == (place / "g/h").read_bytes()


def test_a_home_that_is_a_link_is_refused(place, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(place)

    with pytest.raises(OSError, match="link"):
        home.put(link, [("f", b"new")])

    assert [] == list(place.iterdir())


def test_whatever_a_worker_may_do_to_it_its_owner_gets_in(place):
    (place / ".a/b").mkdir(parents=True)
    for each in (place / ".a/b", place / ".a", place):
        each.chmod(0)

    home.put(place, [(".a/b/c", b"new")])

    assert b"new" == (place / ".a/b/c").read_bytes()
    for each in (place, place / ".a", place / ".a/b"):
        assert 0o700 == each.stat().st_mode & 0o777


def test_a_plain_file_is_found_by_its_path(place):
    (place / "a/2026/b").mkdir(parents=True)
    (place / "a/2026/b/x-1.jsonl").write_bytes(b"")

    assert home.has(place, "a", "2026", "b", "x-1.jsonl")
    assert home.has(place, "a", "*", "*", "*-1.jsonl*")
    assert not home.has(place, "a", "*", "*", "*-2.jsonl*")
    assert not home.has(place, "a", "2026")
    assert not home.has(place, "other", "*")


def test_no_link_leads_out_of_it(place, tmp_path):
    (tmp_path / "outside/b").mkdir(parents=True)
    (tmp_path / "outside/b/f").write_bytes(b"")
    (place / "a").symlink_to(tmp_path / "outside")
    (place / "b").mkdir()
    (place / "b/f").symlink_to(tmp_path / "outside/b/f")

    assert not home.has(place, "a", "b", "f")
    assert not home.has(place, "*", "*")


def test_countless_files_end_the_look(place, monkeypatch):
    monkeypatch.setattr(home, "_MOST", 3)
    for each in "abcd":
        (place / each).mkdir()

    assert not home.has(place, "*", "*")
