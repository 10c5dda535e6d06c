-- Whose totals have changed by what was settled and are not told yet: a row a batch, gone when they are. Ids only, for some seconds.
CREATE TABLE stale_totals (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    users uuid[] NOT NULL,
    noted_at timestamptz NOT NULL
);
