import type { MergeBody, MergeItem } from '@waxwing/contract/sending/mail-merges.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import type { ChangeUnit, RequestContext } from '../../../calls/context.ts'
import type { AcceptServices } from './accept.ts'
import type { InsertedSend, WrittenSend } from './new-send.ts'
import { removeContent } from '../outbox/content.ts'
import { countInserted, insertSends } from './insert-sends.ts'
import { insertPace } from '../outbox/pace.ts'
import { recordNamedList } from '../suppressions/record-lists.ts'
import { findSuppressed } from '../suppressions/store.ts'
import { type EntryError, entryError, presentItems } from './merge-rules.ts'
import type { WrittenEntries } from './write-entries.ts'

/** A merge whose messages are written. */
interface WrittenMerge {
  id: string
  body: MergeBody
  written: WrittenEntries
  /** Errors of the entries that have no message, by index. */
  errors: ReadonlyMap<number, EntryError>
}

/** Accepts the messages of a merge: all entries, the counts and the answer are durable together, or nothing is. */
export function acceptEntries(
  context: RequestContext,
  services: AcceptServices,
  account: AccountView,
  { id, body, written, errors }: WrittenMerge,
): Promise<{ items: MergeItem[] }> {
  return context.change(async unit => {
    const late = new Map(errors)
    const sendable = await withoutSuppressed(unit, body.listId ?? null, written.sends, late)
    const queued = await queue(unit, account, sendable, body.intervalSeconds ?? 0)
    for (const { index } of sendable) if (!queued.has(index)) late.set(index, entryError('plan_limit_sends'))
    const rest = written.unboundBut(new Set(queued.values()))
    if (rest.length > 0) await removeContent(unit, rest)
    await services.reach('accept_commit', id)
    context.target({ mailMergeId: id })
    return { items: presentItems(id, body.entries, { queued, errors: late }) }
  })
}

type EntrySend = WrittenSend & { index: number }

/** The sends whose recipients are not suppressed now. Creates the list that the merge names, if it is missing. */
async function withoutSuppressed(
  unit: UnitOfWork,
  listId: string | null,
  sends: readonly EntrySend[],
  errors: Map<number, EntryError>,
): Promise<EntrySend[]> {
  if (listId !== null) await recordNamedList(unit, listId)
  const suppressed = await findSuppressed(unit.sql, unit.tenantId, listId, sends.flatMap(addressesOf))
  return sends.filter(send => {
    if (!addressesOf(send).some(address => suppressed.has(comparedAddress(address)))) return true
    errors.set(send.index, entryError('suppressed'))
    return false
  })
}

const addressesOf = ({ to }: EntrySend) => to.map(({ address }) => address)

/** Queues sends. @returns the ids of the entries that the plan still allows, by index of the send */
async function queue(
  unit: ChangeUnit,
  account: AccountView,
  sends: readonly EntrySend[],
  intervalSeconds: number,
): Promise<Map<number, string>> {
  const [first] = sends
  if (!first) return new Map()
  const ofAccount = sends.map(send => ({ account, send }))
  const inserted = await insertSends(unit, ofAccount, { unsendable: 'refuse', intervalSeconds })
  if (intervalSeconds > 0 && first.mailMergeId !== null) {
    const { mailMergeId: id } = first
    const dueAt = earliestOf(inserted.values())
    await insertPace(unit, { id, accountId: account.id, intervalSeconds, dueAt })
  }
  if ([...inserted.values()].some(({ isSoon }) => isSoon)) unit.wake(account.id, 'waxwing_outbox')
  const counted = await countInserted(unit, ofAccount, inserted)
  return new Map(sends.filter(({ id }) => counted.has(id)).map(({ index, id }) => [index, id]))
}

function earliestOf(inserted: Iterable<InsertedSend>): Date {
  return new Date(Math.min(...[...inserted].map(({ dueAt }) => dueAt.getTime())))
}
