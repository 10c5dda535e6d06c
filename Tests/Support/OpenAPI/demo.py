"""The product's main job, played through the client that openapi-python-client made of /openapi.json.

demo.py FOLDER ADDRESS ZONE PHOTO PHOTO: FOLDER holds the package streaksnap_client. Two people who live in ZONE register, become friends,
both post a photo, and their streak is 1. Ends with an error at the first reply that is not as the client's types say.
"""

import io
import sys
import time
import uuid
from pathlib import Path

folder, address, zone, *photos = sys.argv[1:]
sys.path.insert(0, folder)

from streaksnap_client import AuthenticatedClient, Client  # noqa: E402
from streaksnap_client import models, types  # noqa: E402
from streaksnap_client.api.auth import auth_accept_terms, auth_get_me, auth_register  # noqa: E402
from streaksnap_client.api.media import media_get_feed, media_upload_snap  # noqa: E402
from streaksnap_client.api.social import (  # noqa: E402
    social_list_friends,
    social_respond_to_friend_request,
    social_search_users,
    social_send_friend_request,
)
from streaksnap_client.api.streaks import streaks_get_streak, streaks_list_streaks  # noqa: E402


def data(reply):
    """What a success holds; ends with what a failure says."""
    if reply is None or reply.success is not True:
        sys.exit(f"not a success: {reply}")
    return reply.data


def register(name):
    name = f"{name}.{uuid.uuid4().hex[:8]}"
    body = models.AuthRegisterRequest(
        email=f"{name}@example.com", password="correct-horse-battery", username=name, time_zone=zone
    )
    session = data(auth_register.sync(client=Client(base_url=address), body=body, idempotency_key=str(uuid.uuid4())))
    client = AuthenticatedClient(base_url=address, token=session.access_token)
    data(auth_accept_terms.sync(client=client, body=models.AuthAcceptTermsRequest(version="2026-01")))
    return client, session.user


def eventually(ask):
    """What `ask` finds; the search learns of a new user by an event."""
    deadline = time.monotonic() + 30
    while not (found := ask()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def post(client, photo):
    file = types.File(payload=io.BytesIO(Path(photo).read_bytes()), file_name="photo.jpg", mime_type="image/jpeg")
    body = models.MediaUploadSnapBody(photo=file, streak_ids=["all"], caption="From a generated client")
    outcome = data(media_upload_snap.sync(client=client, body=body, idempotency_key=str(uuid.uuid4()))).streaks[0]
    assert outcome.accepted, outcome
    return outcome


(ada, ada_user), (ben, ben_user) = register("ada"), register("ben")
assert data(auth_get_me.sync(client=ada)).username == ada_user.username
found = eventually(lambda: data(social_search_users.sync(client=ada, q=ben_user.username)).users)
assert [user.user.user_id for user in found] == [ben_user.id], found

asked = data(social_send_friend_request.sync(client=ada, body=models.SocialSendFriendRequestRequest(username=ben_user.username)))
assert asked.status == models.SocialFriendshipReplyStatus.PENDING and asked.streak is None, asked
answer = models.SocialRespondToFriendRequestBody(action=models.SocialRespondToFriendRequestBodyAction.ACCEPT)
accepted = data(social_respond_to_friend_request.sync(client=ben, friendship_id=asked.friendship_id, body=answer))
assert accepted.streak.current_count == 0, accepted

assert post(ada, photos[0]).date_completed is False
item = data(media_get_feed.sync(client=ben)).items[0]
assert item.locked and item.friend_snap is None and item.friend.user_id == ada_user.id, item
assert post(ben, photos[1]).date_completed is True

for client, friend in ((ada, ben_user), (ben, ada_user)):
    assert data(social_list_friends.sync(client=client)).friends[0].user.user_id == friend.id
    streak = data(streaks_list_streaks.sync(client=client)).streaks[0]
    assert streak.current_count == 1 and streak.friend.user_id == friend.id, streak
    detail = data(streaks_get_streak.sync(client=client, streak_id=streak.id))
    assert detail.friend_snap.user_id == friend.id and len(detail.calendar) == 90, detail
    assert data(media_get_feed.sync(client=client)).items[0].friend_snap.caption == "From a generated client"

# A refusal is as typed as a success.
again = social_send_friend_request.sync(client=ada, body=models.SocialSendFriendRequestRequest(user_id=ben_user.id))
assert again.success is False, again
assert isinstance(again, models.ErrorReply) and again.error.code == "ALREADY_FRIENDS", again
# What a stream sends has types too.
event = models.NotificationsWatchStreak.from_dict(
    {"id": "7", "event": "streak", "data": {"streak_id": streak.id, "status": "active", "count": 1}}
)
assert event.data.status == models.NotificationsStreakEventStatus.ACTIVE and event.data.count == 1, event
print("streak of 1")
