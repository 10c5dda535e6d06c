-- All blocks of somebody, ended ones too: they go with the account (AU-7), and whoever looks at a pair anew finds what was ended.
CREATE INDEX block_replica_by_blocker ON block_replica (blocker, blocked);
CREATE INDEX block_replica_by_blocked ON block_replica (blocked, blocker);
DROP INDEX block_replica_blocker;
DROP INDEX block_replica_blocked;
