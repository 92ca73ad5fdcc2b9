import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitUntil } from '../../wait-until.ts'
import { HOSTILE_REPORTS } from './hostile-reports.ts'
import { DSN_SHAPES } from './dsn-shapes.ts'
import { type AnswersApp, dataOf, openAnswers, waitUntilLookedAt } from './open-answers.ts'

let opened: AnswersApp
beforeAll(async () => {
  opened = await openAnswers()
})
afterAll(() => opened[Symbol.asyncDispose]())

const report = (...[facts]: Parameters<(typeof DSN_SHAPES)[number]['write']>) => DSN_SHAPES[0]!.write(facts)

/** Whether a message waits for another attempt to read it. */
async function isTriedAgain(): Promise<boolean> {
  const { rows } = await sql`
    select from pending_answer where attempts > 0 and claimed_by is null`.execute(opened.app.db)
  return rows.length > 0
}

/** Lets nothing be read from the account, as when its provider is away. */
async function setStatus(status: 'active' | 'paused') {
  await sql`update account set status = ${status} where id = ${opened.accountId}`.execute(opened.app.db)
}

describe('an answer that cannot be read', () => {
  test('is tried again, while the position in the log moves on, and is read once that is possible', async () => {
    const entry = await opened.sendOne({ to: [{ address: 'grace@example.org' }] })
    const source = report(opened.reported(entry))
    // As the follower takes it down, but the account is paused before it is read.
    await sql`
      create function hold_back() returns trigger language plpgsql as $$ begin
        update account set status = 'paused' where id = new.account_id; return new; end $$`.execute(
      opened.app.db,
    )
    await sql`
      create trigger hold_back before insert on pending_answer for each row execute function hold_back()
    `.execute(opened.app.db)
    await opened.world.deliver([{ raw: source }])
    await waitUntil('the end of the first attempt', isTriedAgain)
    const { rows } = await sql<{ isThrough: boolean }>`
      select after_id >= (select max(id) from event where type = 'message.created') as "isThrough"
      from event_follower where name = 'answers'
    `.execute(opened.app.db)
    expect(rows).toEqual([{ isThrough: true }])
    expect(await dataOf(opened.app, 'message.bounced')).toEqual([])

    await sql`drop trigger hold_back on pending_answer`.execute(opened.app.db)
    await setStatus('active')
    await sql`update pending_answer set due_at = clock_timestamp()`.execute(opened.app.db)
    await waitUntilLookedAt(opened.app)
    expect(await dataOf(opened.app, 'message.bounced')).toMatchObject([{ outboxId: entry.id }])
  })

  test('is given up after 14 days, and counted', async () => {
    await opened.world.deliver([{ raw: 'From: <max@example.org>\r\nSubject: Unread\r\n\r\nHello\r\n' }])
    const unread = await waitUntil('the message', async () =>
      (await dataOf(opened.app, 'message.created')).find(({ message }) => message.subject === 'Unread'),
    )
    await setStatus('paused')
    await sql`
      insert into pending_answer (message_id, tenant_id, account_id, created_at)
      select ${unread.message.id}, tenant_id, id, clock_timestamp() - interval '15 days' from account where id = ${opened.accountId}
    `.execute(opened.app.db)
    await waitUntilLookedAt(opened.app)
    await setStatus('active')
    expect(opened.app.logLines.some(line => line.includes('could not be read and was given up'))).toBe(true)
  })
})

test('hostile reports harm neither one another nor a real one among them', { timeout: 300_000 }, async () => {
  const entry = await opened.sendOne({ to: [{ address: 'max@example.org' }] })
  const facts = opened.reported(entry)
  await opened.world.deliver([
    ...HOSTILE_REPORTS.filter(({ name }) => !name.includes('NUL')).map(({ write }) => ({
      raw: write(facts),
    })),
    { raw: report(facts).replaceAll('grace@example.org', 'max@example.org') },
  ])
  const bounced = await waitUntil(
    'the bounce',
    async () => (await dataOf(opened.app, 'message.bounced')).find(({ outboxId }) => outboxId === entry.id),
    240,
  )
  expect(bounced.recipients).toMatchObject([{ address: 'max@example.org' }])
  await waitUntilLookedAt(opened.app)
  const all = await dataOf(opened.app, 'message.bounced')
  expect(all.filter(({ outboxId }) => outboxId === entry.id)).toHaveLength(1)
  const suppressed = (await dataOf(opened.app, 'suppression.created')).map(({ address }) => address)
  expect(suppressed.filter(address => address.endsWith('example.net'))).toEqual([])
})
