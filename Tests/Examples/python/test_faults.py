"""What the app does when the server is in trouble."""

import time

import pytest

from streaksnap_testing import Refused, World

pytestmark = pytest.mark.world(clock="2030-03-04T08:00:00Z")


def test_a_photo_that_is_refused_while_media_is_away_counts_when_it_is_sent_again(
    world: World,
) -> None:
    ada, ben = world.friends()
    ben.snap()
    world.stop("media")
    with pytest.raises(Refused) as away:
        ada.snap()
    assert away.value.status == 503, "the app may send it again"
    world.start("media")
    ada.snap()
    assert ada.streak_with(ben)["current_count"] == 1


def test_a_slow_database_makes_the_app_wait_and_nothing_is_lost(world: World) -> None:
    ada = world.person()
    world.slow_database(100)
    start = time.monotonic()
    ada.put("/api/users/me", {"display_name": "Ada"})
    assert time.monotonic() - start >= 0.1
    world.slow_database(0)
    assert ada.get("/api/users/me")["display_name"] == "Ada"
