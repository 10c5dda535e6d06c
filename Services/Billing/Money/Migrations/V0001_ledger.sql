-- The double-entry ledger (BI-3). An account of a user (kind 0), or the user's part of a system account (SystemAccount of the domain): so
-- postings of different users never wait for each other. The user's row is the lock of the ledger of that user and currency.
CREATE TABLE account (
    user_id uuid NOT NULL,
    -- Currency of the proto.
    currency smallint NOT NULL CHECK (currency IN (1, 2)),
    kind smallint NOT NULL CHECK (kind BETWEEN 0 AND 5),
    balance bigint NOT NULL DEFAULT 0 CHECK (kind <> 0 OR balance >= 0),
    -- Grows with every posting (D13).
    version bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, currency, kind)
);
-- For the sum over all accounts, which is zero.
CREATE INDEX account_sum ON account (currency) INCLUDE (balance);

CREATE TABLE ledger_transaction (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    currency smallint NOT NULL,
    -- EntryType of the domain.
    type smallint NOT NULL,
    streak_id uuid,
    -- The administrator of a grant.
    actor_id uuid,
    -- The grant that it takes back.
    reverses uuid UNIQUE,
    note text,
    -- What was posted: the same thing is never posted twice (BI-3).
    posting_key text NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (user_id, posting_key)
);
CREATE INDEX ledger_transaction_actor ON ledger_transaction (actor_id) WHERE actor_id IS NOT NULL;
CREATE INDEX ledger_transaction_log ON ledger_transaction (user_id, currency, created_at DESC, id DESC);

CREATE TABLE posting (
    transaction_id uuid NOT NULL REFERENCES ledger_transaction (id) ON DELETE CASCADE,
    -- Of the account.
    kind smallint NOT NULL,
    amount bigint NOT NULL CHECK (amount <> 0),
    balance_after bigint NOT NULL CHECK (kind <> 0 OR balance_after >= 0),
    PRIMARY KEY (transaction_id, kind)
);

-- Holds for every writer: a transaction that does not add up to zero is not committed.
CREATE FUNCTION require_balance() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF (SELECT sum(amount) FROM posting WHERE transaction_id = NEW.transaction_id) <> 0 THEN
        RAISE EXCEPTION 'the postings of % do not add up to zero', NEW.transaction_id;
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER posting_balance AFTER INSERT OR UPDATE ON posting
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION require_balance();
