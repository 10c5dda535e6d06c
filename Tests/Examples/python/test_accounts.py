"""Accounts: mails, sign-in, what was bought."""

import pytest

from streaksnap_testing import Refused, World, eventually

pytestmark = pytest.mark.world(clock="2030-03-04T08:00:00Z")


def test_a_new_user_registers_and_the_link_in_the_mail_verifies_the_address(world: World) -> None:
    account = {"email": "ada@example.com", "password": "correct-horse-battery", "time_zone": "UTC"}
    session = world.call("POST", "/api/auth/register", account)
    assert not session["user"]["email_verified"]
    mail = world.mails("ada@example.com", at_least=1)[-1]
    world.call("POST", "/api/auth/email/verify", {"token": mail.link_token})
    assert world.call("GET", "/api/users/me", token=session["access_token"])["email_verified"]


def test_a_new_password_is_set_by_mail(world: World) -> None:
    ada = world.person()
    world.call("POST", "/api/auth/password/forgot", {"email": ada.email})
    mail = world.mail("new password", ada)
    new = "battery-horse-staple"
    world.call("POST", "/api/auth/password/reset", {"token": mail.link_token, "new_password": new})
    with pytest.raises(Refused) as old:
        world.call("POST", "/api/auth/login", {"email": ada.email, "password": ada.password})
    assert old.value.code == "INVALID_CREDENTIALS"
    session = world.call("POST", "/api/auth/login", {"email": ada.email, "password": new})
    assert session["user"]["id"] == ada.id


def test_sign_in_with_apple_makes_an_account_and_finds_it_again(world: World) -> None:
    token = world.apple_token("001.ada", email="ada@example.com")
    first = world.call("POST", "/api/auth/apple", {"identity_token": token, "given_name": "Ada"})
    assert first["user"]["email"] == "ada@example.com" and first["user"]["email_verified"]
    second = world.call(
        "POST", "/api/auth/apple", {"identity_token": world.apple_token("001.ada")}
    )
    assert second["user"]["id"] == first["user"]["id"]


def test_premium_lasts_as_long_as_it_is_paid(world: World) -> None:
    ada = world.person()
    world.buy("premium_monthly", ada)
    eventually("she is premium", lambda: ada.get("/api/billing/entitlements")["is_premium"])
    world.clock.advance(days=31)
    eventually(
        "she is not any more", lambda: not ada.get("/api/billing/entitlements")["is_premium"]
    )
