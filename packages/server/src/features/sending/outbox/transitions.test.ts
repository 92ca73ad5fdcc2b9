/** @module-tag postgres-16 */
import { type RawBuilder, sql, type Transaction } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { sampleAccount, sampleTenant } from '../../../../test/sample-rows.ts'
import { useTestDatabase } from '../../../../test/use-database.ts'
import type { Tables } from '../../../database/tables.ts'
import { newId } from '../../../kit/ids.ts'
import type { NextState, SendError } from './rules.ts'
import * as transitions from './transitions.ts'
import { moving, type State, STATES, type TaskKind, type Transition } from './transitions.ts'

const ERROR: SendError = { reason: 'provider_unavailable', message: 'The server is away.' }
const LEASE = { id: newId() }
const isDue = sql<boolean>`outbox.due_at is not null`
const next = (status: 'sent' | 'failed'): NextState => ({
  status,
  waiting: [],
  rejected: [],
  dueAt: null,
  error: ERROR,
})

interface Case {
  transition: Transition
  /** Rows that the statement reads beside `outbox`. */
  beside?: RawBuilder<unknown> | null
  /** Entries that are meant, if not all are. */
  which?: RawBuilder<boolean>
}

/** The end of an attempt. An attempt that began as sent ends as sent. */
function ended(status: 'queued' | 'sent' | 'failed', wasSent: boolean, task: TaskKind | null = null): Case {
  const isFirst = status === 'sent' && !wasSent
  return {
    transition: transitions.ending,
    which: sql<boolean>`(outbox.status = 'sent') = ${wasSent}`,
    beside: sql`(
      select id, claim, ${status}::text as status, array['grace@example.org'] as waiting, '[]'::jsonb as rejected,
        case when ${status === 'queued'} then clock_timestamp() end as due_at, ${ERROR.reason}::text as error_reason,
        ${ERROR.message}::text as error_message, ${isFirst}::boolean as is_first, ${task}::text as task,
        null::text as sent_key, null::text as thread_id
      from outbox as entry) as given`,
  }
}

/** Every way in which each transition is made. */
const CASES: Readonly<Record<string, readonly Case[]>> = {
  rescheduling: [{ transition: transitions.rescheduling(new Date(), { isScheduled: true }) }],
  cancelling: [{ transition: transitions.cancelling }],
  givingUp: (['sent', 'failed'] as const).map(status => ({
    transition: transitions.givingUp(next(status), ERROR),
  })),
  claiming: [{ transition: transitions.claiming(LEASE), which: isDue }],
  releasing: [{ transition: transitions.releasing }],
  losing: [{ transition: transitions.losing(sql`interval '1 second'`) }],
  handingOver: [{ transition: transitions.handingOver(sql`'a trace'`) }],
  ending: [
    ...([null, 'file_copy', 'link_copy', 'mark_original'] as const).map(task => ended('sent', false, task)),
    ended('sent', true),
    ended('queued', false),
    ended('failed', false),
  ],
  becomingUnknown: [{ transition: transitions.becomingUnknown(5) }],
  settling: [{ transition: transitions.settling(sql`'[]'::jsonb`) }],
  finding: [
    { transition: transitions.finding({ isCopied: true, key: null }) },
    { transition: transitions.finding({ isCopied: false, key: null }) },
    { transition: transitions.finding({ isCopied: false, key: 'key' }) },
  ],
  returning: [{ transition: transitions.returning(ERROR, true) }],
  leavingUnknown: [{ transition: transitions.leavingUnknown(ERROR) }],
  holding: [{ transition: transitions.holding(isDue) }],
  holdingLast: [{ transition: transitions.holdingLast(isDue) }],
  queuingHeld: [{ transition: transitions.queuingHeld }],
  claimingTask: [{ transition: transitions.claimingTask(LEASE) }],
  puttingOff: [{ transition: transitions.puttingOff('look_up', 60, 'try') }],
  finishingCopy: ([null, 'mark_original'] as const).map(task => ({
    transition: transitions.finishingCopy(task, null),
  })),
  finishingLink: ([null, 'mark_original'] as const).map(task => ({
    transition: transitions.finishingLink(task, null),
  })),
  finishingTask: (['file_copy', 'link_copy', 'mark_original', 'discard'] as const).map(kind => ({
    transition: transitions.finishingTask(kind),
  })),
}

const NO_TRANSITIONS = new Set(['STATES', 'moving', 'isReleasable'])

test('every transition has its cases', () => {
  const names = Object.keys(transitions).filter(name => !NO_TRANSITIONS.has(name))
  expect(Object.keys(CASES).toSorted()).toEqual(names.toSorted())
})

const nameOf = ({ status, phase, task }: State) => [status, phase, task].join(' ')
const LISTED = new Set(STATES.map(nameOf))

const database = useTestDatabase()

/** Entries in every state: held or not, replies or not, with recipients that wait or without. */
beforeAll(async () => {
  const { db } = database()
  const { id: tenantId } = await sampleTenant(db)
  const account = await sampleAccount(db, tenantId)
  await sql`
    insert into instance (id, heartbeat_until) values (${LEASE.id}, now() + interval '50 seconds')`.execute(
    db,
  )
  await sql`
    insert into outbox (id, tenant_id, account_id, status, "from", "to", cc, bcc, reply_to, snippet, has_attachments, size,
      internet_message_id, in_reply_to, waiting, send_at, due_at, phase, claim, task, task_at, held_since, error_reason,
      error_message, may_be_prepared)
    select gen_random_uuid(), ${tenantId}, ${account.id}, status, '{"address":"ada@example.com"}', '[]', '[]', '[]',
      '[]', '', false, 1, gen_random_uuid(), case when is_reply then gen_random_uuid() end,
      case when has_waiting then array['grace@example.org'] else '{}' end, now(),
      case when phase is null and has_waiting and status in ('queued', 'sent') then now() end, phase,
      case when phase is not null or status = 'failed' then gen_random_uuid() end, task,
      case when task is not null then now() end, case when is_held then now() end, reason, reason,
      may_be_prepared
    from json_to_recordset(${JSON.stringify(STATES)}::json) as state (status text, phase text, task text)
    cross join unnest(array[true, false]) as is_reply
    cross join unnest(array[true, false]) as has_waiting
    cross join unnest(array[true, false]) as is_held
    cross join unnest(array[true, false]) as may_be_prepared
    cross join lateral unnest(
      case when status = 'failed' then array['outcome_unknown', 'provider_rejected'] else array[null] end) as reason
    -- A queued entry has recipients.
    where has_waiting or status <> 'queued'
  `.execute(db)
})

class RolledBack extends Error {}

/** Makes a transition of all entries, and takes it back. @returns each state that was left, with the one entered */
async function move({ transition, beside = null, which = sql<boolean>`true` }: Case): Promise<State[][]> {
  let edges: State[][] = []
  const read = async (tx: Transaction<Tables>) => {
    const { rows } = await sql<State & { id: string }>`select id, status, phase, task from outbox`.execute(tx)
    return new Map(rows.map(row => [row.id, row]))
  }
  const work = database()
    .db.transaction()
    .execute(async tx => {
      const before = await read(tx)
      const { rows } = await sql<{ id: string }>`
        ${moving(transition, beside ? sql`${which} and outbox.id = given.id` : which, beside)} returning outbox.id
      `.execute(tx)
      const after = await read(tx)
      edges = rows.map(({ id }) => [before.get(id)!, after.get(id)!])
      throw new RolledBack()
    })
  await expect(work).rejects.toBeInstanceOf(RolledBack)
  return edges
}

test('every transition leads from listed states to listed states, and to each of them', async () => {
  const ways = new Map<string, Set<string>>()
  for (const [name, cases] of Object.entries(CASES))
    for (const [nth, one] of cases.entries()) {
      const edges = await move(one)
      expect({ name, nth, isMade: edges.length > 0 }).toEqual({ name, nth, isMade: true })
      for (const [from, to] of edges) {
        expect({ name, nth, from, to, isListed: LISTED.has(nameOf(to!)) }).toMatchObject({ isListed: true })
        ways.set(nameOf(from!), (ways.get(nameOf(from!)) ?? new Set()).add(nameOf(to!)))
      }
    }
  // An accepted send is queued.
  const reached = new Set([nameOf({ status: 'queued', phase: null, task: null })])
  for (const state of reached) for (const to of ways.get(state) ?? []) reached.add(to)
  expect([...reached].toSorted()).toEqual([...LISTED].toSorted())
})
