-- How many circles a user has made or joined on a date: each leaves rows that outlive it.
CREATE TABLE circle_entry (
    user_id uuid PRIMARY KEY,
    on_date date NOT NULL,
    entries integer NOT NULL
);
