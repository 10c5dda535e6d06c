"""The analysis on statements whose verdict is known."""
import unittest

import keyed

CATALOG = keyed.Catalog(
    {"streak": ["id", "kind"], "contribution": ["streak_id", "user_id", "on_date"], "badge": ["user_id", "badge"], "outage": ["id"]},
    {
        "streak": {"key": "id", "group": "streak"}, "contribution": {"key": "streak_id", "group": "streak"},
        "badge": {"key": "user_id", "group": "user"}, "outage": {"reference": "few rows"},
    },
)
CASES = [
    ("keeps its key", "SELECT kind FROM streak WHERE id = $1"),
    ("keeps its key", "SELECT 1 FROM streak s JOIN contribution c ON c.streak_id = s.id WHERE s.id = $1"),
    ("keeps its key", "SELECT 1 FROM streak s, contribution c, outage WHERE s.id = $1 AND c.streak_id = $1"),
    ("keeps its key", "WITH mine AS (SELECT id FROM streak WHERE id = $1) SELECT 1 FROM contribution c JOIN mine m ON c.streak_id = m.id"),
    ("keeps its key", "INSERT INTO badge (user_id, badge) VALUES ($1, $2) ON CONFLICT DO NOTHING"),
    ("keeps its key", "INSERT INTO badge (user_id, badge) SELECT $1, $2 WHERE NOT EXISTS (SELECT FROM badge WHERE user_id = $1)"),
    ("keeps its key", "SELECT 1 FROM outage"),
    ("several keys", "SELECT kind FROM streak WHERE id = ANY($1)"),
    ("several keys", "INSERT INTO badge (user_id, badge) SELECT * FROM unnest($1, $2)"),
    ("several keys", "UPDATE streak SET kind = new.kind FROM unnest($1, $2) AS new (id, kind) WHERE streak.id = new.id"),
    ("two keys", "SELECT 1 FROM badge a, badge b WHERE a.user_id = $1 AND b.user_id = $2"),
    ("two keys", "SELECT 1 FROM streak, badge WHERE id = $1 AND user_id = $2"),
    ("every shard", "SELECT 1 FROM streak"),
    ("every shard", "SELECT 1 FROM streak WHERE id = $1 OR kind = $2"),
    ("every shard", "SELECT 1 FROM streak WHERE NOT id = $1"),
    ("every shard", "SELECT 1 FROM streak WHERE id > $1"),
    ("every shard", "SELECT streak_id FROM contribution WHERE user_id = $1"),
    ("every shard", "SELECT 1 FROM streak s WHERE id = $1 AND EXISTS (SELECT FROM contribution c WHERE c.user_id = $2)"),
    ("every shard", "DELETE FROM streak WHERE id IN (SELECT streak_id FROM contribution WHERE on_date < $1)"),
    ("every shard", "INSERT INTO badge (user_id, badge) SELECT user_id, $1 FROM contribution WHERE on_date = $2"),
    ("every shard", "SELECT 1 FROM streak WHERE id = $1 UNION ALL SELECT 1 FROM streak WHERE kind = $2"),
]


class Verdicts(unittest.TestCase):
    def test_verdicts(self):
        for expected, statement in CASES:
            with self.subTest(statement):
                self.assertEqual(keyed.Analysis(statement, CATALOG).verdict()[0], expected)

    def test_what_citus_refuses(self):
        for start, statement in [
            ("refused: FOR UPDATE", "SELECT 1 FROM streak WHERE kind = $1 FOR UPDATE SKIP LOCKED"),
            ("refused: a volatile function", "DELETE FROM contribution WHERE on_date < clock_timestamp()"),
            ("refused or planned in steps", "SELECT 1 FROM contribution c JOIN badge b ON b.user_id = c.user_id"),
            ("runs on every shard", "SELECT 1 FROM streak"),
            ("runs", "SELECT 1 FROM streak WHERE id = $1 FOR UPDATE"),
        ]:
            with self.subTest(statement):
                self.assertTrue(keyed.Analysis(statement, CATALOG).verdict()[2].startswith(start))

    def test_skeletons(self):
        one = keyed.skeleton("SELECT $1 FROM streak WHERE id = $2")
        self.assertEqual(one, keyed.skeleton("SELECT id,  kind FROM streak WHERE id = $1"))
        self.assertNotEqual(one, keyed.skeleton("SELECT $1 FROM streak WHERE kind = $2"))
        self.assertNotEqual(one, keyed.skeleton("SELECT (SELECT 1 FROM badge) FROM streak WHERE id = $2"))


if __name__ == "__main__":
    unittest.main()
