-- The friend list in its whole order from an index: nothing to sort.
CREATE INDEX friendship_low_order ON friendship (user_low, state, since DESC, id DESC);
CREATE INDEX friendship_high_order ON friendship (user_high, state, since DESC, id DESC);
DROP INDEX friendship_low;
DROP INDEX friendship_high;
