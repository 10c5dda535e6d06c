"""Checks for schemathesis of what its own cannot distinguish here: FAILED_PRECONDITION and INVALID_ARGUMENT are both 400 (PF-2)."""

import re

import schemathesis
from schemathesis import GenerationMode

# Rules that no schema can say, so that what a schema allows may break them: how a refusal names the field, what it says, and why the
# document cannot. Anything else that refuses valid data is found.
BEYOND_SCHEMAS = [
    # A cursor is opaque: only the list knows which texts it has given out.
    (r"cursor", r"is not one this list has given out"),
    # Which fields go together, or not: `oneOf`, `anyOf` and `dependentRequired` make client generators drop the fields.
    (r"bbox|geohash|radius", r"only one area at a time"),
    (r"lat|lon", r"is required with (lat|lon) and radius"),
    (r"radius", r"is required with lat and lon"),
    (r"user_id", r"either user_id or username is required"),
    (r"user_id|username", r"cannot be given together with another of: user_id, username"),
    (r"increment", r"cannot be combined with value"),
    (r"page", r"cannot be combined with cursor"),
    (r"days", r"cannot be combined with year"),
    (r"year", r"must not be given together with month"),
    (r"ids", r"must be given, or all instead|cannot be given together with all"),
    (r"mood_score|energy_level", r"goes with the other of mood and energy|is needed, or another value"),
    (r"photo", r"is required, or video, or upload_id"),
    (r"upload_id", r"cannot be given together with a file"),
    (r"photo|video", r"must come once, and no other file with it"),
    (r"reminder_days", r"need a reminder_time"),
    (r"quiet_end_hour", r"must differ from quiet_start_hour"),
    (r"columns(\.\w+)?", r"is needed for the format mapping|is required"),
    (r"payment_token", r"is required where money is paid"),
    (r"payment_method", r"is for repairs"),
    (r"circle_id", r"is needed for the scope circle"),
    (r"author", r"cannot be another user with mine"),
    (r"deleted", r"cannot be combined with archived"),
    (r"value", r"is needed for a habit with a target"),
    (r"action", r"remove is for posts only"),
    (r"schedule\.\w+", r"must be .*"),
    (r"size", r"must be at most \d+ for a file of this type"),
    (r"type", r"must be absent|must be check_in or absent|must name a (typed )?streak"),
    (r"to", r"must not be before from"),
    (r"from", r"must not be after to|must be less than 366 dates before to"),
    (r"until", r"must be (after|later than) from"),
    # Four numbers in one text have ranges, and an order.
    (r"bbox", r"(west|east) must be a number of degrees|(south|north) must be between -90 and 90|south must not be above north"),
    # Whether the account has a password, or signs in with Apple.
    (r"password", r"is required"),
    # Of the user's own things, and each once in an order; `uniqueItems` makes sets, which have none, of lists in generated clients.
    (r"category_id", r"is no category of yours"),
    (r"category_ids|habit_ids", r"must name each (category|habit) once"),
    # What today is.
    (r"date", r"must name a missed date"),
    (r"date", r"must be (yesterday or today|one of the last \d+ days|today or one of the next \d+ days)"),
    (r"resume_date|until", r"must be after (today|now)( and after from)?|must be later than now"),
    (r"from", r"must be today or later"),
    (r"done_at", r"must not be in the future|must lie on the date of the completion"),
    # Characters as people count them, with what is blank, controls or turns the text around by Unicode's tables.
    (r"name|description|unit|note", r"must be at most \d+ characters"),
    # A schema counts the code points that they are made of.
    (r".*", r"must have (at most|exactly|at least|\d+ to) \d+ characters"),
    (r".*", r"must have at most \d+ characters and \d+ bytes"),
    (r"name", r"Please enter a habit name|must not be empty|must have a character that can be seen"),
    (r"display_name", r"must have a character that can be seen"),
    (r"q", r"must not be blank|must have a letter or a digit"),
    (r".*", r"must not have control characters.*|must be one line.*"),
    # A schema counts characters, never bytes.
    (r".*", r"must have (at most|exactly|\d+ to) \d+ bytes"),
    # Names that look like the service's own.
    (r"username", r"is reserved"),
    # `multipleOf` fails on binary fractions.
    (r"target_value|value|increment", r"Please enter a valid number|must have at most 3 decimal places"),
    # The names of the IANA database.
    (r"time_zone", r"must be an IANA time zone such as Europe/Berlin, or an offset such as \+05:30, or have timezone_offset beside it"),
    # What all fields of a form come to.
    (r"", r"The form has more than 500 fields\."),
    # U+0000 is no text of this API; a pattern for it at every text would hide those that say more.
    (r".*", r"must not contain NUL"),
]


def details(error):
    """The details of an error as pairs of field and message; those of a published interface are an object."""
    found = error["details"]
    return list(found.items()) if isinstance(found, dict) else [(detail["field"], detail["message"]) for detail in found]


def is_beyond_schemas(field, message):
    field = re.sub(r"\[\d+\]", "", field)
    # The routes that keep to a published form begin what they say with a capital.
    return any(re.fullmatch(name, field) and re.fullmatch(text, message, re.IGNORECASE) for name, text in BEYOND_SCHEMAS)


@schemathesis.check
def valid_data_is_no_validation_error(ctx, response, case):
    """What the document allows is refused as invalid only by rules that no schema can say; for reasons of the moment it may be."""
    if case.meta is None or case.meta.generation.mode != GenerationMode.POSITIVE or response.status_code != 400:
        return
    error = response.json()["error"]
    if error["code"] != "VALIDATION_ERROR":
        return
    found = details(error)
    wrong = [f"{field}: {message}" for field, message in found if not is_beyond_schemas(field, message)]
    if wrong or not found:
        raise AssertionError(f"valid data was refused: {'; '.join(wrong)}")


@schemathesis.check
def success_says_what_the_status_says(ctx, response, case):
    """`success` has no `const` in the document: a generator of clients does not understand it."""
    if not response.headers.get("content-type", [""])[0].startswith("application/json") or not response.content:
        return
    body = response.json()
    if isinstance(body, dict) and "success" in body and body["success"] is not (response.status_code < 400):
        raise AssertionError(f"success is {body['success']} with status {response.status_code}")


@schemathesis.check
def error_code_is_listed(ctx, response, case):
    """All failures have one schema, so that what an operation may answer stands beside it: `x-error-codes`."""
    if response.status_code < 400 or response.status_code == 405 or not response.content:
        return
    if not response.headers.get("content-type", [""])[0].startswith("application/json"):
        return
    code = response.json().get("error", {}).get("code")
    if code is not None and code not in case.operation.definition.raw["x-error-codes"]:
        raise AssertionError(f"{code} is not among the codes of the operation")


@schemathesis.check
def a_bad_change_is_refused_by_itself(ctx, response, case):
    """POST /api/sync judges each change by itself: what the document forbids in one is refused in the reply (HA-7). Stands in for
    `negative_data_rejection` there."""
    if case.operation.path != "/api/sync" or case.meta is None or response.status_code != 200:
        return
    # Unknown headers are no mistake.
    if not any(place.value == "body" and part.mode == GenerationMode.NEGATIVE for place, part in case.meta.components.items()):
        return
    if not any(found["outcome"] == "refused" for found in response.json()["data"]["results"]):
        raise AssertionError("what the document forbids was taken")
