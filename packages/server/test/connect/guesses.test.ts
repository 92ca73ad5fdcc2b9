import { createHash, randomBytes } from 'node:crypto'
import type { ConnectSession } from '@waxwing/contract/accounts/connect-sessions.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { type TestApp, openTestApp } from '../open-app.ts'
import { behindProxy, openForm } from './hosted-form.ts'

const PAIRS = Number(process.env['WAXWING_TEST_GUESSES'] ?? 2_000) / 2
/** Clients that guess at the same time. */
const LANES = 8

const newToken = () => randomBytes(32).toString('base64url')
const withLast = (token: string) => token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A')
const withFirst = (token: string) => (token.startsWith('A') ? 'B' : 'A') + token.slice(1)

const digestOf = (token: string) => createHash('sha256').update(token).digest()

/** Guesses that a comparison of texts, or a look at what is stored, would bring nearer to a token. */
const nearGuesses = (token: string, forgotten: string) => [
  withLast(token),
  withFirst(token),
  token.toLowerCase(),
  digestOf(token).toString('base64url'),
  forgotten,
]

const malformedGuesses = (token: string) => [
  digestOf(token).toString('hex'),
  `${token}A`,
  token.slice(1),
  `${token.slice(1)}%00`,
  'x',
]

/** Guesses a token at the operation and at the page, each time as another client. */
function openGuessing(app: TestApp) {
  let clients = 0
  const answers = new Map<string, Set<string>>()
  const ask = async (path: string) => {
    clients += 1
    const client = `198.${18 + (clients >> 16)}.${(clients >> 8) & 255}.${clients & 255}`
    const answer = await fetch(app.address + path, { headers: { 'x-forwarded-for': client } })
    const text = (await answer.text()).replaceAll(answer.headers.get('x-request-id') ?? '-', '')
    const names = [...answer.headers.keys()].toSorted().join()
    return `${answer.status} ${names} ${text}`
  }
  return {
    /** The different answers, by the kind of address. */
    answers,
    /** Returns the milliseconds of the answer. */
    async guess(kind: 'operation' | 'page', token: string): Promise<number> {
      const startedAt = performance.now()
      const path = kind === 'page' ? `/connect/${token}` : `/v1/hosted/connect-sessions/${token}`
      const told = await ask(path)
      const took = performance.now() - startedAt
      answers.set(kind, (answers.get(kind) ?? new Set()).add(told))
      return took
    },
  }
}

test('guesses of a link are answered alike, and none sooner or later for being near', async () => {
  await using app = await openTestApp(behindProxy())
  const [form, gone] = [await openForm(app), await openForm(app)]
  await sql`delete from connect_session where id = ${gone.id}`.execute(app.db)
  const near = nearGuesses(form.token, gone.token)
  const { answers, guess } = openGuessing(app)

  let pairs = 0
  let later = 0
  const guessInPairs = async () => {
    while (pairs < PAIRS) {
      const at = pairs++
      const kind = at % 2 === 0 ? 'operation' : 'page'
      const tokens = [near[at % near.length]!, newToken()]
      const isFirst = Math.floor(at / (2 * near.length)) % 2 === 0
      const took: number[] = []
      for (const token of isFirst ? tokens : tokens.toReversed()) took.push(await guess(kind, token))
      const [ofNear, ofOther] = isFirst ? took : took.toReversed()
      if (ofNear! > ofOther!) later += 1
    }
  }
  await Promise.all(Array.from({ length: LANES }, guessInPairs))
  for (const token of malformedGuesses(form.token)) {
    await guess('operation', token)
    await guess('page', token)
  }

  expect(answers.get('operation')?.size).toBe(1)
  expect(answers.get('page')?.size).toBe(1)
  expect([...answers.get('operation')!][0]).toMatch(/^404 .*connect_session_not_found/)
  expect([...answers.get('page')!][0]).toMatch(/^404 /)
  // Two guesses are sent at the same moment. If they do not differ, each is the slower one half of the time, however
  // busy the machine is.
  expect(Math.abs(later / PAIRS - 0.5)).toBeLessThan(0.1)
  const { body } = await app.get<ConnectSession>(`/v1/connect-sessions/${form.id}`)
  expect(body).toMatchObject({ status: 'pending' })
  expect((await fetch(`${app.address}/connect/${form.token}`)).status).toBe(200)
}, 300_000)
