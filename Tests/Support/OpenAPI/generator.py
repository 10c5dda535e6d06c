"""The product's main job, played through the client that OpenAPI Generator made of /openapi.json.

generator.py FOLDER ADDRESS ZONE PHOTO PHOTO: FOLDER holds the package streaksnap. Two people who live in ZONE register, become friends, both
post a photo, and their streak is 1. The client checks every reply by its types, and ends with an error at the first that is not as they say.
"""

import sys
import time
import uuid
from pathlib import Path

folder, address, zone, *photos = sys.argv[1:]
sys.path.insert(0, folder)

import streaksnap  # noqa: E402


class Phone:
    """One user's client: every call and every type is the generated one's."""

    def __init__(self, name):
        client = streaksnap.ApiClient(streaksnap.Configuration(host=address))
        self.auth, self.media = streaksnap.AuthApi(client), streaksnap.MediaApi(client)
        self.social, self.streaks = streaksnap.SocialApi(client), streaksnap.StreaksApi(client)
        name = f"{name}.{uuid.uuid4().hex[:8]}"
        request = streaksnap.AuthRegisterRequest(
            email=f"{name}@example.com", password="correct-horse-battery", username=name, time_zone=zone
        )
        reply = self.auth.auth_register(request, idempotency_key=str(uuid.uuid4()))
        assert isinstance(reply, streaksnap.AuthRegisterSuccess), reply
        self.user = data(reply).user
        client.configuration.access_token = reply.data.access_token
        data(self.auth.auth_accept_terms(streaksnap.AuthAcceptTermsRequest(version="2026-01")))

    def post(self, photo):
        reply = self.media.media_upload_snap(
            photo=("photo.jpg", Path(photo).read_bytes()),
            streak_ids=["all"],
            caption="From a generated client",
            idempotency_key=str(uuid.uuid4()),
        )
        outcome = data(reply).streaks[0]
        assert outcome.accepted, outcome
        return outcome


def data(reply):
    assert reply.success is True and reply.meta.request_id, reply
    return reply.data


def refusal(call, *arguments, **named):
    """The failure that a call ends with."""
    try:
        reply = call(*arguments, **named)
    except streaksnap.ApiException as failure:
        assert failure.data.success is False and failure.data.meta.request_id, failure.data
        return failure.status, failure.data
    sys.exit(f"it was not refused: {reply}")


def eventually(ask):
    """What `ask` finds; the search learns of a new user by an event."""
    deadline = time.monotonic() + 30
    while not (found := ask()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


ada, ben = Phone("ada"), Phone("ben")
assert data(ada.auth.auth_get_me()).username == ada.user.username
found = eventually(lambda: data(ada.social.social_search_users(q=ben.user.username)).users)
assert [one.user.user_id for one in found] == [ben.user.id], found

ask = ada.social.social_send_friend_request
wanted = streaksnap.SocialSendFriendRequestRequest(username=ben.user.username)
asked = data(ask(social_send_friend_request_request=wanted))
assert asked.status == "pending" and asked.streak is None, asked
answer = streaksnap.SocialRespondToFriendRequestRequest(action="accept")
accepted = data(ben.social.social_respond_to_friend_request(asked.friendship_id, answer))
assert accepted.streak.current_count == 0, accepted

assert ada.post(photos[0]).date_completed is False
item = data(ben.media.media_get_feed()).items[0]
assert item.locked and item.friend_snap is None and item.friend.user_id == ada.user.id, item
assert ben.post(photos[1]).date_completed is True

for phone, friend in ((ada, ben.user), (ben, ada.user)):
    assert data(phone.social.social_list_friends()).friends[0].user.user_id == friend.id
    streak = data(phone.streaks.streaks_list_streaks()).streaks[0]
    assert streak.current_count == 1 and streak.friend.user_id == friend.id, streak
    detail = data(phone.streaks.streaks_get_streak(streak.id))
    assert detail.friend_snap.user_id == friend.id and len(detail.calendar) == 90, detail
    assert data(phone.media.media_get_feed()).items[0].friend_snap.caption == "From a generated client"

# A refusal is as typed as a success.
status, again = refusal(ask, social_send_friend_request_request=streaksnap.SocialSendFriendRequestRequest(user_id=ben.user.id))
assert status == 409 and isinstance(again, streaksnap.ErrorReply), again
assert again.error.code == "ALREADY_FRIENDS" and again.error.message, again
status, nobody = refusal(ask, social_send_friend_request_request=streaksnap.SocialSendFriendRequestRequest())
assert status == 400 and nobody.error.code == "VALIDATION_ERROR", nobody
assert [detail.var_field for detail in nobody.error.details] == ["user_id"], nobody
# What a stream sends has types too: one of the kinds.
sent = {"id": "7", "event": "streak", "data": {"streak_id": streak.id, "status": "active", "count": None}}
event = streaksnap.NotificationsWatchEvent.from_dict(sent).actual_instance
assert isinstance(event, streaksnap.NotificationsWatchStreak) and event.data.status == "active", event
print("streak of 1")
