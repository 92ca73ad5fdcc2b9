import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { AccountKeys, KeyedAccount } from '../../../accounts/secrets.ts'
import { entryCopy } from '../outbox/present.ts'
import { countJudgements, type Counts, type Counted, ITEMS_MAX } from './counts.ts'
import { JUDGE_AFTER_SECONDS, judgeItems, REPEAT_SECONDS, type TrackingItem } from './judge.ts'
import { openLinks } from './sealed-links.ts'

/** Items of one message that are judged by one transaction. */
const ITEMS_AT_ONCE = 500
/** Items that are read after these, since later items show machines too. */
const LATER_ITEMS = 500

interface Message {
  id: string
  accountId: string
  account: KeyedAccount
  links: Buffer | null
  /** Number of its items that are kept. */
  items: number
  handedOverAt: number | null
  /** Facts of the message for its events. */
  entry: { messageId: string | null; reference: string | null; recipient: string | null }
  /** False once its account is deleted. */
  isAnnounced: boolean
}

export interface Judged {
  counted: Counted[]
  /** Whether more of these messages is due. */
  hasMore: boolean
}

/**
 * Judges the items of these messages that have waited longest, counts and announces them. Messages that another process
 * judges are passed over.
 */
export async function recordJudged(
  unit: UnitOfWork,
  accountKeys: AccountKeys,
  outboxIds: readonly string[],
): Promise<Judged> {
  await deleteOrphans(unit, outboxIds)
  const { messages, now } = await lockMessages(unit, outboxIds)
  const items = await listAbout(unit, messages)
  const counts: Array<Counts & { id: string }> = []
  let hasMore = false
  for (const message of messages) {
    const urls = openLinks(accountKeys, message.account, message.id, message.links)
    const about = items.get(message.id) ?? []
    const until = judgedUntil(about, now)
    hasMore ||= until < now
    const judged = judgeItems(about, { ...message, links: urls.length }, until)
    const counted = countJudgements(judged, message.items)
    counts.push({ id: message.id, ...counted })
    if (message.isAnnounced) announce(unit, message, counted.kept, urls)
  }
  await writeItems(unit, counts)
  await writeCounts(unit, counts)
  return { counted: counts.flatMap(({ counted }) => counted), hasMore }
}

/** The first pause after a failure doubles with each further one. */
const RETRY_SECONDS = 10
const RETRY_SECONDS_MAX = 4 * 3600

/** Puts a message off that could not be judged, so that it keeps no others waiting. Nothing of it is lost. */
export async function recordUnjudged(db: Db, outboxId: string): Promise<void> {
  await sql`
    update tracked_send set judge_failures = judge_failures + 1, judge_due_at = clock_timestamp()
      + make_interval(secs => least(${RETRY_SECONDS_MAX}::int, ${RETRY_SECONDS}::int * 2 ^ least(judge_failures, 20)))
    where outbox_id = ${outboxId}
  `.execute(db)
}

/** The time at which the items are judged. It lies back if more of them wait than are judged at once. */
function judgedUntil(items: readonly TrackingItem[], now: number): number {
  const last = items.filter(({ isJudged }) => !isJudged)[ITEMS_AT_ONCE - 1]
  return last ? Math.min(now, last.at + JUDGE_AFTER_SECONDS * 1000) : now
}

/** Their entry is gone, and its tracking goes with it. */
async function deleteOrphans({ sql: tx }: UnitOfWork, outboxIds: readonly string[]): Promise<void> {
  await sql`
    delete from tracking_item where outbox_id = any(${[...outboxIds]}::uuid[])
      and not exists (select from outbox where outbox.id = tracking_item.outbox_id)
  `.execute(tx)
}

async function lockMessages(
  { sql: tx }: UnitOfWork,
  outboxIds: readonly string[],
): Promise<{ messages: Message[]; now: number }> {
  const { rows } = await sql<
    Omit<Message, 'entry' | 'account'> &
      KeyedAccount &
      Message['entry'] & { now: Date; outboxId: string; handedOver: Date | null }
  >`
    with held as (
      select * from tracked_send where outbox_id = any(${[...outboxIds]}::uuid[])
      order by outbox_id for no key update skip locked
    )
    select held.outbox_id as "outboxId", held.links, held.items, account.id, account.id as "accountId",
      account.tenant_id, account.data_key, account.deleted_at is null as "isAnnounced",
      outbox.handed_over_at as "handedOver", outbox.reference, copy.id as "messageId", clock_timestamp() as now,
      case when jsonb_array_length(outbox."to" || outbox.cc || outbox.bcc) = 1
        then (outbox."to" || outbox.cc || outbox.bcc) -> 0 ->> 'address' end as recipient
    from held join account on account.id = held.account_id join outbox on outbox.id = held.outbox_id ${entryCopy}
  `.execute(tx)
  const messages = rows.map(
    ({ outboxId, accountId, tenant_id, data_key, messageId, reference, recipient, ...row }) => ({
      id: outboxId,
      accountId,
      account: { id: accountId, tenant_id, data_key },
      links: row.links,
      items: row.items,
      handedOverAt: row.handedOver?.getTime() ?? null,
      entry: { messageId, reference, recipient },
      isAnnounced: row.isAnnounced,
    }),
  )
  return { messages, now: rows[0]?.now.getTime() ?? 0 }
}

/** The oldest waiting items of each message, and the judged items of the time around them. */
async function listAbout(
  { sql: tx }: UnitOfWork,
  messages: readonly Message[],
): Promise<Map<string, TrackingItem[]>> {
  const { rows } = await sql<Omit<TrackingItem, 'at'> & { outboxId: string; at: Date; ip: string | null }>`
    with waiting as materialized (
      select item.* from unnest(${messages.map(({ id }) => id)}::uuid[]) as message (id) cross join lateral (
        select * from tracking_item where outbox_id = message.id and is_machine is null
        order by occurred_at, id limit ${ITEMS_AT_ONCE + LATER_ITEMS}
      ) as item
    ), about as (
      select outbox_id, min(occurred_at) - make_interval(secs => ${Math.max(REPEAT_SECONDS, JUDGE_AFTER_SECONDS)}) as since,
        max(occurred_at) + make_interval(secs => ${JUDGE_AFTER_SECONDS}) as until
      from waiting group by outbox_id
    ), judged as (
      select item.* from about cross join lateral (
        select * from tracking_item where outbox_id = about.outbox_id and is_machine is not null
          and occurred_at between about.since and about.until
        order by occurred_at desc limit ${ITEMS_MAX}
      ) as item
    )
    select id, outbox_id as "outboxId", kind, link, encode(client, 'hex') as client, sign, ip, user_agent as "userAgent",
      occurred_at as at, is_machine is not null as "isJudged"
    from (select * from waiting union all select * from judged) as item order by occurred_at, id
  `.execute(tx)
  return Map.groupBy(
    rows.map(row => ({ ...row, at: row.at.getTime() })),
    ({ outboxId }) => outboxId,
  )
}

function announce(
  unit: UnitOfWork,
  { id, accountId, entry }: Message,
  kept: Counts['kept'],
  urls: readonly string[],
): void {
  for (const { item, verdict } of kept) {
    if (item.kind === 'honeypot') continue
    const isMachine = verdict !== 'person'
    const { ip, userAgent } = item
    const facts = { isMachine, machineReason: isMachine ? verdict : null, ip: ip ?? null, userAgent }
    const data = { outboxId: id, ...entry }
    unit.announce(
      item.kind === 'open'
        ? { type: 'message.opened', accountId, data: { ...data, ...facts } }
        : {
            type: 'message.clicked',
            accountId,
            data: { ...data, url: urls[item.link ?? -1] ?? '', ...facts },
          },
    )
  }
}

async function writeItems({ sql: tx }: UnitOfWork, counts: readonly Counts[]): Promise<void> {
  const kept = counts.flatMap(count => count.kept)
  const rows = kept.map(({ item, verdict }) => ({
    id: item.id,
    is_machine: verdict !== 'person',
    reason: verdict === 'person' ? null : verdict,
  }))
  const droppedIds = counts.flatMap(count => count.dropped.map(({ id }) => id))
  await sql`
    with dropped as (delete from tracking_item where id = any(${droppedIds}::uuid[]))
    update tracking_item set is_machine = judged.is_machine, machine_reason = judged.reason
    from json_to_recordset(${JSON.stringify(rows)}) as judged (id uuid, is_machine boolean, reason text)
    where tracking_item.id = judged.id
  `.execute(tx)
}

async function writeCounts(
  { sql: tx }: UnitOfWork,
  counts: ReadonlyArray<Counts & { id: string }>,
): Promise<void> {
  const rows = counts.map(({ id, kept, opens, clicks, linkClicks }) => ({
    id,
    items: kept.length,
    opens: opens.count,
    machine_opens: opens.machineCount,
    first_opened_at: timeOf(opens.firstAt),
    last_opened_at: timeOf(opens.lastAt),
    clicks: clicks.count,
    machine_clicks: clicks.machineCount,
    first_clicked_at: timeOf(clicks.firstAt),
    last_clicked_at: timeOf(clicks.lastAt),
    link_clicks: linkClicks,
  }))
  await sql`
    update tracked_send as sent set items = sent.items + more.items, opens = sent.opens + more.opens,
      machine_opens = sent.machine_opens + more.machine_opens,
      first_opened_at = least(sent.first_opened_at, more.first_opened_at),
      last_opened_at = greatest(sent.last_opened_at, more.last_opened_at),
      clicks = sent.clicks + more.clicks, machine_clicks = sent.machine_clicks + more.machine_clicks,
      first_clicked_at = least(sent.first_clicked_at, more.first_clicked_at),
      last_clicked_at = greatest(sent.last_clicked_at, more.last_clicked_at),
      judge_failures = 0, judge_due_at = null, link_clicks = sent.link_clicks || (
        select coalesce(jsonb_object_agg(link, count::int + coalesce((sent.link_clicks ->> link)::int, 0)), '{}')
        from jsonb_each_text(more.link_clicks) as clicked (link, count)
      )
    from json_to_recordset(${JSON.stringify(rows)}) as more (id uuid, items int, opens int, machine_opens int,
      first_opened_at timestamptz, last_opened_at timestamptz, clicks int, machine_clicks int,
      first_clicked_at timestamptz, last_clicked_at timestamptz, link_clicks jsonb)
    where sent.outbox_id = more.id
  `.execute(tx)
}

function timeOf(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
