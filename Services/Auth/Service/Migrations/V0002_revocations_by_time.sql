-- Gateways ask every second what was revoked lately.
CREATE INDEX session_revocation ON session (revoked_at, id) WHERE revoked_at IS NOT NULL;
