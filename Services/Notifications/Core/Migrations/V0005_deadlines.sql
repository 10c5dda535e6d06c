ALTER TABLE notification
    -- Until when its reader can do what it offers or asks for; null: it offers nothing, or was made before this column. The hours that
    -- are left are made from it when the text is made.
    ADD COLUMN deadline timestamptz;
