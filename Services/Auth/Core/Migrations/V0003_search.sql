-- Administrators search by the beginning of an address or a name, compared byte by byte. Deleted accounts are found too.
CREATE INDEX account_search_email ON account (email_key COLLATE "C", id);
CREATE INDEX account_search_username ON account (username COLLATE "C", id);
CREATE INDEX account_search_name ON account (lower(display_name) COLLATE "C", id);
