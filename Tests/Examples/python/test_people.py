"""Friends, and what reaches them by push."""

import pytest

from streaksnap_testing import Refused, World

pytestmark = pytest.mark.world(clock="2030-03-04T08:00:00Z")


def test_a_friend_request_arrives_as_a_push_and_a_streak_begins_when_it_is_accepted(
    world: World,
) -> None:
    ada = world.person()
    ben = world.person(push=True)
    asked = ada.post("/api/friends/request", {"username": ben.username})
    assert ada.name in world.push("friend_request", ben).body
    accepted = ben.put(f"/api/friends/{asked['friendship_id']}/respond", {"action": "accept"})
    assert accepted["status"] == "accepted" and accepted["streak"]["current_count"] == 0


def test_a_photo_is_pushed_to_the_friend_and_to_no_other(world: World) -> None:
    ada, ben = world.friends(push=True)
    assert world.pushes() == [], "that they are friends was pushed before they had phones"
    ada.snap()
    # `snap` returns when nothing is under way: what is not there by now was not sent.
    assert [push.kind for push in world.pushes(ben)] == ["friend_posted"]
    assert world.pushes(ada) == []


def test_a_reminder_is_pushed_three_hours_before_the_day_ends(world: World) -> None:
    world.clock.advance_to("12:00")
    ada, ben = world.friends(push=True)
    ada.snap()
    ben.snap()
    world.clock.advance(days=1)
    ben.snap()
    world.clock.advance_to("21:00")
    push = world.push("streak_at_risk", ada)
    assert ben.name in push.body and "3 hours" in push.body
    assert "streak_at_risk" not in [push.kind for push in world.pushes(ben)], "he has posted"


def test_a_blocked_person_cannot_ask_to_be_friends_again(world: World) -> None:
    ada, ben = world.friends()
    ada.post("/api/blocks", {"user_id": ben.id})
    assert ada.get("/api/friends")["friends"] == []
    with pytest.raises(Refused) as refused:
        ben.post("/api/friends/request", {"user_id": ada.id})
    assert refused.value.code == "NOT_FOUND", "as if there were no such person"
