import uuid

from gitagent.host.boot import boot_id


def test_the_boot_is_named_by_the_kernel():
    assert str(uuid.UUID(boot_id())) == boot_id()
