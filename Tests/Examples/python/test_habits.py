"""Check-ins and habits of one person."""

import pytest

from streaksnap_testing import World

pytestmark = pytest.mark.world(clock="2030-03-04T08:00:00Z")


def test_a_check_in_counts_once_a_day(world: World) -> None:
    ada = world.person()
    first = ada.check_in()["streak"]
    assert first["current_streak"] == 1 and first["is_first_check_in_today"]
    second = ada.check_in(mood=5)["streak"]
    assert second["current_streak"] == 1 and not second["is_first_check_in_today"]


def test_a_freeze_keeps_the_streak_through_a_missed_day(world: World) -> None:
    ada = world.person()
    ada.check_in()
    assert ada.get("/api/mobile/streaks/status")["freezes_available"] == 1
    world.clock.advance(days=2)
    status = ada.get("/api/mobile/streaks/status")
    assert status["current_streak"] == 2 and status["freezes_available"] == 0


def test_a_habits_streak_ends_when_a_day_is_missed(world: World) -> None:
    ada = world.person()
    habit = ada.post("/api/habits", {"name": "Read"})["id"]
    assert ada.post(f"/api/habits/{habit}/completions", {})["current_streak"] == 1
    world.clock.advance(days=1)
    assert ada.post(f"/api/habits/{habit}/completions", {})["current_streak"] == 2
    world.clock.advance(days=2)
    assert ada.get(f"/api/habits/{habit}")["habit"]["current_streak"] == 0


def test_a_habit_with_a_target_is_done_once_the_target_is_reached(world: World) -> None:
    ada = world.person()
    habit = ada.post("/api/habits", {"name": "Read", "target_value": 20, "unit": "pages"})["id"]
    half = ada.post(f"/api/habits/{habit}/completions", {"value": 12})
    assert half["status"] == "partial" and half["current_streak"] == 0
    whole = ada.post(f"/api/habits/{habit}/completions", {"increment": 8})
    assert whole["status"] == "done" and whole["current_streak"] == 1
