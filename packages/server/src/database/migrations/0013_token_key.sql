-- An account token ends with the API key that minted it. The key of older tokens is not known, so they end now; they
-- would live for a day at most.
delete from account_token;
alter table account_token add column api_key_id uuid not null references api_key;
