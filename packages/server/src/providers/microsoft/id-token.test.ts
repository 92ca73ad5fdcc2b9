import { exportJWK, generateKeyPair, type CryptoKey, type JWTPayload, SignJWT } from 'jose'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callsTo } from '../../../test/gmail/reach-sandbox.ts'
import { ProviderFailure } from '../failure.ts'
import { CLOUDS } from './clouds.ts'
import { Discovery } from './discovery.ts'
import { IdTokens } from './id-token.ts'

const TID = 'aaaaaaaa-0000-4000-8000-000000000001'
const OID = 'bbbbbbbb-0000-4000-8000-000000000002'
const PERSONAL = '9188040d-6c67-4c5b-b112-36a304b66dad'
/** Differs from the login host, as in a cloud whose issuer kept its older name. */
const issuerOf = (tid: string) => `https://sts.cloud.example/${tid}/v2.0`
const EXPECTED = { audience: 'an-app', nonce: 'n' }
const never = new AbortController().signal

let keys: { publicKey: CryptoKey; privateKey: CryptoKey }
let server: Server
let documentsRead = 0
/** Issuer that the published key is restricted to. */
let issuerOfKey = issuerOf('{tenantid}')
let isDown = false

beforeAll(async () => {
  keys = await generateKeyPair('RS256', { extractable: true })
  const jwk = await exportJWK(keys.publicKey)
  server = createServer((request, response) => {
    if (isDown) return void response.writeHead(503).end()
    const [, tenant, ...rest] = (request.url ?? '').split('/')
    if (rest.join('/') !== 'v2.0/.well-known/openid-configuration')
      return void response.end(JSON.stringify({ keys: [{ ...jwk, kid: 'one', issuer: issuerOfKey }] }))
    documentsRead += 1
    const { login } = CLOUDS[tenant === 'common' ? 'global' : 'china']
    response.end(
      JSON.stringify({
        issuer: issuerOf('{tenantid}'),
        token_endpoint: `https://${login}/${tenant}/oauth2/v2.0/token`,
        jwks_uri: `https://${login}/${tenant}/discovery/v2.0/keys`,
      }),
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => server.close())

async function withTokens<T>(
  work: (tokens: IdTokens, discovery: Discovery) => Promise<T>,
  row = CLOUDS.global,
): Promise<T> {
  const { port } = server.address() as AddressInfo
  await using calls = callsTo({ hosts: { [row.login]: `http://127.0.0.1:${port}` } })
  const discovery = new Discovery(calls, row)
  return await work(new IdTokens(calls, discovery, row), discovery)
}

const now = () => Math.floor(Date.now() / 1_000)

function sign(change: JWTPayload = {}, alg = 'RS256', key = keys.privateKey) {
  const tid = typeof change['tid'] === 'string' ? change['tid'] : TID
  const claims = {
    iss: issuerOf(tid),
    aud: 'an-app',
    sub: 'pairwise',
    tid,
    oid: OID,
    nonce: 'n',
    name: 'Eva',
    ver: '2.0',
    iat: now(),
    exp: now() + 3600,
  }
  return new SignJWT({ ...claims, ...change }).setProtectedHeader({ alg, kid: 'one' }).sign(key)
}

const check = async (token: string, row = CLOUDS.global) =>
  withTokens(tokens => tokens.check(token, EXPECTED, never), row)

describe('an ID token of Microsoft', () => {
  test('names the user in a directory', async () => {
    expect(await check(await sign())).toEqual({ tid: TID, oid: OID, name: 'Eva' })
    const token = await sign({ nonce: 'of no interest', tid: TID.toUpperCase(), iss: issuerOf(TID) })
    const adopted = await withTokens(tokens => tokens.check(token, { ...EXPECTED, nonce: null }, never))
    expect(adopted).toMatchObject({ tid: TID })
  })

  test.each<[string, JWTPayload]>([
    ['another audience', { aud: 'another-app' }],
    ['another nonce', { nonce: 'another' }],
    ['no nonce', { nonce: undefined }],
    ['the issuer of another directory', { iss: issuerOf(OID) }],
    [
      'the issuer that the login host would suggest',
      { iss: `https://login.microsoftonline.com/${TID}/v2.0` },
    ],
    ['a directory that is none', { tid: 'common', iss: issuerOf('common') }],
    ['no directory', { tid: undefined }],
    ['no user', { oid: undefined }],
    ['an older version', { ver: '1.0' }],
    ['an end that has passed', { exp: now() - 300 }],
    ['no end', { exp: undefined }],
  ])('is refused with %s', async (_, change) => {
    await expect(check(await sign(change))).rejects.toMatchObject({ kind: 'rejected' })
  })

  test('is refused if another key signed it', async () => {
    const stranger = await generateKeyPair('RS256')
    await expect(check(await sign({}, 'RS256', stranger.privateKey))).rejects.toMatchObject({
      kind: 'rejected',
    })
  })

  test('is refused if its key signs for another directory', async () => {
    issuerOfKey = issuerOf(PERSONAL)
    await expect(check(await sign())).rejects.toMatchObject({ kind: 'rejected' })
    expect(await check(await sign({ tid: PERSONAL }))).toMatchObject({ tid: PERSONAL })
    issuerOfKey = issuerOf('{tenantid}')
  })

  test('of a personal account is refused by a cloud without them', async () => {
    const token = await sign({ tid: PERSONAL })
    expect(await check(token)).toMatchObject({ tid: PERSONAL })
    await expect(check(token, CLOUDS.china)).rejects.toMatchObject({ kind: 'rejected' })
  })

  test('costs one document and one set of keys for any number of sign-ins', async () => {
    const before = documentsRead
    const token = await sign()
    await withTokens(tokens =>
      Promise.all(Array.from({ length: 10 }, () => tokens.check(token, EXPECTED, never))),
    )
    expect(documentsRead - before).toBe(1)
  })

  test('is not judged while the document or the keys cannot be read', async () => {
    const token = await sign()
    await withTokens(async (tokens, discovery) => {
      isDown = true
      await expect(tokens.check(token, EXPECTED, never)).rejects.toMatchObject({ kind: 'unavailable' })
      isDown = false
      await discovery.find(never)
      isDown = true
      await expect(tokens.check(token, EXPECTED, never)).rejects.toMatchObject({ kind: 'unavailable' })
      isDown = false
      expect(await tokens.check(token, EXPECTED, never)).toMatchObject({ oid: OID })
    })
  })

  test('is not waited for when the time is over', async () => {
    const token = await sign()
    const failure: unknown = await withTokens(tokens =>
      tokens.check(token, EXPECTED, AbortSignal.abort()).catch((error: unknown) => error),
    )
    expect(failure).toBeInstanceOf(ProviderFailure)
    expect(failure).toMatchObject({ kind: 'unavailable' })
  })
})
