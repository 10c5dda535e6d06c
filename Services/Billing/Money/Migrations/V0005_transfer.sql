-- Packs move with a TRANSFER (BI-1): steps of one purchase may be for different users. Null: of the purchase's user, as written by older
-- releases. Kinds 3 and 4 of a step: what is unused is taken from one user, and given to another.
ALTER TABLE goods_operation ADD COLUMN user_id uuid;
UPDATE goods_operation o SET user_id = p.user_id FROM purchase p WHERE p.id = o.purchase_id;
CREATE INDEX goods_operation_user ON goods_operation (user_id);

-- What a step of kind 3 took, and the next one gives.
CREATE TABLE moved_good (
    operation_id uuid NOT NULL REFERENCES goods_operation (id) ON DELETE CASCADE,
    good text NOT NULL,
    count integer NOT NULL CHECK (count > 0),
    PRIMARY KEY (operation_id, good)
);
CREATE INDEX purchase_owner ON purchase (user_id) WHERE store IS NOT NULL;
