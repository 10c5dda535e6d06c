-- Pictures that must not be served although their owner's are (PH-6): of posts that reports have hidden, and of snaps that their author has
-- deleted. A job brings the blob store in line.
CREATE TABLE closed_picture (
    -- A blob of the folder that is closed.
    key text NOT NULL,
    user_id uuid NOT NULL,
    is_closed boolean NOT NULL,
    -- Grows with each change, so that a job that was overtaken does not note its own as done.
    revision integer NOT NULL DEFAULT 1,
    -- When the blob store must be brought in line, by the machine's clock; null when it is.
    due_at timestamptz,
    PRIMARY KEY (user_id, key)
);
CREATE INDEX closed_picture_due ON closed_picture (due_at) WHERE due_at IS NOT NULL;
