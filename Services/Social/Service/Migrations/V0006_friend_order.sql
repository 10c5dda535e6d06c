-- The friend list in its whole order and from the index alone: no sorting, no look at the table.
CREATE INDEX friendship_low_order ON friendship (user_low, state, since DESC, id DESC) INCLUDE (user_high);
CREATE INDEX friendship_high_order ON friendship (user_high, state, since DESC, id DESC) INCLUDE (user_low);
DROP INDEX friendship_low;
DROP INDEX friendship_high;
