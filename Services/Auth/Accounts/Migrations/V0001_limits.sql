-- Registrations of all clients that were asked for within the last hour, by minute.
CREATE TABLE registration_minute (
    minute timestamptz PRIMARY KEY,
    asked integer NOT NULL
);

-- Peeks of the guests of one client address on a date (AU-8), by its hash.
CREATE TABLE guest_address (
    key bytea PRIMARY KEY,
    peeks_used integer NOT NULL,
    peeks_on date NOT NULL
);
CREATE INDEX guest_address_date ON guest_address (peeks_on);

-- Client addresses from which an account was signed in to lately, by hash in base64url: guesses from elsewhere do not lock them out (AU-12).
CREATE TABLE known_client (
    account_id uuid NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    client text NOT NULL,
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, client)
);
CREATE INDEX known_client_age ON known_client (seen_at);
