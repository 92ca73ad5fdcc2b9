import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { makeExternalDatabase } from '../external-database.ts'
import { makeDataFolder, runWaxwing, type ServiceProcess, startServiceProcess } from '../service-process.ts'
import { waitForDay } from '../wait-for-day.ts'
import { waitUntil } from '../wait-until.ts'
import { type Answered, callersAt, laterBy, readAnswers, READING } from './fixture/answers.ts'
import { send } from './fixture/arrange-sends.ts'
import { type KeptSend, readCast, savedFile, type SendName } from './fixture/cast.ts'
import {
  countCopies,
  deliverNews,
  hurryRetries,
  listAccepted,
  listSentByGmail,
  moveServers,
  readNews,
  waitForBeginnings,
  waitForEnd,
} from './fixture/going-on.ts'
import { readStates, readStatesAsMade } from './fixture/follow-states.ts'
import { listLosses, openFixture, type Way } from './fixture/open-fixture.ts'
import { openServers } from './fixture/servers.ts'
import { SOAK } from '../soak.ts'

const QUICK = fileURLToPath(new URL('../sync/quick-service.ts', import.meta.url))
const cast = readCast()
const saved = readFileSync(savedFile('answers.jsonl'), 'utf8')
  .split('\n')
  .slice(0, -1)
  .map(line => JSON.parse(line) as Answered)

const named = (...names: SendName[]) => names.map(name => cast.sends[name])

const newsTo = ({ subject }: KeptSend) => `News to ${subject}@example.org`

// Usage is counted by the day.
beforeEach(waitForDay)

/** Opens the fixture, compares every answer with the one that was saved, and lets the service go on beside its servers. */
async function openAgain(opened: AsyncDisposableStack, way: Way) {
  const { url, database } = opened.use(await makeExternalDatabase())
  const folder = opened.use(await makeDataFolder())
  const age = await openFixture(way, cast, { address: database.address, url, folder })
  const env = { DATABASE_URL: url, WAXWING_SECRET_KEY: cast.secretKey }
  const { db } = database
  const states = way === 'in place' ? await readStatesAsMade(db) : null

  const expected = laterBy(age, saved).map(answer => (way === 'restored' ? afterRestore(answer) : answer))
  const reading = opened.use(await startServiceProcess(folder, { env: { ...env, ...READING } }))
  const answers = await readAnswers(callersAt(reading.address, cast), saved)
  for (const [nth, answer] of answers.entries()) expect(answer).toEqual(expected[nth])
  expect(await listLosses(db)).toEqual([])
  if (states) expect(await readStates(db)).toEqual(states)
  const end = await callersAt(reading.address, cast).default.get('/v1/changes?start=now')
  const cursor = way === 'restored' ? String(end.body['nextCursor']) : cast.cursors.last
  await stop(reading)

  const servers = opened.use(await openServers({ ageMs: age.milliseconds }))
  await servers.imap.setPassword(servers.users.refused, 'another secret')
  await servers.sandbox.changeUser('gmail-refused@gmail.test', { passwordChanged: true })
  await moveServers(db, cast, servers)
  await hurryRetries(db)
  const waiting = await listWaitingDeliveries()
  const service = opened.use(
    await startServiceProcess(folder, {
      program: QUICK,
      env: { ...servers.env, ...env, WAXWING_LINKS_URL: 'https://links.example.com' },
    }),
  )
  const caller = callersAt(service.address, cast).default

  async function listWaitingDeliveries(): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select event_id::text as id from webhook_delivery join webhook_endpoint on id = endpoint_id
      where url like '%/failing' and due_at is not null order by event_id`.execute(db)
    return rows.map(({ id }) => id)
  }

  return {
    servers,
    caller,
    end: (entry: KeptSend) => waitForEnd(db, caller, entry),
    news: () => readNews(caller, cast, cursor),
    /** Resumes the suspended tenant, and waits for the end of its send. */
    async resume(entry: KeptSend) {
      const command = ['tenant', 'resume', 'suspended']
      expect(await runWaxwing(command, { env: { ...env, WAXWING_DATA_DIR: folder.path } })).toMatchObject({
        code: 0,
      })
      return waitForEnd(db, callersAt(service.address, cast).suspended, entry)
    },
    read: async ({ accountId, id }: KeptSend) =>
      (await caller.get<OutboxEntry>(`/v1/accounts/${accountId}/outbox/${id}`)).body,
    /** Waits for what goes on beside sending, and finds nothing begun again. */
    async goesOn() {
      await waitForBeginnings(caller, cast)
      await deliverNews(caller, cast, servers)
      await waitUntil('the webhooks', async () => {
        const arrived = servers.receiver.idsAt('/failing')
        return waiting.every(id => arrived.includes(id))
      })
      expect(waiting.length).toBeGreaterThan(0)
      for (const { body } of expected.filter(({ path }) => /^\/v1\/accounts\/[^/]+$/.test(path))) {
        const { id, initializedAt, status } = body as Account
        if (!initializedAt) continue
        const now = (await caller.get<Account>(`/v1/accounts/${id}`)).body
        if (now.id === id) expect(now).toMatchObject({ initializedAt, status })
      }
    },
  }
}

/** Entries that were due, and are held after a restore. */
const HELD = [...named('due', 'due, too', 'due by Gmail', 'due while suspended'), ...cast.merge.slice(2, 4)]
const heldIds = new Set(HELD.map(({ id }) => id))

/** The answer after a restore: cursors of the feed are refused, and what was due is held. */
function afterRestore(answer: Answered): Answered {
  if (answer.path.includes('/v1/changes') && answer.path.includes('cursor='))
    return { ...answer, status: 400, body: expect.objectContaining({ code: 'invalid_cursor' }) }
  return answer.path.includes('/outbox') ? { ...answer, body: withHeld(answer.body) } : answer
}

function withHeld(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withHeld)
  if (typeof value !== 'object' || value === null) return value
  if ('id' in value && typeof value.id === 'string' && heldIds.has(value.id))
    return { ...value, status: 'sending', nextAttemptAt: null, updatedAt: expect.any(String) }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withHeld(item)]))
}

const NEWS = 'message.created News from outside'
/** The first syncs that were broken off end, and the message that could not be read is read. */
const BEGINNINGS = {
  beginning: ['account.initialized'],
  'gmail-beginning': ['account.initialized'],
  unreadable: ['message.created Re: Plans'],
}

async function stop(service: ServiceProcess) {
  service.kill('SIGTERM')
  expect((await service.ended).code).toBe(0)
}

test('a database in place is migrated with nothing lost, sends what is due once, and begins nothing again', async () => {
  await using opened = new AsyncDisposableStack()
  const { servers, caller, end, read, goesOn, news, resume } = await openAgain(opened, 'in place')

  for (const entry of [
    ...named('due', 'due, too', 'due by Gmail', 'handed over by Gmail'),
    ...cast.merge.slice(2, 4),
  ])
    expect(await end(entry)).toMatchObject({ status: 'sent' })
  for (const entry of named('looked for', 'handed over'))
    expect(await end(entry)).toMatchObject({ status: 'failed', lastError: { reason: 'outcome_unknown' } })
  // Under the Idempotency-Key of the fixture.
  expect(await send(caller, cast.accounts.live, 'Due')).toMatchObject({ id: cast.sends.due.id })
  await goesOn()

  for (const entry of [...named('scheduled', 'scheduled by Gmail'), ...cast.merge.slice(4)])
    expect(await read(entry)).toMatchObject({ status: 'queued' })
  const accepted = [
    'Due to grace@example.org',
    'Due, too to grace@example.org',
    ...cast.merge.slice(2, 4).map(newsTo).toSorted(),
  ]
  expect(await listAccepted(servers)).toEqual(accepted)
  expect(await resume(cast.sends['due while suspended'])).toMatchObject({ status: 'sent' })
  expect(await listAccepted(servers)).toEqual(
    [...accepted, 'Due while suspended to grace@example.org'].toSorted(),
  )
  expect(await listSentByGmail(servers, 'gmail-live')).toEqual(['Due by Gmail', 'Handed over by Gmail'])
  expect(await countCopies(servers, 'live')).toBe(3)
  await expect.poll(news).toEqual({
    ...BEGINNINGS,
    live: [
      'message.created Due',
      'message.created Due, too',
      NEWS,
      'send.failed Handed over',
      'send.failed Looked for',
      'send.sent Due',
      'send.sent Due, too',
    ],
    merging: [NEWS, 'send.sent News', 'send.sent News'],
    'gmail-live': [
      'message.created Due by Gmail',
      'message.created Handed over by Gmail',
      NEWS,
      'send.sent Due by Gmail',
      'send.sent Handed over by Gmail',
    ],
  })
}, 300_000)

test(
  'a restored backup lost nothing, sends what falls due later once, and holds what was due',
  { ...SOAK, timeout: 300_000 },
  async () => {
    await using opened = new AsyncDisposableStack()
    const { servers, caller, end, goesOn, news } = await openAgain(opened, 'restored')

    const due = HELD.filter(({ accountId }) => accountId !== cast.accounts.suspended)
    for (const entry of [...due, ...named('looked for', 'handed over')])
      expect(await end(entry)).toMatchObject({ status: 'failed', lastError: { reason: 'outcome_unknown' } })
    expect(await end(cast.sends['handed over by Gmail'])).toMatchObject({ status: 'sent' })
    await goesOn()
    expect(await listAccepted(servers)).toEqual([])

    for (const entry of [...named('scheduled', 'scheduled by Gmail'), ...cast.merge.slice(4)]) {
      await caller.patch(`/v1/accounts/${entry.accountId}/outbox/${entry.id}`, { sendAt: null })
      expect(await end(entry)).toMatchObject({ status: 'sent' })
    }
    expect(await listAccepted(servers)).toEqual([
      ...cast.merge.slice(4).map(newsTo).toSorted(),
      'Scheduled to grace@example.org',
    ])
    expect(await listSentByGmail(servers, 'gmail-live')).toEqual([
      'Handed over by Gmail',
      'Scheduled by Gmail',
    ])
    await expect.poll(news).toEqual({
      ...BEGINNINGS,
      live: [
        NEWS,
        'message.created Scheduled',
        'send.failed Due',
        'send.failed Due, too',
        'send.failed Handed over',
        'send.failed Looked for',
        'send.rescheduled Scheduled',
        'send.sent Scheduled',
      ],
      merging: [
        NEWS,
        'send.failed News',
        'send.failed News',
        'send.rescheduled News',
        'send.rescheduled News',
        'send.sent News',
        'send.sent News',
      ],
      'gmail-live': [
        'message.created Handed over by Gmail',
        NEWS,
        'message.created Scheduled by Gmail',
        'send.failed Due by Gmail',
        'send.rescheduled Scheduled by Gmail',
        'send.sent Handed over by Gmail',
        'send.sent Scheduled by Gmail',
      ],
    })
  },
)
