alter table account
  -- Whether the grant allows calendars and contacts; null where the account does not sign in by OAuth.
  add column granted_calendar boolean,
  add column granted_contacts boolean;

update account set
  granted_calendar = exists (
    select from unnest(scopes) as scope where scope ~ '^https://www\.googleapis\.com/auth/calendar(\.|$)'),
  granted_contacts = exists (
    select from unnest(scopes) as scope where scope ~ '^https://www\.googleapis\.com/auth/contacts(\.|$)')
from oauth_grant where account_id = account.id;
