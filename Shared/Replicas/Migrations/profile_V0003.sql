-- Which terms of service a person has accepted (AU-9); empty: none.
ALTER TABLE profile_replica ADD COLUMN terms_version text NOT NULL DEFAULT '';
