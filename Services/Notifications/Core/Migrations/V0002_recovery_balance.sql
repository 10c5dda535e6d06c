-- Recovery tokens of users, fed by billing's RecoveryBalanceChanged (D13): the text about a broken streak says whether its reader has one.
CREATE TABLE recovery_balance (
    user_id uuid PRIMARY KEY,
    version bigint NOT NULL,
    balance integer NOT NULL
);
