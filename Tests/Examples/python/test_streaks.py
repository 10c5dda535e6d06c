"""Streaks of friends. Every test has a world of its own, where it is eight o'clock on a Monday
morning.
"""

import pytest

from streaksnap_testing import Refused, World, eventually

pytestmark = pytest.mark.world(clock="2030-03-04T08:00:00Z")


def test_two_friends_who_both_post_have_a_streak_of_one(world: World) -> None:
    ada, ben = world.friends()
    ada.snap()
    assert ada.streak_with(ben)["status_pill"] == "waiting_on_friend"
    ben.snap()
    assert ada.streak_with(ben)["current_count"] == 1
    assert ada.streak_with(ben)["status_pill"] == "both_posted"


def test_a_snap_each_day_makes_the_streak_longer(world: World) -> None:
    ada, ben = world.friends()
    for day in (1, 2, 3):
        ada.snap()
        ben.snap()
        assert ada.streak_with(ben)["current_count"] == day
        world.clock.advance(days=1)


def test_a_friends_photo_is_locked_until_you_have_posted(world: World) -> None:
    ada, ben = world.friends()
    ada.snap(caption="Good morning")
    locked = ben.get("/api/photos/feed")["items"][0]
    assert locked["locked"] and locked["your_turn"] and locked.get("friend_snap") is None
    ben.snap()
    shown = ben.get("/api/photos/feed")["items"][0]
    assert not shown["locked"] and shown["friend_snap"]["caption"] == "Good morning"


def test_a_streak_breaks_at_midnight_and_says_who_missed_the_day(world: World) -> None:
    ada, ben = world.friends()
    streak = ada.streak_with(ben)["id"]
    ada.snap()
    ben.snap()
    world.clock.advance(days=1)
    ada.snap()
    world.clock.set("2030-03-05T23:59:00Z")
    assert ada.streak(streak)["status"] == "active"
    world.clock.set("2030-03-06T00:00:01Z")
    broken = ada.streak(streak)
    assert broken["status"] == "broken" and broken["broken_by_user_id"] == ben.id


def test_a_recovery_token_brings_a_broken_streak_back(world: World) -> None:
    ada, ben = world.friends()
    streak = ada.streak_with(ben)["id"]
    ada.snap()
    ben.snap()
    world.clock.advance(days=2)
    world.buy("recovery_token_pack_3", ada)
    eventually("the tokens are there", lambda: ada.get("/api/recovery/balance")["balance"] == 3)
    saved = ada.post(f"/api/streaks/{streak}/recover", {})
    assert saved["streak"]["status"] == "active" and saved["streak"]["current_count"] == 1
    assert saved["balance"] == 2


def test_a_recovery_comes_too_late_a_day_after_the_break(world: World) -> None:
    ada, ben = world.friends()
    streak = ada.streak_with(ben)["id"]
    ada.snap()
    ben.snap()
    world.clock.advance(days=3)
    with pytest.raises(Refused) as late:
        ada.post(f"/api/streaks/{streak}/recover", {})
    assert late.value.code == "RECOVERY_WINDOW_EXPIRED"


def test_friends_on_two_sides_of_the_world_have_until_both_their_days_are_over(
    world: World,
) -> None:
    ada = world.person(time_zone="Asia/Tokyo")
    ben = world.person(time_zone="America/Los_Angeles")
    streak = ada.befriend(ben)
    ada.snap()
    ben.snap()
    world.clock.advance(days=1)
    ada.snap()
    # For Ada it is Wednesday, for Ben still Tuesday morning.
    world.clock.set("2030-03-05T16:00:00Z")
    assert ada.streak(streak)["status"] == "active"
    ben.snap()
    assert ada.streak(streak)["current_count"] == 2
