import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { enqueue, type JobKind } from '../../../jobs/enqueue.ts'
import { announceUpdated } from './announce.ts'
import { keyColumns } from './location.ts'
import { recordDeletions } from './record-deletions.ts'
import { toRow } from './message-row.ts'
import type { AnyArrival } from './arrival.ts'
import { recordChangedKeys } from './record-changed-keys.ts'
import { countContents } from './record-content-version.ts'
import { type HeldMessage, lockHeldById, type Rewriting, rewriteHeld, rowOf } from './record-known.ts'
import { isDraftIn, type MailAccount } from './rules.ts'

/*
 * If a draft cannot be changed in place, its new content is another message, which arrives while the old one vanishes.
 * The index takes it for the same draft, which keeps its id.
 */

/** Removes old contents of a draft at the provider. */
export interface SettleDraft {
  accountId: string
  mailboxId: string
  internetMessageId: string
  draftId: string
}

export const settleDraftJob: JobKind<SettleDraft> = {
  name: 'settle_draft',
  parse(stored) {
    const { accountId, mailboxId, internetMessageId, draftId } = Object(stored) as Partial<SettleDraft>
    if (!accountId || !mailboxId || !internetMessageId || !draftId) throw new Error('The job names no draft')
    return { accountId, mailboxId, internetMessageId, draftId }
  },
}

export interface NewContents {
  rewritings: Rewriting[]
  /** Arrivals that are messages of their own. */
  others: AnyArrival[]
}

/**
 * Takes arrivals that are contents of drafts which the provider names, under any key of the content. The latest one
 * replaces the content in the index.
 */
export async function takeKeyedContents(
  unit: UnitOfWork,
  account: MailAccount,
  arrivals: readonly AnyArrival[],
): Promise<NewContents> {
  const keyed = arrivals.filter(({ message }) => message.draftKey !== null && typeof message.key === 'string')
  if (keyed.length === 0) return { rewritings: [], others: [...arrivals] }
  const { rows } = await sql<{ id: string }>`
    select id from message
    where account_id = ${account.id} and draft_key = any(${keyed.map(({ message }) => message.draftKey)}::text[])
  `.execute(unit.sql)
  const ids = rows.map(({ id }) => id)
  const held = new Map(
    [...(await lockHeldById(unit, account, ids)).values()].map(row => [row.draft_key, row]),
  )
  const latest = new Map(
    keyed.flatMap(arrival => {
      const row = held.get(arrival.message.draftKey)
      return row ? [[row, arrival] as const] : []
    }),
  )
  const rewritings = [...latest].map(([row, { message, mailboxes }]): Rewriting => {
    const next = toRow(account, message, mailboxes, message.threadId ?? row.thread_id)
    return { held: row, next, location: { uid: null } }
  })
  return { rewritings, others: arrivals.filter(({ message }) => !held.has(message.draftKey)) }
}

/**
 * Arrivals that are contents of drafts of ours, by the mark that we gave them. A later content replaces the one that
 * the index has. An earlier one was left behind when a replacement was interrupted: it is not indexed, and neither is one
 * that lacks files, which are being attached to it, or never were. In each case a job removes what is left over.
 */
export async function takeMarkedContents(
  unit: UnitOfWork,
  account: MailAccount,
  arrivals: readonly AnyArrival[],
): Promise<NewContents> {
  const marked = arrivals.filter(({ message }) => message.draftMark !== null && isReplacing(message))
  const held = await lockDrafts(unit, account, [
    ...new Set(marked.flatMap(({ message }) => message.draftMark?.draftId ?? [])),
  ])
  const others = new Set(arrivals)
  const latest = new Map<HeldMessage, AnyArrival>()
  const unsettled = new Map<string, SettleDraft>()
  const changes = await findChanges(unit, held)
  for (const arrival of marked) {
    const { message } = arrival
    const { draftId, generation } = message.draftMark!
    const { rows, isElsewhere } = rowsOf(arrival, held, changes)
    const [row] = rows.toSorted(byGeneration)
    // A copy that another client made of it is a message of its own.
    const isCopy = !message.isIncomplete && rows.some(one => one.draft_generation === generation)
    if (!row || isCopy) continue
    const best = latest.get(row)?.message.draftMark?.generation ?? row.draft_generation ?? 0
    const isBest = generation > best && !message.isIncomplete
    if (isElsewhere && !isBest && !changes.get(row.id)!.isSettling) continue
    others.delete(arrival)
    if (isBest) latest.set(row, arrival)
    const settling = isElsewhere && !isBest ? null : settlingOf(account, arrival)
    if (settling) unsettled.set(draftId, settling)
  }
  const replaced = [...latest].map(([row, arrival]) => ({ row, arrival }))
  await recordChangedKeys(
    unit,
    account.id,
    await formerKeys(
      unit,
      replaced.map(({ row }) => row),
    ),
  )
  await enqueue(unit, settleDraftJob, [...unsettled.values()])
  return { rewritings: replaced.map(pair => replacing(account, pair)), others: [...others] }
}

/**
 * The messages that an arrival may be a content of. A draft under a lasting id may have been moved since its content was
 * replaced. Elsewhere, a message with its mark is one of its contents only if the draft had a change that made such one.
 */
function rowsOf(
  { message: { key, draftMark }, mailboxes }: AnyArrival,
  held: readonly HeldMessage[],
  changes: ReadonlyMap<string, DraftChanges>,
): { rows: HeldMessage[]; isElsewhere: boolean } {
  const drafts = held.filter(one => one.draft_id === draftMark?.draftId && one.draft_key === null)
  const there = drafts.filter(one => mailboxes.some(({ id }) => one.mailbox_ids.includes(id)))
  if (there.length > 0 || typeof key !== 'string') return { rows: there, isElsewhere: false }
  const rows = drafts.filter(({ id }) => (changes.get(id)?.generation ?? 0) >= (draftMark?.generation ?? 0))
  return { rows, isElsewhere: true }
}

interface DraftChanges {
  /** Generation of the latest change by the interface. */
  generation: number
  /** Whether a job is about to settle its contents. */
  isSettling: boolean
}

/** The changes of drafts by the interface, by message. */
async function findChanges(
  unit: UnitOfWork,
  drafts: readonly HeldMessage[],
): Promise<Map<string, DraftChanges>> {
  const ids = drafts.filter(({ remote_id: key }) => key !== null).map(({ id }) => id)
  if (ids.length === 0) return new Map()
  const { rows } = await sql<DraftChanges & { id: string }>`
    select message_id as id, change.generation, exists (
      select from job
      where job.tenant_id = ${unit.tenantId} and kind = ${settleDraftJob.name} and payload ->> 'draftId' = draft_id
        and payload ->> 'accountId' = account_id::text
    ) as "isSettling"
    from draft_change as change join message on message.id = message_id
    where message_id = any(${ids}::uuid[])
  `.execute(unit.sql)
  return new Map(rows.map(row => [row.id, row]))
}

/** The draft first, then copies of its former contents: copies have at most its generation, and were made after it. */
function byGeneration(a: HeldMessage, b: HeldMessage): number {
  return (b.draft_generation ?? 0) - (a.draft_generation ?? 0) || (a.id < b.id ? -1 : 1)
}

function settlingOf(account: MailAccount, { message, mailboxes: [mailbox] }: AnyArrival): SettleDraft | null {
  const { draftMark, internetMessageId } = message
  if (!draftMark || internetMessageId === null || !mailbox) return null
  return { accountId: account.id, mailboxId: mailbox.id, internetMessageId, draftId: draftMark.draftId }
}

/**
 * Arrivals that replace drafts under the same Message-ID, as other clients save them: the draft is gone from the mailbox
 * that the arrival is in.
 * @param taken ids of drafts that have another new content already
 */
export async function takeSavedContents(
  unit: UnitOfWork,
  account: MailAccount,
  arrivals: readonly AnyArrival[],
  taken: ReadonlySet<string>,
): Promise<NewContents> {
  const drafts = arrivals.filter(
    ({ message, mailboxes }) =>
      message.internetMessageId !== null && isNumbered(message) && isDraftIn(mailboxes, message.isDraft),
  )
  const missing = (await lockMissingDrafts(unit, account, drafts)).filter(({ id }) => !taken.has(id))
  const others = new Set(arrivals)
  const rewritings = drafts.flatMap((arrival): Rewriting[] => {
    const row = missing.find(
      one =>
        one.internet_message_id === arrival.message.internetMessageId &&
        arrival.mailboxes.some(({ id }) => one.mailbox_ids.includes(id)),
    )
    if (!row) return []
    missing.splice(missing.indexOf(row), 1)
    others.delete(arrival)
    return [replacing(account, { row, arrival })]
  })
  return { rewritings, others: [...others] }
}

/**
 * Reunites drafts that another client saved: the sync came upon the later content as a separate message before the
 * former one was gone. Each lost draft takes over the location of its latest content, which is deleted again.
 * @returns ids of the drafts that are not lost
 */
export async function recordLaterContents(
  unit: UnitOfWork,
  account: MailAccount,
  lostIds: readonly string[],
): Promise<Set<string>> {
  if (lostIds.length === 0) return new Set()
  const { rows: pairs } = await sql<{ id: string; later_id: string }>`
    select distinct on (later.id) lost.id, later.id as later_id from message as lost
    join message as later on later.account_id = lost.account_id and later.thread_id = lost.thread_id
    where lost.id = any(${lostIds}::uuid[]) and lost.is_draft and later.is_draft and later.id > lost.id
      and later.internet_message_id = lost.internet_message_id and later.mailbox_ids && lost.mailbox_ids
      and later.missing_look is null and later.remote_id is null and later.draft_id is null
    order by later.id, lost.id
  `.execute(unit.sql)
  const laterOf = new Map(pairs.map(pair => [pair.id, pair.later_id]))
  const held = await lockHeldById(unit, account, [...laterOf].flat())
  const rewritings = [...laterOf].flatMap(([id, laterId]): Rewriting[] => {
    const [row, later] = [held.get(id), held.get(laterId)]
    if (!row || !later || later.uid === null) return []
    return [{ held: row, next: rowOf(later), location: { uid: later.uid } }]
  })
  const ids = rewritings.map(rewriting => rewriting.held.id)
  const laterIds = ids.flatMap(id => laterOf.get(id) ?? [])
  await recordDeletions(unit, account, laterIds)
  const changes = await rewriteHeld(unit, account, rewritings)
  await countContents(unit, ids)
  if (account.isInitialized) await announceUpdated(unit, account, changes)
  return new Set(ids)
}

function isNumbered({ key }: AnyArrival['message']): boolean {
  return typeof key === 'number'
}

/**
 * Whether a message with the mark of a draft may be another content of it. Under a lasting id the draft itself may have
 * been sent, mark and all; and a provider that names its drafts changes them in place.
 */
function isReplacing(message: AnyArrival['message']): boolean {
  return isNumbered(message) || (message.key !== null && message.isDraft && message.draftKey === null)
}

function replacing(
  account: MailAccount,
  { row, arrival }: { row: HeldMessage; arrival: AnyArrival },
): Rewriting {
  const { message, mailboxes } = arrival
  // A draft keeps its thread, but where the provider threads by the content, which has another thread then.
  const threadId = isNumbered(message) ? row.thread_id : (message.threadId ?? row.thread_id)
  const next = toRow(account, message, mailboxes, threadId)
  return { held: row, next, location: { uid: keyColumns(message.key).uid } }
}

async function lockDrafts(
  unit: UnitOfWork,
  account: MailAccount,
  draftIds: string[],
): Promise<HeldMessage[]> {
  if (draftIds.length === 0) return []
  const { rows } = await sql<{ id: string }>`
    select id from message where account_id = ${account.id} and draft_id = any(${draftIds}::text[])
  `.execute(unit.sql)
  return [
    ...(
      await lockHeldById(
        unit,
        account,
        rows.map(({ id }) => id),
      )
    ).values(),
  ]
}

async function lockMissingDrafts(
  unit: UnitOfWork,
  account: MailAccount,
  arrivals: readonly AnyArrival[],
): Promise<HeldMessage[]> {
  if (arrivals.length === 0) return []
  const { rows } = await sql<{ id: string }>`
    select id from message
    where account_id = ${account.id} and missing_look is not null and is_draft
      and internet_message_id = any(${arrivals.map(({ message }) => message.internetMessageId)}::text[])
      and mailbox_ids && ${arrivals.flatMap(({ mailboxes }) => mailboxes.map(({ id }) => id))}::uuid[]
  `.execute(unit.sql)
  return [
    ...(
      await lockHeldById(
        unit,
        account,
        rows.map(({ id }) => id),
      )
    ).values(),
  ]
}

/**
 * The former locations of replaced drafts: later reports of the sync about these keys are older than the replacement.
 */
async function formerKeys(unit: UnitOfWork, rows: readonly HeldMessage[]) {
  const located = rows.filter(({ uid }) => uid !== null)
  if (located.length === 0) return []
  const { rows: keys } = await sql<{ source: string; key: number }>`
    select mailbox.source, held.uid::float8 as key from message_mailbox as held
    join mailbox on mailbox.id = held.mailbox_id
    where held.message_id = any(${located.map(({ id }) => id)}::uuid[]) and held.uid is not null
      and mailbox.source is not null
  `.execute(unit.sql)
  return keys.map(key => ({ ...key, isRemoved: true }))
}
