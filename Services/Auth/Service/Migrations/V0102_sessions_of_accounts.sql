-- All sessions of an account, ended ones too: whoever deletes an account takes them along.
CREATE INDEX session_of_account ON session (account_id);
DROP INDEX session_account;
