-- What is left of somebody goes with the account (AU-7).
CREATE INDEX token_refusal_user ON token_refusal (user_id);
