-- Operations that were told NO_RECOVERY_TOKENS: a repeat that arrives late must not spend a token that was earned since (RC-4).
CREATE TABLE token_refusal (
    operation_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    refused_at timestamptz NOT NULL
);
CREATE INDEX token_refusal_age ON token_refusal (refused_at);
