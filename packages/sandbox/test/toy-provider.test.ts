import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { google } from '../src/google/google.ts'
import { openSandbox, type Sandbox } from '../src/open-sandbox.ts'
import type { Provider } from '../src/world/provider.ts'
import { TOY_HOST, toyProvider } from './toy-provider.ts'

const TOM = 'tom@toy.test'
const ADA = 'ada@gmail.test'
const MAIL = 'https://mail.google.com/'

const closed: string[] = []
let sandbox: Sandbox

beforeAll(async () => {
  sandbox = await openSandbox({ providers: [google, toyProvider(closed)] })
})
beforeEach(async () => {
  await control('POST', '/reset')
  closed.length = 0
})
afterAll(async () => sandbox[Symbol.asyncDispose]())

async function ask(url: string, method = 'GET', body?: unknown, token?: string) {
  const response = await fetch(url, {
    method,
    ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? null : JSON.parse(text) }
}

const control = (method: string, path: string, body?: unknown) =>
  ask(`${sandbox.controlUrl}${path}`, method, body)
const toy = (method: string, path: string, body?: unknown) =>
  ask(`${sandbox.hosts[TOY_HOST]}${path}`, method, body)

async function gmail(method: string, path: string, body?: unknown) {
  const { body: granted } = await control('POST', '/grants', {
    user: ADA,
    clientId: 'sandbox',
    scopes: [MAIL],
  })
  const url = `${sandbox.hosts['gmail.googleapis.com']}/gmail/v1/users/me/${path}`
  return ask(url, method, body, granted.accessToken)
}

/** Sends a message as Ada, who is a user of Google. */
const sendAsAda = (to: string, subject: string) =>
  gmail('POST', 'messages/send', {
    raw: Buffer.from(
      `From: ${ADA}\r\nTo: ${to}\r\nBcc: cleo@corp.test\r\nSubject: ${subject}\r\n\r\nHi\r\n`,
    ).toString('base64url'),
  })
const foundByAda = async (query: string): Promise<{ id: string }[]> =>
  (await gmail('GET', `messages?q=${encodeURIComponent(query)}`)).body.messages ?? []

test('brings its users and its host, which has a port after those of Google', async () => {
  const { items } = (await control('GET', '/users')).body
  expect(items.map(({ email, provider }: Record<string, string>) => [email, provider])).toEqual([
    [ADA, 'google'],
    ['ben@gmail.test', 'google'],
    ['cleo@corp.test', 'google'],
    [TOM, 'toy'],
  ])
  expect(items[3]).toMatchObject({ id: expect.stringMatching(/^toy-/), organization: null })
  expect(Object.keys((await control('GET', '/hosts')).body).at(-1)).toBe(TOY_HOST)
  expect((await control('GET', '/mail-hosts/toy.test')).body).toEqual({ items: ['mx.toy.test'] })
})

test('gets mail from a user of Gmail, and answers it', async () => {
  await sendAsAda(TOM, 'Marbles')
  const [letter, ...others] = (await toy('GET', `/inbox/${TOM}`)).body
  expect(letter).toMatch(/^Subject: Marbles\r$/m)
  expect(letter).not.toContain('Bcc')
  expect(others).toEqual([])
  const answer = await toy('POST', '/letters', {
    from: TOM,
    to: 'Ada+toys@gmail.test',
    subject: 'Re: Marbles',
  })
  expect(answer.body).toEqual({ isDelivered: true })
  const [found, ...more] = await foundByAda('subject:"Re: Marbles" in:inbox')
  expect(more).toEqual([])
  const { payload } = (await gmail('GET', `messages/${found?.id}`)).body
  expect(payload.headers).toEqual(
    expect.arrayContaining([
      { name: 'From', value: TOM },
      { name: 'Return-Path', value: `<${TOM}>` },
    ]),
  )
})

test('has an unknown user of its domain bounce at Gmail', async () => {
  await sendAsAda('nobody@toy.test', 'Marbles')
  expect(await foundByAda('from:mailer-daemon newer_than:1d')).toHaveLength(1)
})

test('gets mail from outside, by SMTP and by the control API', async () => {
  await createTransport({ ...sandbox.smtp, secure: false, ignoreTLS: true }).sendMail({
    from: 'zoe@example.com',
    to: TOM,
    subject: 'By SMTP',
    text: 'Hi',
  })
  const url = `${sandbox.controlUrl}/users/${TOM}/messages`
  const delivered = await fetch(url, { method: 'POST', body: 'Subject: By hand\r\n\r\nHi\r\n' })
  expect(await delivered.json()).toEqual({ isKept: true })
  const letters: string[] = (await toy('GET', `/inbox/${TOM}`)).body
  expect(letters.map(letter => /^Subject: (.*)\r$/m.exec(letter)?.[1])).toEqual(['By SMTP', 'By hand'])
})

test('has its own routes of the control API, in the world that answers', async () => {
  expect((await control('PATCH', '/toy', { signature: 'bold' })).body).toEqual({ signature: 'bold' })
  await toy('POST', '/letters', { from: TOM, to: ADA, subject: 'Signed' })
  expect(await foundByAda('subject:Signed bold')).toHaveLength(1)
  expect(await control('PATCH', '/toy', { signature: 1 })).toMatchObject({
    status: 422,
    body: { error: expect.stringMatching(/^signature: /) },
  })
  await control('POST', '/reset')
  await toy('POST', '/letters', { from: TOM, to: ADA, subject: 'Signed' })
  expect(await foundByAda('subject:Signed plain')).toHaveLength(1)
})

test('ends its work at a reset, and takes its fields of the seed', async () => {
  const users = [{ email: 'tina@toy.test', provider: 'toy' }]
  expect((await control('POST', '/reset', { users, toySignature: 'seeded' })).status).toBe(204)
  expect(closed).toEqual([TOM])
  await control('POST', '/users', { email: 'una@toy.test', provider: 'toy' })
  await toy('POST', '/letters', { from: 'tina@toy.test', to: 'una@toy.test', subject: 'Seed' })
  expect((await toy('GET', '/inbox/una@toy.test')).body).toEqual([expect.stringContaining('seeded')])
})

test.each([
  [{ users: [{ email: TOM, provider: 'unknown' }] }, /^users\.0\.provider: /],
  [{ toySignature: 1 }, /^toySignature: /],
  [{ toys: [] }, /^body: Unrecognized key: "toys"/],
])('refuses the seed %j, and goes on as before', async (seed, error) => {
  const refused = await control('POST', '/reset', seed)
  expect(refused).toMatchObject({ status: 422, body: { error: expect.stringMatching(error) } })
  expect((await control('GET', '/users')).body.items).toHaveLength(4)
})

test('acts on a new password in its own way, and keeps its users from the sign-in of Google', async () => {
  await control('PATCH', `/users/${TOM}`, { passwordChanged: true })
  expect((await toy('GET', `/inbox/${TOM}`)).body).toEqual(['Your password has changed.'])
  const refused = await control('POST', '/grants', {
    user: TOM,
    clientId: 'sandbox',
    scopes: [MAIL],
    provider: 'google',
  })
  expect(refused).toEqual({ status: 422, body: { error: `There is no user ${TOM}.` } })
})

test('has its own clients, grants, sign-in, histories and pushes, which the control API finds', async () => {
  const client = { provider: 'toy', clientId: 'bag', marbles: 3 }
  expect((await control('POST', '/clients', client)).body).toEqual(client)
  expect((await control('GET', '/clients')).body.items).toMatchObject([
    { provider: 'google', clientId: 'sandbox' },
    { ...client, clientSecret: null },
  ])
  const granted = await control('POST', '/grants', { user: TOM, clientId: 'bag', scopes: ['play'] })
  expect(granted.body).toEqual({ accessToken: `${TOM} bag`, refreshToken: 'toy' })
  for (const origin of [`https://${TOY_HOST}`, sandbox.hosts[TOY_HOST]]) {
    const url = `${origin}/sign-in`
    const { body } = await control('POST', '/authorizations', { url, user: ADA, deny: 'admin_required' })
    expect(body).toEqual({ redirectUrl: `${url}#${ADA} admin_required` })
  }
  await control('POST', '/history/expire', { user: TOM, at: 'delta' })
  expect((await toy('GET', `/inbox/${TOM}`)).body).toEqual(['Expired at delta.'])
  const pushed = await control('PATCH', '/pushes', { provider: 'toy', drop: 1 })
  expect(pushed.body).toEqual({ pushed: { drop: 1 } })
})

test.each([
  ['POST', '/clients', { provider: 'toy', clientId: 'bag', marbles: 'many' }, /^marbles: /],
  ['POST', '/clients', { provider: 'toy', clientId: 'bag', clientSecret: 'x', marbles: 1 }, /clientSecret/],
  ['POST', '/clients', { clientId: 'bag', marbles: 1 }, /^clientSecret: .*marbles/],
  ['POST', '/clients', { provider: 'toy', cloud: 'high', clientId: 'a', marbles: 1 }, /^cloud: toy has no/],
  ['POST', '/users', { provider: 'toy', cloud: 'high', email: 'uma@toy.test' }, /^cloud: toy has no/],
  ['POST', '/users', { email: 'uma@gmail.test', delegates: [ADA] }, /^delegates: /],
  ['PATCH', `/users/${ADA}`, { delegates: ['ben@gmail.test'] }, /^delegates: /],
  ['POST', '/grants', { user: TOM, clientId: 'bag', scopes: ['play'], provider: 'tin' }, /^provider: /],
  ['POST', '/history/expire', { user: TOM, provider: 'google' }, /^provider: /],
  ['POST', '/history/expire', { user: ADA, at: 'next' }, /^at: /],
  ['PATCH', '/pushes', { provider: 'tin' }, /^provider: /],
])('is refused %s %s with %j', async (method, path, body, error) => {
  const refused = await control(method, path, body)
  expect(refused).toMatchObject({ status: 422, body: { error: expect.stringMatching(error) } })
})

test('keeps the delegates of a mailbox', async () => {
  await control('POST', '/users', { email: 'desk@toy.test', provider: 'toy', delegates: ['Tom@Toy.test'] })
  const { body } = await control('PATCH', '/users/desk@toy.test', {})
  expect(body).toMatchObject({ delegates: [TOM], cloud: null })
  const changed = await control('PATCH', '/users/desk@toy.test', { delegates: [] })
  expect(changed.body).toMatchObject({ delegates: [] })
})

test('has its calls in the log, and is struck by faults', async () => {
  await control('POST', '/faults', { does: 'error', host: TOY_HOST, status: 502, count: 1 })
  expect(await toy('GET', `/inbox/${TOM}`)).toEqual({ status: 502, body: { refused: 'error' } })
  await toy('POST', '/letters', { from: TOM, to: ADA, subject: 'Logged' })
  expect((await control('GET', `/calls?host=${TOY_HOST}`)).body.items).toMatchObject([
    { status: 502, fault: 'error' },
    { status: 200, user: TOM, path: '/letters' },
  ])
})

test('is refused beside a provider that has a host of the same name or port', async () => {
  const first = toyProvider()
  const [host] = first.hosts
  const hostsOf: Provider['hosts'][] = [[{ ...host!, port: 91 }], [{ ...host!, name: 'other.toy.test' }]]
  for (const hosts of hostsOf) {
    const other = { ...first, name: 'other', hosts }
    await expect(openSandbox({ providers: [first, other] })).rejects.toThrow(
      /of toy and .* of other have the same/,
    )
  }
})
