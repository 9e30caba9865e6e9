import pytest

from tests.play.poker.class_buckets import bucketed_game, use_class_buckets


@pytest.fixture(scope="module")
def class_game():
    with pytest.MonkeyPatch.context() as patch:
        use_class_buckets(patch)
        yield bucketed_game()
