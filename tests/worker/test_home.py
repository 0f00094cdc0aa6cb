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
