-- All blocks of a user, ended ones too: they are deleted with the account (AU-7), and a new block of the same pair finds the ended one.
CREATE INDEX block_replica_by_blocker ON block_replica (blocker, blocked);
CREATE INDEX block_replica_by_blocked ON block_replica (blocked, blocker);
DROP INDEX block_replica_blocker;
DROP INDEX block_replica_blocked;
