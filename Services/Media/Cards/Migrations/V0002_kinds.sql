-- Cards about streaks of every kind (MC-1): those of one person, and those of a circle, show one user.
ALTER TABLE milestone_card ALTER COLUMN second_user DROP NOT NULL;
ALTER TABLE milestone_card
    -- What the card says of the streak's kind: its emoji, what the streak is about, and the name of the milestone.
    ADD COLUMN emoji text NOT NULL DEFAULT '🔥',
    ADD COLUMN subject text NOT NULL DEFAULT '',
    ADD COLUMN title text NOT NULL DEFAULT '',
    -- The circle whose streak it is: the page ends when its user leaves it.
    ADD COLUMN circle_id uuid;

-- Each member of a circle has a card of their own. Of two friends the smaller id is first, so they still share one.
DROP INDEX milestone_card_subject;
CREATE UNIQUE INDEX milestone_card_subject ON milestone_card (streak_id, milestone, style, last_day, first_user) WHERE state <> 2;
CREATE INDEX milestone_card_circle ON milestone_card (circle_id) WHERE circle_id IS NOT NULL;
