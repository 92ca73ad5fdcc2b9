import type { ChangeEvent } from '@waxwing/contract/events.ts'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { type Links, openLinks } from '../../src/features/sending/links.ts'
import { unsubscribeUrl } from '../../src/features/sending/suppressions/unsubscribe-link.ts'
import { newId } from '../../src/kit/ids.ts'
import type { TestApp } from '../open-app.ts'
import { type Random, seeded } from '../seeded.ts'
import { useServer } from '../servers/shared-server.ts'
import { startSmtpSink } from '../servers/smtp-sink.ts'
import { seedsFor } from '../sync/disturbance.ts'
import { waitUntil } from '../wait-until.ts'
import { connectSender, openSendingApp, send, sendEvents, waitForStatus } from './open-sending.ts'
import { numberFor } from '../soak.ts'

const ROUNDS = numberFor({ ci: 120, soak: 250 })
const ACCOUNTS = 4
const LINKS = { linksUrl: 'https://links.example.com', baseUrl: null, sandboxUrl: null }
const LIST = 'race'
/** Moments of an attempt at which somebody unsubscribes. */
const POINTS = ['claimed', 'mail_from', 'hand_over_commit', 'hand_over_recorded'] as const

/** Called when an attempt comes to a moment, with the id of the entry. */
let atPoint = async (_point: string, _id: string) => {}

const running = useServer(() =>
  openSendingApp({ app: { config: LINKS, reachPoint: (point, id) => atPoint(point, id) } }),
)

/** The service as a new tenant uses it. */
async function openTenant(): Promise<TestApp> {
  const { app } = running()
  return { ...app, ...(await app.createTenant(newId())) }
}

const linksOf = ({ db, keyRing }: TestApp) =>
  openLinks({ db, keyRing, config: LINKS, baseUrl: () => LINKS.linksUrl })

/** Unsubscribes as a mail program does: RFC 8058. */
async function unsubscribe(app: TestApp, links: Links, of: { address: string; outboxId: string }) {
  const url = unsubscribeUrl(links, { ...of, tenantId: app.tenantId, listId: LIST })
  const answer = await fetch(app.address + new URL(url).pathname, {
    method: 'POST',
    body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
  })
  expect(answer.status).toBe(200)
  await answer.text()
}

/** The recipient of an entry, and whether it was handed over; null where there is no entry. */
async function findState({ db, tenantId }: TestApp, by: { id: string } | { address: string }) {
  const { rows } = await sql<{ id: string; address: string; status: string; isHandedOver: boolean }>`
    select id, "to" -> 0 ->> 'address' as address, status, handed_over_at is not null as "isHandedOver" from outbox
    where tenant_id = ${tenantId} and ${'id' in by ? sql`id = ${by.id}` : sql`"to" -> 0 ->> 'address' = ${by.address}`}
  `.execute(db)
  return rows[0] ?? null
}

async function suppressionEvents(app: TestApp): Promise<ChangeEvent[]> {
  const all: ChangeEvent[] = []
  for (let after = ''; ;) {
    const path = `/v1/changes?limit=200&types=suppression.created${after}`
    const { body } = await app.get<{ items: ChangeEvent[]; nextCursor: string }>(path)
    all.push(...body.items)
    if (body.items.length < 200) return all
    after = `&cursor=${body.nextCursor}`
  }
}

test.each(seedsFor(1))(
  'after somebody unsubscribed, nothing is handed over to them (seed %i)',
  { timeout: 300_000 },
  async seed => {
    const unsubscribed = new Map<string, { isTooLate: boolean }>()
    const leaving: Promise<void>[] = []
    let leave = async (_given: { address: string; outboxId: string }) => {}
    atPoint = async (point, id) => {
      const random = seeded(`${seed}/${id}`)
      if (random.chance(0.3) || random.pick(POINTS) !== point) return
      const entry = await findState(app, { id })
      const done = leave({ address: entry!.address, outboxId: id })
      leaving.push(done)
      if (random.chance(0.3)) await done
    }
    onTestFinished(() => void (atPoint = async () => {}))
    await using sink = await startSmtpSink()
    const app = await openTenant()
    const servers = { imap: running().imap, sink }
    const links = await linksOf(app)
    leave = async ({ address, outboxId }) => {
      await unsubscribe(app, links, { address, outboxId })
      const state = await findState(app, { address })
      unsubscribed.set(address, { isTooLate: state?.isHandedOver ?? false })
    }

    const accountIds = await Promise.all(Array.from({ length: ACCOUNTS }, () => connectSender(app, servers)))
    const refused = new Set<string>()
    const sendTo = async (accountId: string, address: string) => {
      const body = { to: [{ address }], listId: LIST, text: 'x' }
      const answer = await app.post(`/v1/accounts/${accountId}/outbox`, body)
      if (answer.status === 200) return
      expect(answer).toMatchObject({ status: 400, body: { code: 'suppressed' } })
      refused.add(address)
    }
    const play = async (accountId: string, random: Random, round: number) => {
      const address = `r${round}@example.org`
      const leaveNow = () => leave({ address, outboxId: accountId })
      if (random.chance(0.7)) return sendTo(accountId, address)
      // Before, beside and after the acceptance.
      if (random.chance(0.2)) await leaveNow()
      else if (random.chance(0.5)) leaving.push(leaveNow())
      await sendTo(accountId, address)
      if (random.chance(0.5)) await leaveNow()
    }
    const actors = accountIds.map(async (accountId, actor) => {
      const random = seeded(`${seed}/actor/${actor}`)
      for (let round = actor; round < ROUNDS; round += ACCOUNTS) await play(accountId, random, round)
    })
    await Promise.all(actors)
    await waitUntil('the ends', async () => {
      const { rows } = await sql`
        select from outbox where tenant_id = ${app.tenantId} and status in ('queued', 'sending')`.execute(
        app.db,
      )
      return rows.length === 0
    })
    await Promise.all(leaving)

    const { rows } = await sql<{ address: string; status: string; reason: string | null }>`
      select "to" -> 0 ->> 'address' as address, status, error_reason as reason
      from outbox where tenant_id = ${app.tenantId}
    `.execute(app.db)
    const reached = (await sink.accepted()).flatMap(({ to }) => to)
    expect(new Set(reached).size).toBe(reached.length)
    expect(rows.length + refused.size).toBe(ROUNDS)
    for (const { address, status, reason } of rows) {
      const isReached = reached.includes(address)
      const expected = isReached
        ? { status: 'sent', reason: null }
        : { status: 'failed', reason: 'suppressed' }
      expect({ address, status, reason }).toEqual({ address, ...expected })
      const left = unsubscribed.get(address)
      if (!isReached) expect(left).toBeDefined()
      if (left && !left.isTooLate) expect({ address, isReached }).toEqual({ address, isReached: false })
    }
    for (const address of refused) expect(reached).not.toContain(address)
    // Each kind of end occurs, or the test proves nothing.
    const kinds = new Set(rows.map(({ status }) => status))
    expect([...kinds].toSorted()).toEqual(['failed', 'sent'])
    expect(refused.size).toBeGreaterThan(0)
    const events = await suppressionEvents(app)
    expect(events.map(({ data }) => data['address']).toSorted()).toEqual([...unsubscribed.keys()].toSorted())
  },
)

test('a hand-over that began before the suppression, and is committed after it, is none', async () => {
  await using sink = await startSmtpSink()
  const app = await openTenant()
  const links = await linksOf(app)
  const accountId = await connectSender(app, { imap: running().imap, sink })
  let reached = () => {}
  const atData = new Promise<void>(resolve => (reached = resolve))
  let go = () => {}
  const gone = new Promise<void>(resolve => (go = resolve))
  sink.behave = async ({ step }) => {
    if (step !== 'data') return null
    reached()
    await gone
    return null
  }
  const address = 'late@example.org'
  const entry = await send(app, accountId, { to: [{ address }], listId: LIST })
  await atData
  // The update that records the hand-over begins, and waits for this row.
  await app.db.transaction().execute(async held => {
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(held)
    await sql`select from outbox where id = ${entry.id} for update`.execute(held)
    go()
    await waitUntil('the update to wait', async () => {
      const { rows } = await sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%handed_over%'
      `.execute(app.db)
      return rows.length > 0
    })
    await unsubscribe(app, links, { address, outboxId: entry.id })
  })
  const failed = await waitForStatus(app, entry, 'failed')
  expect(failed).toMatchObject({
    attempts: 1,
    nextAttemptAt: null,
    lastError: { reason: 'suppressed', message: 'late@example.org is suppressed.' },
    rejectedRecipients: [],
  })
  expect(await sink.accepted()).toEqual([])
  expect(await sendEvents(app)).toMatchObject([
    { type: 'send.failed', data: { outbox: { id: entry.id }, error: { reason: 'suppressed' } } },
  ])
  const { rows } = await sql`select from outbox_content`.execute(app.db)
  expect(rows).toEqual([])
})

test('of a message that some have got, only the suppressed of the others are given up', async () => {
  await using sink = await startSmtpSink()
  const app = await openTenant()
  const accountId = await connectSender(app, { imap: running().imap, sink })
  sink.behave = ({ step, argument, times }) =>
    step === 'rcpt' && !argument.startsWith('first') && times === 1 ? '451 4.2.1 later' : null
  const to = ['first', 'second', 'third'].map(name => ({ address: `${name}@example.org` }))
  const entry = await send(app, accountId, { to })
  await waitForStatus(app, entry, 'sent')
  await app.post('/v1/suppressions/global/entries', { addresses: ['Second@example.org'] })
  await sql`update outbox set due_at = clock_timestamp() where id = ${entry.id}`.execute(app.db)
  await sql`
    update sending_account set due_at = clock_timestamp() where account_id = ${accountId}`.execute(app.db)
  const ended = await waitUntil('the rest', async () => {
    const { body } = await app.get<typeof entry>(`/v1/accounts/${accountId}/outbox/${entry.id}`)
    return body.attempts === 3 ? body : null
  })
  const message = 'second@example.org is suppressed.'
  expect(ended).toMatchObject({
    status: 'sent',
    rejectedRecipients: [{ address: 'second@example.org', status: '5.7.1', message }],
  })
  const reached = (await sink.accepted()).map(accepted => accepted.to)
  expect(reached).toEqual([['first@example.org'], ['third@example.org']])
})
