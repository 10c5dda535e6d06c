-- Limits of what is used on a streak hold for each streak (BI-4): two insured streaks were paid for twice.
ALTER TABLE catalog_item ADD COLUMN limit_per_streak boolean NOT NULL DEFAULT false;
UPDATE catalog_item SET limit_per_streak = true WHERE item IN ('insurance', 'restore');

-- All that premium gives; the words are those of `Perk`. A catalogue that was changed keeps its own.
UPDATE catalog_item SET perks = '{unlimited_streaks,custom_prompts,monthly_recovery_token,more_freezes,cheaper_freezes,free_repair,bonus_xp,double_coins,more_free_dates,automatic_insurance,flame_colors,unlimited_habits,habit_insights,habit_appearance,history_export}'
WHERE kind = 1 AND perks = '{unlimited_streaks,custom_prompts,monthly_recovery_token}';
