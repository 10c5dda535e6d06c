-- Whether the account was there before its Apple user: it does not end with the Apple Account then. Only adds: the release before this one writes and
-- reads on; what it links keeps its password, which says the same.
ALTER TABLE apple_identity ADD COLUMN is_linked boolean NOT NULL DEFAULT false;
