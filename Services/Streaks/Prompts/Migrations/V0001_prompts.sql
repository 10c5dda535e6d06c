-- Prompts that a member has written for a streak, in the order of rotation (PW-1). Shown while the member is on a premium plan.
CREATE TABLE streak_prompts (
    streak_id uuid PRIMARY KEY REFERENCES streak (id) ON DELETE CASCADE,
    set_by uuid NOT NULL,
    set_at timestamptz NOT NULL,
    texts text[] NOT NULL,
    -- Beside the texts; null where the app's own is shown.
    emojis text[] NOT NULL,
    CHECK (cardinality(texts) = cardinality(emojis))
);
CREATE INDEX streak_prompts_set_by ON streak_prompts (set_by);
