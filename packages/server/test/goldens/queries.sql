-- messages of an account, first page
select row_to_json(summary)::text as json from (
select message.id, message.thread_id as "threadId", message.internet_message_id as "internetMessageId",
message.mailbox_ids as "mailboxIds", message.subject, message."from", message."to", message.cc, message.snippet,
to_char(message.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt", to_char(message.sent_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "sentAt",
message.is_read as "isRead", message.is_flagged as "isFlagged", message.is_draft as "isDraft",
message.has_attachments as "hasAttachments", message.categories, message.direction,
message.outbox_id as "outboxId", message.reference, message.importance from message
where message.account_id = $1 and "message"."received_at" >= (
select coalesce(
now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
'-infinity'
)
from account join tenant on tenant.id = account.tenant_id where account.id = $2 and account.tenant_id = $3 and account.deleted_at is null
) and true
order by "message"."received_at" desc, "message"."id" desc
limit 51
) as summary;

-- messages of an account, a later page
select row_to_json(summary)::text as json from (
select message.id, message.thread_id as "threadId", message.internet_message_id as "internetMessageId",
message.mailbox_ids as "mailboxIds", message.subject, message."from", message."to", message.cc, message.snippet,
to_char(message.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt", to_char(message.sent_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "sentAt",
message.is_read as "isRead", message.is_flagged as "isFlagged", message.is_draft as "isDraft",
message.has_attachments as "hasAttachments", message.categories, message.direction,
message.outbox_id as "outboxId", message.reference, message.importance from message
where message.account_id = $1 and "message"."received_at" >= (
select coalesce(
now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
'-infinity'
)
from account join tenant on tenant.id = account.tenant_id where account.id = $2 and account.tenant_id = $3 and account.deleted_at is null
) and ("message"."received_at", "message"."id")
< ($4::timestamptz, $5::uuid)
order by "message"."received_at" desc, "message"."id" desc
limit 51
) as summary;

-- messages of an account, every filter
select row_to_json(summary)::text as json from (
select message.id, message.thread_id as "threadId", message.internet_message_id as "internetMessageId",
message.mailbox_ids as "mailboxIds", message.subject, message."from", message."to", message.cc, message.snippet,
to_char(message.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt", to_char(message.sent_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "sentAt",
message.is_read as "isRead", message.is_flagged as "isFlagged", message.is_draft as "isDraft",
message.has_attachments as "hasAttachments", message.categories, message.direction,
message.outbox_id as "outboxId", message.reference, message.importance from message
where message.account_id = $1 and "message"."received_at" >= (
select coalesce(
now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
'-infinity'
)
from account join tenant on tenant.id = account.tenant_id where account.id = $2 and account.tenant_id = $3 and account.deleted_at is null
) and ("message"."received_at", "message"."id")
< ($4::timestamptz, $5::uuid) and "message"."received_at" >= $6 and "message"."received_at" < $7 and strpos(message.sender_text, $8) <> 0 and strpos(message.recipients_text, $9) <> 0 and message.is_read = $10 and message.is_flagged = $11 and message.has_attachments = $12 and message.importance = $13
order by "message"."received_at" desc, "message"."id" desc
limit 51
) as summary;

-- messages of a mailbox, a later page
select row_to_json(summary)::text as json from (
select message.id, message.thread_id as "threadId", message.internet_message_id as "internetMessageId",
message.mailbox_ids as "mailboxIds", message.subject, message."from", message."to", message.cc, message.snippet,
to_char(message.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt", to_char(message.sent_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "sentAt",
message.is_read as "isRead", message.is_flagged as "isFlagged", message.is_draft as "isDraft",
message.has_attachments as "hasAttachments", message.categories, message.direction,
message.outbox_id as "outboxId", message.reference, message.importance from message_mailbox as held cross join lateral (
select * from message where message.id = held.message_id and message.account_id = $1 offset 0
) as message
where held.mailbox_id = (select id from mailbox where id = $2 and account_id = $3) and "held"."received_at" >= (
select coalesce(
now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
'-infinity'
)
from account join tenant on tenant.id = account.tenant_id where account.id = $4 and account.tenant_id = $5 and account.deleted_at is null
) and ("held"."received_at", "held"."message_id")
< ($6::timestamptz, $7::uuid)
order by "held"."received_at" desc, "held"."message_id" desc
limit 51
) as summary;

-- messages of a mailbox, every filter
select row_to_json(summary)::text as json from (
select message.id, message.thread_id as "threadId", message.internet_message_id as "internetMessageId",
message.mailbox_ids as "mailboxIds", message.subject, message."from", message."to", message.cc, message.snippet,
to_char(message.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt", to_char(message.sent_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "sentAt",
message.is_read as "isRead", message.is_flagged as "isFlagged", message.is_draft as "isDraft",
message.has_attachments as "hasAttachments", message.categories, message.direction,
message.outbox_id as "outboxId", message.reference, message.importance from message_mailbox as held cross join lateral (
select * from message where message.id = held.message_id and message.account_id = $1 offset 0
) as message
where held.mailbox_id = (select id from mailbox where id = $2 and account_id = $3) and "held"."received_at" >= (
select coalesce(
now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
'-infinity'
)
from account join tenant on tenant.id = account.tenant_id where account.id = $4 and account.tenant_id = $5 and account.deleted_at is null
) and ("held"."received_at", "held"."message_id")
< ($6::timestamptz, $7::uuid) and "held"."received_at" >= $8 and "held"."received_at" < $9 and strpos(message.sender_text, $10) <> 0 and strpos(message.recipients_text, $11) <> 0 and message.is_read = $12 and message.is_flagged = $13 and message.has_attachments = $14 and message.importance = $15
order by "held"."received_at" desc, "held"."message_id" desc
limit 51
) as summary;

-- threads of an account
select row_to_json(summary)::text as json, to_char(latest.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as time, latest.id
from (
select message.thread_id, message.received_at, message.id from message
where message.account_id = $1 and message.thread_id is not null
and message.received_at >= (
select coalesce(
now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
'-infinity'
)
from account join tenant on tenant.id = account.tenant_id where account.id = $2
)
and ("message"."received_at", "message"."id")
< ($3::timestamptz, $4::uuid)
and (
select true from message as later
where later.account_id = $5 and later.thread_id = message.thread_id
and (later.received_at, later.id) > (message.received_at, message.id)
order by later.received_at, later.id limit 1
) is not true
order by message.received_at desc, message.id desc limit 26) as latest
cross join lateral (
with member as materialized (
select id, thread_id, mailbox_ids, subject, "from", "to", cc, snippet, received_at, is_read, is_flagged,
is_draft, has_attachments
from message
where account_id = $6 and thread_id = latest.thread_id and received_at >= (
select coalesce(
now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
'-infinity'
)
from account join tenant on tenant.id = account.tenant_id where account.id = $7
)
)
select newest.thread_id as id, newest.subject, newest.snippet,
(
select coalesce(json_agg(person order by since, field, nth, person), '[]') from (
select distinct on (lower(person ->> 'address'), case when person ->> 'address' = '' then person ->> 'name' end) person, since, field, nth
from (
select field, people, min(received_at) as since
from member cross join lateral (values (1, jsonb_build_array("from")), (2, "to"), (3, cc)) as named (field, people)
group by field, people
) as circle cross join lateral jsonb_array_elements(people) with ordinality as listed (person, nth)
where person <> 'null'
order by lower(person ->> 'address'), case when person ->> 'address' = '' then person ->> 'name' end, (person ->> 'name') is null, since, field, nth, person
) as participant) as participants,
total."messageCount", total."unreadCount", total."isFlagged", total."hasAttachments", total."hasDrafts",
array(select distinct unnest(mailbox_ids) from member order by 1) as "mailboxIds",
newest.id as "latestMessageId", to_char(newest.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "lastMessageAt"
from (select * from member order by received_at desc, id desc limit 1) as newest
cross join (
select count(*)::int as "messageCount", (count(*) filter (where not is_read))::int as "unreadCount",
bool_or(is_flagged) as "isFlagged", bool_or(has_attachments) as "hasAttachments",
bool_or(is_draft) as "hasDrafts"
from member
) as total) as summary
order by latest.received_at desc, latest.id desc;

-- threads of a mailbox
select row_to_json(summary)::text as json, to_char(latest.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as time, latest.id
from (
select message.thread_id, held.received_at, held.message_id as id
from message_mailbox as held cross join lateral (
select thread_id from message where id = held.message_id and account_id = $1 offset 0
) as message
where held.mailbox_id = (select id from mailbox where id = $2 and account_id = $3) and message.thread_id is not null
and held.received_at >= (
select coalesce(
now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
'-infinity'
)
from account join tenant on tenant.id = account.tenant_id where account.id = $4
)
and ("held"."received_at", "held"."message_id")
< ($5::timestamptz, $6::uuid)
and (
select true from message as later
where later.account_id = $7 and later.thread_id = message.thread_id
and (later.received_at, later.id) > (held.received_at, held.message_id)
and later.mailbox_ids @> array[$8::uuid]
order by later.received_at, later.id limit 1
) is not true
order by held.received_at desc, held.message_id desc limit 26) as latest
cross join lateral (
with member as materialized (
select id, thread_id, mailbox_ids, subject, "from", "to", cc, snippet, received_at, is_read, is_flagged,
is_draft, has_attachments
from message
where account_id = $9 and thread_id = latest.thread_id and received_at >= (
select coalesce(
now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
'-infinity'
)
from account join tenant on tenant.id = account.tenant_id where account.id = $10
)
)
select newest.thread_id as id, newest.subject, newest.snippet,
(
select coalesce(json_agg(person order by since, field, nth, person), '[]') from (
select distinct on (lower(person ->> 'address'), case when person ->> 'address' = '' then person ->> 'name' end) person, since, field, nth
from (
select field, people, min(received_at) as since
from member cross join lateral (values (1, jsonb_build_array("from")), (2, "to"), (3, cc)) as named (field, people)
group by field, people
) as circle cross join lateral jsonb_array_elements(people) with ordinality as listed (person, nth)
where person <> 'null'
order by lower(person ->> 'address'), case when person ->> 'address' = '' then person ->> 'name' end, (person ->> 'name') is null, since, field, nth, person
) as participant) as participants,
total."messageCount", total."unreadCount", total."isFlagged", total."hasAttachments", total."hasDrafts",
array(select distinct unnest(mailbox_ids) from member order by 1) as "mailboxIds",
newest.id as "latestMessageId", to_char(newest.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "lastMessageAt"
from (select * from member order by received_at desc, id desc limit 1) as newest
cross join (
select count(*)::int as "messageCount", (count(*) filter (where not is_read))::int as "unreadCount",
bool_or(is_flagged) as "isFlagged", bool_or(has_attachments) as "hasAttachments",
bool_or(is_draft) as "hasDrafts"
from member
) as total) as summary
order by latest.received_at desc, latest.id desc;

-- a thread
select row_to_json(whole) as thread from (
select summary.*, (
select json_agg(listed) from (
select message.id, message.thread_id as "threadId", message.internet_message_id as "internetMessageId",
message.mailbox_ids as "mailboxIds", message.subject, message."from", message."to", message.cc, message.snippet,
to_char(message.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt", to_char(message.sent_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "sentAt",
message.is_read as "isRead", message.is_flagged as "isFlagged", message.is_draft as "isDraft",
message.has_attachments as "hasAttachments", message.categories, message.direction,
message.outbox_id as "outboxId", message.reference, message.importance from message
where message.account_id = $1 and message.thread_id = $2
and message.received_at >= (
select coalesce(
now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
'-infinity'
)
from account join tenant on tenant.id = account.tenant_id where account.id = $3
)
order by message.received_at, message.id
) as listed
) as messages
from (
with member as materialized (
select id, thread_id, mailbox_ids, subject, "from", "to", cc, snippet, received_at, is_read, is_flagged,
is_draft, has_attachments
from message
where account_id = $4 and thread_id = $5 and received_at >= (
select coalesce(
now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
'-infinity'
)
from account join tenant on tenant.id = account.tenant_id where account.id = $6
)
)
select newest.thread_id as id, newest.subject, newest.snippet,
(
select coalesce(json_agg(person order by since, field, nth, person), '[]') from (
select distinct on (lower(person ->> 'address'), case when person ->> 'address' = '' then person ->> 'name' end) person, since, field, nth
from (
select field, people, min(received_at) as since
from member cross join lateral (values (1, jsonb_build_array("from")), (2, "to"), (3, cc)) as named (field, people)
group by field, people
) as circle cross join lateral jsonb_array_elements(people) with ordinality as listed (person, nth)
where person <> 'null'
order by lower(person ->> 'address'), case when person ->> 'address' = '' then person ->> 'name' end, (person ->> 'name') is null, since, field, nth, person
) as participant) as participants,
total."messageCount", total."unreadCount", total."isFlagged", total."hasAttachments", total."hasDrafts",
array(select distinct unnest(mailbox_ids) from member order by 1) as "mailboxIds",
newest.id as "latestMessageId", to_char(newest.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "lastMessageAt"
from (select * from member order by received_at desc, id desc limit 1) as newest
cross join (
select count(*)::int as "messageCount", (count(*) filter (where not is_read))::int as "unreadCount",
bool_or(is_flagged) as "isFlagged", bool_or(has_attachments) as "hasAttachments",
bool_or(is_draft) as "hasDrafts"
from member
) as total) as summary
) as whole;

-- messages to store
with found as (
select looked.id, looked.received_at, placed.*
from (
select id, received_at from message
where account_id = $1 and true
order by received_at desc, id desc limit $2) as looked
cross join lateral (
select is_draft, size::float8 as size, false as is_renumbered, false as is_kept,
mailbox.source, sync_cursor.cursor, held.uid::float8 as uid, message.remote_id,
json_build_object('internetMessageId', message.internet_message_id, 'identity', message.identity,
'subject', message.subject, 'sentAtMs', (extract(epoch from message.sent_at) * 1000)::float8, 'isSuspect', sync_cursor.suspected_at is not null) as known
from message join message_mailbox as held
on held.message_id = message.id and (held.uid is not null or message.remote_id is not null)
join mailbox on mailbox.id = held.mailbox_id and mailbox.source is not null
left join sync_cursor on sync_cursor.account_id = mailbox.account_id and sync_cursor.source = mailbox.source
where message.id = looked.id and not is_draft and missing_look is null and coalesce(size, 0) <= $3
limit 1
) as placed
where not exists (select from message_blob where message_id = looked.id offset 0)
order by looked.received_at desc, looked.id desc limit $4
)
select found.*, last.id as end_id, last.received_at as end_received_at
from (select count(*) < $5 as is_short from found) as listed
left join lateral (
select id, received_at from message
where account_id = $6 and listed.is_short
order by received_at desc, id desc offset $7 limit 1
) as last on true
left join found on true
order by found.received_at desc, found.id desc;

-- messages to store, farther down
with found as (
select looked.id, looked.received_at, placed.*
from (
select id, received_at from message
where account_id = $1 and true
and (received_at, id) < ($2, $3::uuid)
order by received_at desc, id desc limit $4) as looked
cross join lateral (
select is_draft, size::float8 as size, false as is_renumbered, false as is_kept,
mailbox.source, sync_cursor.cursor, held.uid::float8 as uid, message.remote_id,
json_build_object('internetMessageId', message.internet_message_id, 'identity', message.identity,
'subject', message.subject, 'sentAtMs', (extract(epoch from message.sent_at) * 1000)::float8, 'isSuspect', sync_cursor.suspected_at is not null) as known
from message join message_mailbox as held
on held.message_id = message.id and (held.uid is not null or message.remote_id is not null)
join mailbox on mailbox.id = held.mailbox_id and mailbox.source is not null
left join sync_cursor on sync_cursor.account_id = mailbox.account_id and sync_cursor.source = mailbox.source
where message.id = looked.id and not is_draft and missing_look is null and coalesce(size, 0) <= $5
limit 1
) as placed
where not exists (select from message_blob where message_id = looked.id offset 0)
order by looked.received_at desc, looked.id desc limit $6
)
select found.*, last.id as end_id, last.received_at as end_received_at
from (select count(*) < $7 as is_short from found) as listed
left join lateral (
select id, received_at from message
where account_id = $8 and listed.is_short
and (received_at, id) < ($9, $10::uuid)
order by received_at desc, id desc offset $11 limit 1
) as last on true
left join found on true
order by found.received_at desc, found.id desc;

-- new messages to store
select looked.id, looked.received_at, placed.*
from (
select message.id, received_at, nth
from unnest($1::uuid[]) with ordinality as told (id, nth) join message on message.id = told.id
where account_id = $2
) as looked
cross join lateral (
select is_draft, size::float8 as size, false as is_renumbered, false as is_kept,
mailbox.source, sync_cursor.cursor, held.uid::float8 as uid, message.remote_id,
json_build_object('internetMessageId', message.internet_message_id, 'identity', message.identity,
'subject', message.subject, 'sentAtMs', (extract(epoch from message.sent_at) * 1000)::float8, 'isSuspect', sync_cursor.suspected_at is not null) as known
from message join message_mailbox as held
on held.message_id = message.id and (held.uid is not null or message.remote_id is not null)
join mailbox on mailbox.id = held.mailbox_id and mailbox.source is not null
left join sync_cursor on sync_cursor.account_id = mailbox.account_id and sync_cursor.source = mailbox.source
where message.id = looked.id and not is_draft and missing_look is null and coalesce(size, 0) <= $3
limit 1
) as placed
where not exists (select from message_blob where message_id = looked.id offset 0)
order by nth;

-- accounts that store every message
select account.id, stamp::text as version, initialized_at is not null as "isInitialized"
from unnest(
$1::uuid[], $2::uuid[],
$3::bigint[]
) as held (id, instance_id, epoch)
join account_half on account_id = held.id and kind = 'mail' and owner_instance = instance_id and owner_epoch = epoch
join account on account.id = account_id join tenant on tenant.id = account.tenant_id
where tenant.suspended_at is null
and coalesce(account.settings_override ->> 'bodyStorage', tenant.settings ->> 'bodyStorage') = 'full';

-- stored bodies to index
with looked as (
select id, message_id, tenant_id, account_id from message_blob
where message_id is not null and not is_indexed and id > $1
order by id limit $2
)
select looked.*, account.owner_instance is not distinct from $3::uuid and account.deleted_at is null
and exists (select from message_search where message_search.message_id = looked.message_id offset 0) as is_own
from looked join account on account.id = looked.account_id
order by looked.id;

-- accounts whose documents to rewrite
select account_id as id, account_half.tenant_id, search_version
from account_half join account on account.id = account_id
where kind = 'mail' and deleted_at is null and search_version < $1
and (search_version, account_id) > ($2, $3::uuid)
order by search_version, account_id limit $4;

-- documents to rewrite
with found as (
select looked.id, looked.received_at, whole.*
from (
select id, received_at from message
where account_id = $1 and true
and (received_at, id) < ($2, $3::uuid)
order by received_at desc, id desc limit $4) as looked
cross join lateral (
select message.subject, message."from", message."to", message.cc, message.bcc, message.snippet,
blob.id as "blobId", written.message_id is null as is_missing
from message
left join message_blob as blob on blob.message_id = message.id
left join message_search as written on written.message_id = message.id
where message.id = looked.id
) as whole
where not exists (
select from message_search where message_id = looked.id and version >= $5 offset 0
)
order by looked.received_at desc, looked.id desc limit $6
)
select found.*, last.id as end_id, last.received_at as end_received_at
from (select count(*) < $7 as is_short from found) as listed
left join lateral (
select id, received_at from message
where account_id = $8 and listed.is_short
and (received_at, id) < ($9, $10::uuid)
order by received_at desc, id desc offset $11 limit 1
) as last on true
left join found on true
order by found.received_at desc, found.id desc;

-- a search for words
with found as materialized (
select search.message_id, search.received_at from message_search as search
where search.account_id = $1 and search.document @@ $2::tsquery
and search.received_at >= (
select coalesce(
now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
'-infinity'
)
from account join tenant on tenant.id = account.tenant_id where account.id = $3
) and ("search"."received_at", "search"."message_id")
< ($4::timestamptz, $5::uuid)
order by search.received_at desc, search.message_id desc limit $6),
matching as materialized (select found.* from found  limit $7),
judged as (
select matching.message_id, matching.received_at, words.rank
from matching cross join lateral (
select ts_rank(document, $8::tsquery) as rank from message_search where message_search.message_id = matching.message_id offset 0
) as words
where true
order by words.rank desc, matching.received_at desc, matching.message_id desc
limit $9
),
page as (
select judged.*, row_to_json(summary)::text as json
from judged cross join lateral (
select message.id, message.thread_id as "threadId", message.internet_message_id as "internetMessageId",
message.mailbox_ids as "mailboxIds", message.subject, message."from", message."to", message.cc, message.snippet,
to_char(message.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt", to_char(message.sent_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "sentAt",
message.is_read as "isRead", message.is_flagged as "isFlagged", message.is_draft as "isDraft",
message.has_attachments as "hasAttachments", message.categories, message.direction,
message.outbox_id as "outboxId", message.reference, message.importance from message where message.id = judged.message_id
) as summary
),
looked as (
select $10 and (matched.is_full or listed.is_full) as is_full, last.*
from (select count(*) >= $11 as is_full from matching) as matched
cross join (select count(*) >= $12 as is_full from found) as listed
left join lateral (
select * from matching where matched.is_full union all select * from found where not matched.is_full
order by received_at, message_id limit 1
) as last on true
)
select looked.is_full, to_char(looked.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as end_time, looked.message_id as end_id,
page.json, page.rank::text as rank, to_char(page.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as time, page.message_id as id
from looked left join page on true
order by page.rank desc, page.received_at desc, page.message_id desc;

-- a search for a phrase, every filter
with found as materialized (
select search.message_id, search.received_at from message_search as search join message_mailbox as held
on held.mailbox_id = $1 and held.received_at = search.received_at
and held.message_id = search.message_id
where search.account_id = $2 and search.document @@ $3::tsquery
and search.received_at >= (
select coalesce(
now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
'-infinity'
)
from account join tenant on tenant.id = account.tenant_id where account.id = $4
) and ("search"."received_at", "search"."message_id")
< ($5::timestamptz, $6::uuid) and search.received_at >= $7 and search.received_at < $8
order by search.received_at desc, search.message_id desc limit $9),
matching as materialized (select found.* from found cross join lateral (
select from message where message.id = found.message_id and strpos(message.sender_text, $10) <> 0 and strpos(message.recipients_text, $11) <> 0 and message.is_read = $12 and message.is_flagged = $13 and message.has_attachments = $14 and message.importance = $15 offset 0
) as fitting cross join lateral (
select from message_search as search
where search.message_id = found.message_id and search.document @@ $16::tsquery offset 0
) as worded limit $17),
judged as (
select matching.message_id, matching.received_at, words.rank
from matching cross join lateral (
select ts_rank(document, $18::tsquery) as rank from message_search where message_search.message_id = matching.message_id offset 0
) as words
where true
order by words.rank desc, matching.received_at desc, matching.message_id desc
limit $19
),
page as (
select judged.*, row_to_json(summary)::text as json
from judged cross join lateral (
select message.id, message.thread_id as "threadId", message.internet_message_id as "internetMessageId",
message.mailbox_ids as "mailboxIds", message.subject, message."from", message."to", message.cc, message.snippet,
to_char(message.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt", to_char(message.sent_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "sentAt",
message.is_read as "isRead", message.is_flagged as "isFlagged", message.is_draft as "isDraft",
message.has_attachments as "hasAttachments", message.categories, message.direction,
message.outbox_id as "outboxId", message.reference, message.importance from message where message.id = judged.message_id
) as summary
),
looked as (
select $20 and (matched.is_full or listed.is_full) as is_full, last.*
from (select count(*) >= $21 as is_full from matching) as matched
cross join (select count(*) >= $22 as is_full from found) as listed
left join lateral (
select * from matching where matched.is_full union all select * from found where not matched.is_full
order by received_at, message_id limit 1
) as last on true
)
select looked.is_full, to_char(looked.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as end_time, looked.message_id as end_id,
page.json, page.rank::text as rank, to_char(page.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as time, page.message_id as id
from looked left join page on true
order by page.rank desc, page.received_at desc, page.message_id desc;

-- a search with an exclusion
with found as materialized (
select search.message_id, search.received_at from (select id as message_id, account_id, received_at from message) as search
where search.account_id = $1
and search.received_at >= (
select coalesce(
now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
'-infinity'
)
from account join tenant on tenant.id = account.tenant_id where account.id = $2
) and ("search"."received_at", "search"."message_id")
< ($3::timestamptz, $4::uuid) and search.received_at >= $5 and search.received_at < $6
order by search.received_at desc, search.message_id desc limit $7),
matching as materialized (select found.* from found cross join lateral (
select from message where message.id = found.message_id and strpos(message.sender_text, $8) <> 0 and strpos(message.recipients_text, $9) <> 0 and message.is_read = $10 and message.is_flagged = $11 and message.has_attachments = $12 and message.importance = $13 offset 0
) as fitting cross join lateral (
select from message_search as search
where search.message_id = found.message_id and search.document @@ $14::tsquery offset 0
) as worded limit $15),
judged as (
select matching.message_id, matching.received_at, words.rank
from matching cross join lateral (
select 0::real as rank from message_search where message_search.message_id = matching.message_id offset 0
) as words
where true
order by words.rank desc, matching.received_at desc, matching.message_id desc
limit $16
),
page as (
select judged.*, row_to_json(summary)::text as json
from judged cross join lateral (
select message.id, message.thread_id as "threadId", message.internet_message_id as "internetMessageId",
message.mailbox_ids as "mailboxIds", message.subject, message."from", message."to", message.cc, message.snippet,
to_char(message.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt", to_char(message.sent_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "sentAt",
message.is_read as "isRead", message.is_flagged as "isFlagged", message.is_draft as "isDraft",
message.has_attachments as "hasAttachments", message.categories, message.direction,
message.outbox_id as "outboxId", message.reference, message.importance from message where message.id = judged.message_id
) as summary
),
looked as (
select $17 and (matched.is_full or listed.is_full) as is_full, last.*
from (select count(*) >= $18 as is_full from matching) as matched
cross join (select count(*) >= $19 as is_full from found) as listed
left join lateral (
select * from matching where matched.is_full union all select * from found where not matched.is_full
order by received_at, message_id limit 1
) as last on true
)
select looked.is_full, to_char(looked.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as end_time, looked.message_id as end_id,
page.json, page.rank::text as rank, to_char(page.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as time, page.message_id as id
from looked left join page on true
order by page.rank desc, page.received_at desc, page.message_id desc;

-- a search of a mailbox with an exclusion
with found as materialized (
select search.message_id, search.received_at from message_mailbox as search where search.mailbox_id = (select id from mailbox where id = $1 and account_id = $2)
and search.received_at >= (
select coalesce(
now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
'-infinity'
)
from account join tenant on tenant.id = account.tenant_id where account.id = $3
) and ("search"."received_at", "search"."message_id")
< ($4::timestamptz, $5::uuid)
order by search.received_at desc, search.message_id desc limit $6),
matching as materialized (select found.* from found cross join lateral (
select from message_search as search
where search.message_id = found.message_id and search.document @@ $7::tsquery offset 0
) as worded limit $8),
judged as (
select matching.message_id, matching.received_at, words.rank
from matching cross join lateral (
select 0::real as rank from message_search where message_search.message_id = matching.message_id offset 0
) as words
where true
order by words.rank desc, matching.received_at desc, matching.message_id desc
limit $9
),
page as (
select judged.*, row_to_json(summary)::text as json
from judged cross join lateral (
select message.id, message.thread_id as "threadId", message.internet_message_id as "internetMessageId",
message.mailbox_ids as "mailboxIds", message.subject, message."from", message."to", message.cc, message.snippet,
to_char(message.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt", to_char(message.sent_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "sentAt",
message.is_read as "isRead", message.is_flagged as "isFlagged", message.is_draft as "isDraft",
message.has_attachments as "hasAttachments", message.categories, message.direction,
message.outbox_id as "outboxId", message.reference, message.importance from message where message.id = judged.message_id
) as summary
),
looked as (
select $10 and (matched.is_full or listed.is_full) as is_full, last.*
from (select count(*) >= $11 as is_full from matching) as matched
cross join (select count(*) >= $12 as is_full from found) as listed
left join lateral (
select * from matching where matched.is_full union all select * from found where not matched.is_full
order by received_at, message_id limit 1
) as last on true
)
select looked.is_full, to_char(looked.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as end_time, looked.message_id as end_id,
page.json, page.rank::text as rank, to_char(page.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as time, page.message_id as id
from looked left join page on true
order by page.rank desc, page.received_at desc, page.message_id desc;

-- the change feed
with bound as (
select max(scanned.id) as id, count(*)::int as count from (
select event.id from event where event.tenant_id = $1 and event.id > $2
order by event.id limit 0
) as scanned
)
select bound.id as bound, bound.count as scanned, listed.id, listed.type, listed.json,
(select epoch from feed_epoch) as epoch, (select last_value from event_id) as "lastId"
from bound left join lateral (
select event.id, event.type, row_to_json((select shown from (
select event.id::text as id, event.type, event.account_id as "accountId",
to_char(event.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt", event.data
) as shown))::text as json from event
where event.tenant_id = $3 and event.id > $4
order by event.id limit 51
) as listed on true
order by listed.id;

-- the change feed, filtered
with bound as (
select max(scanned.id) as id, count(*)::int as count from (
select event.id from event where event.tenant_id = $1 and event.id > $2
order by event.id limit 5000
) as scanned
)
select bound.id as bound, bound.count as scanned, listed.id, listed.type, listed.json,
(select epoch from feed_epoch) as epoch, (select last_value from event_id) as "lastId"
from bound left join lateral (
select event.id, event.type, row_to_json((select shown from (
select event.id::text as id, event.type, event.account_id as "accountId",
to_char(event.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt", event.data
) as shown))::text as json from event
where event.tenant_id = $3 and event.id > $4 and event.account_id = any($5::uuid[]) and event.type = any($6::text[]) and event.id <= bound.id
order by event.id limit 51
) as listed on true
order by listed.id;

-- the head of the change feed
select epoch, coalesce(
(select id from event where tenant_id = $1 order by event.id desc limit 1), 0
) as id from feed_epoch;
