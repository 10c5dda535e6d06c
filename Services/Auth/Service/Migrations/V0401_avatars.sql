-- Of the avatar that media told of last; an older one never overwrites a newer (D13).
ALTER TABLE account ADD COLUMN avatar_version bigint NOT NULL DEFAULT 0;
