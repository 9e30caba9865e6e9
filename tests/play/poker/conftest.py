import pytest

from tests.play.poker.class_buckets import game_with_buckets, use_class_buckets


@pytest.fixture(scope="module")
def class_game():
    with pytest.MonkeyPatch.context() as patch:
        use_class_buckets(patch)
        yield game_with_buckets()
