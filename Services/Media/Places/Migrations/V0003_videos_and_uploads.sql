-- Videos (PL-1).
ALTER TABLE place_post
    -- 'mp4' or 'webm' of a video, which is posts/<user>/<id>/video.<format>; null for a photo.
    ADD COLUMN video_format text,
    -- How long it lasts, in milliseconds.
    ADD COLUMN video_length bigint,
    -- The presigned upload that it was made from; null when the file came in a form. A repeat finds its post by it.
    ADD COLUMN upload_id uuid;
CREATE UNIQUE INDEX place_post_upload ON place_post (upload_id) WHERE upload_id IS NOT NULL;

-- Files that clients have announced and send by presigned links (PL-1). In the blob store: uploads/<user>/<id>.
CREATE TABLE place_upload (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    size bigint NOT NULL,
    content_type text NOT NULL,
    -- In hex, as announced.
    sha256 text NOT NULL,
    -- The only post that may be made of it; null until it is named.
    post_id uuid,
    -- Whether that post is made.
    is_used boolean NOT NULL DEFAULT false,
    -- When the job deletes the file and the row, by the machine's clock.
    due_at timestamptz NOT NULL
);
CREATE INDEX place_upload_owner ON place_upload (user_id);
CREATE INDEX place_upload_due ON place_upload (due_at);
