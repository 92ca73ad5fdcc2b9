import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, importJWK, SignJWT, type CryptoKey, type JWTPayload } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callsTo } from '../../../test/gmail/reach-sandbox.ts'
import { IdTokens } from './id-token.ts'

interface Key {
  id: string
  pair: { publicKey: CryptoKey; privateKey: CryptoKey }
}

let published: Key[] = []
let reads = 0
let stranger: Key
/** Answers in place of the keys. */
let instead: (() => Response | Promise<Response>) | null = null
const server = createServer((_, response) => {
  reads++
  if (instead) return void answerInstead(response, instead)
  void Promise.all(
    published.map(async ({ id, pair }) => ({ ...(await exportJWK(pair.publicKey)), kid: id })),
  ).then(keys =>
    response.writeHead(200, { 'cache-control': 'public, max-age=600' }).end(JSON.stringify({ keys })),
  )
})

async function answerInstead(
  response: ServerResponse,
  make: () => Response | Promise<Response>,
): Promise<void> {
  const given = await make()
  response.writeHead(given.status).end(await given.text())
}

const newKey = async (id: string): Promise<Key> => ({
  id,
  pair: await generateKeyPair('RS256', { extractable: true }),
})

beforeAll(async () => {
  published = [await newKey('one')]
  stranger = await newKey('one')
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => server.close())

function openIdTokens(options = {}) {
  const { port } = server.address() as AddressInfo
  return new IdTokens(callsTo({ hosts: { 'www.googleapis.com': `http://127.0.0.1:${port}` } }), options)
}

const now = () => Math.floor(Date.now() / 1_000)
const claims = (): JWTPayload => ({
  iss: 'https://accounts.google.com',
  aud: 'an-app',
  sub: '107',
  nonce: 'n',
  name: 'Ada',
  iat: now(),
  exp: now() + 3600,
})

function sign(change: JWTPayload, key = published[0]!, header: { alg?: string; kid?: string } = {}) {
  return new SignJWT({ ...claims(), ...change })
    .setProtectedHeader({ alg: 'RS256', kid: key.id, ...header })
    .sign(key.pair.privateKey)
}

/** Signs with a key that is published, but for another algorithm than Google's. */
async function signWith(alg: string) {
  const { id, pair } = published[0]!
  const key = await importJWK(await exportJWK(pair.privateKey), alg)
  return new SignJWT(claims()).setProtectedHeader({ alg, kid: id }).sign(key)
}

const EXPECTED = { audience: 'an-app', nonce: 'n' }
const IN_TIME = new AbortController().signal

test('returns the user of a valid ID token', async () => {
  const tokens = openIdTokens()
  const before = reads
  for (const iss of ['https://accounts.google.com', 'accounts.google.com'])
    expect(await tokens.check(await sign({ iss }), EXPECTED, IN_TIME)).toEqual({
      subject: '107',
      name: 'Ada',
    })
  expect(reads - before).toBe(1)
})

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

test.each<[string, () => Promise<string> | string]>([
  ['another issuer', () => sign({ iss: 'https://accounts.example.com' })],
  ['another app', () => sign({ aud: 'another-app' })],
  ['another nonce', () => sign({ nonce: 'other' })],
  ['no nonce', () => sign({ nonce: undefined })],
  ['no subject', () => sign({ sub: undefined })],
  ['an empty subject', () => sign({ sub: '' })],
  ['a time that is over', () => sign({ exp: now() - 90 })],
  ['no end', () => sign({ exp: undefined })],
  ['no beginning', () => sign({ iat: undefined })],
  ['another algorithm', () => signWith('PS256')],
  ['the signature of a stranger', () => sign({}, stranger)],
  ['a key that is not published', () => sign({}, { ...published[0]!, id: 'unknown' })],
  ['no signature', () => `${encode({ alg: 'none' })}.${encode(claims())}.`],
  [
    'a changed payload',
    async () => (await sign({})).replace(/\.[^.]+\./, `.${encode({ ...claims(), sub: '1' })}.`),
  ],
  ['no form of a token', () => 'token'],
])('refuses an ID token with %s', async (_, make) => {
  await expect(openIdTokens().check(await make(), EXPECTED, IN_TIME)).rejects.toMatchObject({
    kind: 'rejected',
  })
})

test.each<[string, () => Response]>([
  ['an error', () => new Response(JSON.stringify({ keys: [{ kty: 'RSA' }] }), { status: 500 })],
  ['no keys', () => new Response(JSON.stringify({ keys: [] }))],
  ['no JSON', () => new Response('<html>')],
])(
  'calls Google unavailable, and the token not wrong, if the keys are answered with %s',
  async (_, answer) => {
    instead = answer
    try {
      const tokens = openIdTokens()
      const token = await sign({})
      await expect(tokens.check(token, EXPECTED, IN_TIME)).rejects.toMatchObject({ kind: 'unavailable' })
      await expect(tokens.findClaims(token, 'an-app')).rejects.toMatchObject({ kind: 'unavailable' })
    } finally {
      instead = null
    }
  },
)

test('waits for keys that do not come only as long as its own call may take', async () => {
  const late = Promise.withResolvers<Response>()
  instead = () => late.promise
  const [tokens, token] = [openIdTokens(), await sign({})]
  const [patient, before] = [tokens.check(token, EXPECTED, IN_TIME), reads]
  const call = new AbortController()
  const ended = tokens.check(token, EXPECTED, call.signal)
  call.abort()
  await expect(ended).rejects.toMatchObject({ kind: 'unavailable' })
  instead = null
  const keys = [{ ...(await exportJWK(published[0]!.pair.publicKey)), kid: published[0]!.id }]
  late.resolve(new Response(JSON.stringify({ keys })))
  expect(await patient).toMatchObject({ subject: '107' })
  expect(reads - before).toBeLessThanOrEqual(1)
})

test('reads the keys again when a token is signed with a new one', async () => {
  const tokens = openIdTokens({ rereadSeconds: 0 })
  await tokens.check(await sign({}), EXPECTED, IN_TIME)
  const added = await newKey('two')
  published.push(added)
  expect(await tokens.check(await sign({}, added), EXPECTED, IN_TIME)).toMatchObject({ subject: '107' })
})

test('does not read the keys for each stranger', async () => {
  const tokens = openIdTokens()
  await tokens.check(await sign({}), EXPECTED, IN_TIME)
  const before = reads
  for (let time = 0; time < 5; time++)
    await tokens
      .check(await sign({}, { ...published[0]!, id: `unknown-${time}` }), EXPECTED, IN_TIME)
      .catch(() => null)
  expect(reads).toBe(before)
})
