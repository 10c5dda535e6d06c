-- Experience points (CI-6): every posting, once by its key, and what a user's postings come to.
CREATE TABLE xp_account (
    user_id uuid PRIMARY KEY,
    -- What can be spent.
    balance bigint NOT NULL CHECK (balance >= 0),
    -- Everything ever earned; decides the level. Spending does not lower it, and what is given back does not raise it.
    lifetime bigint NOT NULL CHECK (lifetime >= 0)
);

CREATE TABLE xp_posting (
    user_id uuid NOT NULL,
    -- Names the cause: check_in:<streak>:<date>, milestone:<streak>:<count>, …
    key text NOT NULL,
    -- Negative for what is spent.
    amount integer NOT NULL,
    -- check_in, milestone, perfect_week, perfect_month, freeze_purchase, repair, refund, …
    cause text NOT NULL,
    posted_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, key)
);
CREATE INDEX xp_posting_latest ON xp_posting (user_id, posted_at DESC, key);
