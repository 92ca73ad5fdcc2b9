import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { METHODS } from '../../src/gmail/api/methods.ts'
import { gmailScope, MAIL, useGmail } from './use-gmail.ts'

const gmail = useGmail()

// Units are counted by the minute: the clock stands still but for what a test turns it.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

/** Units of each method in the table of older projects, as Google documents them; in that of newer ones where they differ. */
const UNITS: Record<string, number | [classic: number, standard: number]> = {
  getProfile: 1,
  'drafts.create': 10,
  'drafts.delete': 10,
  'drafts.get': 5,
  'drafts.list': 5,
  'drafts.send': 100,
  'drafts.update': 15,
  'history.list': 2,
  'labels.create': 5,
  'labels.delete': 5,
  'labels.get': 1,
  'labels.list': 1,
  'labels.patch': 5,
  'labels.update': 5,
  'messages.attachments.get': [5, 20],
  'messages.batchDelete': 50,
  'messages.batchModify': 50,
  'messages.delete': 10,
  'messages.get': [5, 20],
  'messages.import': 25,
  'messages.insert': 25,
  'messages.list': 5,
  'messages.modify': 5,
  'messages.send': 100,
  'messages.trash': 5,
  'messages.untrash': 5,
  'settings.sendAs.create': 100,
  'settings.sendAs.delete': 5,
  'settings.sendAs.get': 1,
  'settings.sendAs.list': 1,
  'settings.sendAs.patch': 100,
  'settings.sendAs.update': 100,
  'settings.sendAs.verify': 100,
  stop: 50,
  'threads.delete': 20,
  'threads.get': [10, 40],
  'threads.list': 10,
  'threads.modify': 10,
  'threads.trash': 10,
  'threads.untrash': 10,
  watch: 100,
}

async function untilRefused(token: string, path: string) {
  for (let count = 0; ; count += 1) {
    const answer = await gmail.ask(token, 'GET', path)
    if (answer.status !== 200) return { count, answer }
  }
}

test.each([
  ['standard', 6_000 / 20],
  ['classic', 15_000 / 5],
] as const)('allows a user with the %s table %i messages a minute', async (quota, allowed) => {
  // A tenth of the table's limit, so that the test is short.
  const unitsPerMinute = (quota === 'standard' ? 6_000 : 15_000) / 10
  const token = await gmail.token('ada@gmail.test')
  const { data } = await gmail.ask(token, 'GET', 'messages?maxResults=1')
  gmail.google.gmail.configure({ quota, unitsPerMinute, quotaAnswer: 403 })
  const { count, answer } = await untilRefused(token, `messages/${data.messages[0].id}?format=minimal`)
  expect(count).toBe(allowed / 10)
  expect(answer.data.error).toMatchObject({
    code: 403,
    errors: [{ domain: 'usageLimits', reason: 'userRateLimitExceeded' }],
  })
})

test.each([
  ['standard', 60],
  ['classic', 150],
] as const)(
  'allows a user of the %s table %i calls of 100 units a minute, if nothing else is set',
  async (quota, allowed) => {
    gmail.google.gmail.configure({ quota })
    const token = await gmail.token('ada@gmail.test')
    const statuses = []
    for (let count = 0; count < allowed + 20; count += 1)
      statuses.push((await gmail.ask(token, 'POST', 'watch', {})).status)
    // Each was charged before it was found to name no topic.
    expect(statuses.slice(0, allowed)).toEqual(Array<number>(allowed).fill(400))
    // Either answer comes, by lot.
    expect([...new Set(statuses.slice(allowed))].toSorted()).toEqual([403, 429])
  },
)

test('counts a minute that moves on, and each user apart', async () => {
  gmail.google.gmail.configure({ quota: 'standard', unitsPerMinute: 10, quotaAnswer: 429 })
  const token = await gmail.token('ada@gmail.test')
  const { clock } = gmail.sandbox.world
  const ask = async () => (await gmail.ask(token, 'GET', 'profile')).status
  for (let count = 0; count < 4; count += 1) expect(await ask()).toBe(200)
  clock.turn(40_000)
  const { count, answer } = await untilRefused(token, 'profile')
  expect(count).toBe(6)
  expect(answer.data.error).toMatchObject({
    code: 429,
    status: 'RESOURCE_EXHAUSTED',
    errors: [{ reason: 'rateLimitExceeded' }],
  })
  expect((await gmail.ask(await gmail.token('ben@gmail.test'), 'GET', 'profile')).status).toBe(200)
  clock.turn(25_000)
  expect((await untilRefused(token, 'profile')).count).toBe(4)
  clock.turn(61_000)
  expect((await untilRefused(token, 'profile')).count).toBe(10)
})

test('limits a project over all of its users, and each project apart', async () => {
  gmail.google.gmail.configure({ quota: 'standard', projectUnitsPerMinute: 3 })
  const ask = async (token: string) => gmail.ask(token, 'GET', 'profile')
  const tokens = await Promise.all(['ada@gmail.test', 'ben@gmail.test'].map(async user => gmail.token(user)))
  const answers = []
  for (const token of [...tokens, ...tokens]) answers.push(await ask(token))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 403])
  expect(answers[3]?.data.error.errors).toMatchObject([
    { domain: 'usageLimits', reason: 'rateLimitExceeded' },
  ])
  const body = JSON.stringify({ clientId: 'other', clientSecret: 'x' })
  await fetch(`${gmail.sandbox.controlUrl}/clients`, { method: 'POST', body })
  expect((await ask(await gmail.token('ada@gmail.test', [MAIL], 'other'))).status).toBe(200)
})

test.each(['classic', 'standard'] as const)('charges each method what the %s table says', async quota => {
  gmail.google.gmail.configure({ quota, unitsPerMinute: 1_000_000 })
  const token = await gmail.token('ada@gmail.test', [
    MAIL,
    ...['settings.basic', 'settings.sharing'].map(gmailScope),
  ])
  const charged = []
  for (const { id, http, path } of METHODS) {
    const { calls } = gmail.sandbox.world
    calls.clear()
    // No call finds its message or label: each is charged all the same.
    await gmail.ask(token, http, path.replaceAll(/\{\w+\}/g, 'none'), http === 'GET' ? undefined : {})
    charged.push([id, calls.list({}).map(({ units }) => units)])
  }
  expect(charged).toEqual(
    METHODS.map(({ id }) => {
      const units = UNITS[id]
      return [id, [Array.isArray(units) ? units[quota === 'classic' ? 0 : 1] : units]]
    }),
  )
})

test('notes the units of each call', async () => {
  gmail.google.gmail.configure({ quota: 'standard' })
  const token = await gmail.token('ada@gmail.test')
  for (const path of ['profile', 'labels', 'messages', 'history?startHistoryId=1', 'nothing'])
    await gmail.ask(token, 'GET', path)
  const calls = gmail.sandbox.world.calls.list({ user: 'ada@gmail.test' })
  expect(calls.map(call => call.units)).toEqual([1, 1, 5, 2, 0])
})
