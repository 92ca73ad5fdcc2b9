-- Serves releases from 0060 on: they make no app with a certificate, and no flow that asks for mailboxes of others.

-- In PEM, and public. The column "secret" then holds its private key.
alter table oauth_app add column certificate text;
alter table connect_session add column wants_shared boolean not null default false;
