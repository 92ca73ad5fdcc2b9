import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { ConfidentialClientApplication } from '@azure/msal-node'
import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  expiredLongAgo,
  makeAppCertificate,
  type MadeCertificate,
} from '../../../test/microsoft/app-certificate.ts'
import { Secret } from '../../kit/secret.ts'
import { proofOf } from './assertion.ts'
import { expiryOf, readCertificate } from '../app-certificate.ts'

const TOKEN_URL = 'https://login.microsoftonline.com/organizations/oauth2/v2.0/token'
const DAY_MS = 86_400_000

let made: MadeCertificate
let other: MadeCertificate
beforeAll(async () => {
  ;[made, other] = await Promise.all([makeAppCertificate(), makeAppCertificate()])
})

const clientOf = ({ certificate, privateKey }: MadeCertificate) => ({
  clientId: 'an-app',
  credential: { type: 'certificate' as const, certificate, privateKey: new Secret(privateKey) },
})

/** The assertion that Microsoft's own library makes of the same certificate. */
async function assertionOfMsal(): Promise<string> {
  let body = ''
  const answered = (json: object) => ({ status: 200, headers: {}, body: json })
  const thumbprintSha256 = createHash('sha256')
    .update(new X509Certificate(made.certificate).raw)
    .digest('hex')
  const app = new ConfidentialClientApplication({
    auth: {
      clientId: 'an-app',
      authority: 'https://login.microsoftonline.com/organizations',
      clientCertificate: { thumbprintSha256, privateKey: made.privateKey },
    },
    system: {
      networkClient: {
        sendGetRequestAsync: () => Promise.reject(new Error('not needed')),
        sendPostRequestAsync: async <T>(_: string, options?: { body?: string }) => {
          body = options?.body ?? ''
          return answered({ error: 'invalid_grant', error_description: 'AADSTS70000: refused' }) as {
            headers: Record<string, string>
            body: T
            status: number
          }
        },
      },
    },
  })
  await app
    .acquireTokenByCode({ code: 'c', redirectUri: 'http://localhost', scopes: ['User.Read'] })
    .catch(() => {})
  return new URLSearchParams(body).get('client_assertion') ?? ''
}

describe('an assertion by certificate', () => {
  test('is signed by PS256 for the token endpoint, and lives ten minutes', async () => {
    const now = Date.now()
    const form = await proofOf(clientOf(made), { tokenUrl: TOKEN_URL, now })
    expect(form).toMatchObject({
      client_id: 'an-app',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    })
    const { publicKey, raw } = new X509Certificate(made.certificate)
    const { payload, protectedHeader } = await jwtVerify(form['client_assertion'] ?? '', publicKey, {
      algorithms: ['PS256'],
      audience: TOKEN_URL,
      issuer: 'an-app',
      subject: 'an-app',
    })
    expect(protectedHeader).toEqual({
      alg: 'PS256',
      typ: 'JWT',
      'x5t#S256': createHash('sha256').update(raw).digest('base64url'),
    })
    expect(payload).toMatchObject({ iat: Math.floor(now / 1000), nbf: Math.floor(now / 1000) })
    expect(payload.exp).toBe(Math.floor(now / 1000) + 600)
  })

  test('is another one at each call', async () => {
    const given = { tokenUrl: TOKEN_URL, now: Date.now() }
    const ids = await Promise.all(
      [1, 2].map(async () => {
        const form = await proofOf(clientOf(made), given)
        return decodeJwt(form['client_assertion'] ?? '').jti
      }),
    )
    expect(new Set(ids).size).toBe(2)
    expect(ids[0]).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('has the same header and claims as that of Microsoft’s own library', async () => {
    const form = await proofOf(clientOf(made), { tokenUrl: TOKEN_URL, now: Date.now() })
    const [ours, theirs] = [form['client_assertion'] ?? '', await assertionOfMsal()]
    expect(decodeProtectedHeader(theirs)).toMatchObject({ alg: 'PS256' })
    const { typ: _, ...header } = decodeProtectedHeader(ours)
    expect(decodeProtectedHeader(theirs)).toMatchObject(header)
    expect(Object.keys(decodeJwt(ours))).toEqual(expect.arrayContaining(Object.keys(decodeJwt(theirs))))
  })

  test('of an expired certificate blames the app, and shows no key', async () => {
    const failure: unknown = await proofOf(clientOf(made), {
      tokenUrl: TOKEN_URL,
      now: Date.now() + 3 * DAY_MS,
    }).catch((error: unknown) => error)
    expect(failure).toMatchObject({ kind: 'misconfigured', reason: 'invalid_client' })
    expect(JSON.stringify(failure)).not.toContain(made.privateKey.slice(30, 60))
  })

  test('is not needed for a secret', async () => {
    const client = { clientId: 'an-app', credential: { type: 'secret' as const, secret: new Secret('s') } }
    expect(await proofOf(client, { tokenUrl: TOKEN_URL, now: 0 })).toEqual({
      client_id: 'an-app',
      client_secret: 's',
    })
  })
})

describe('a certificate', () => {
  test('is read with its key, in any form of PEM', () => {
    const traditional = createPrivateKey(made.privateKey).export({ type: 'pkcs1', format: 'pem' }).toString()
    for (const privateKey of [made.privateKey, traditional]) {
      const read = readCertificate({ ...made, privateKey }, new Date())
      expect(read).toMatchObject({ notAfter: expiryOf(made.certificate) })
    }
    const described = `Bag Attributes\n    friendlyName: app\n${made.certificate}${other.certificate}`
    expect(readCertificate({ ...made, certificate: described }, new Date())).toMatchObject({
      thumbprint: expect.stringMatching(/^[\w-]{43}$/),
    })
  })

  test.each<[string, () => Partial<MadeCertificate> | Promise<MadeCertificate>, string]>([
    ['the key of another certificate', () => ({ privateKey: other.privateKey }), 'credential_mismatch'],
    ['a key that is none', () => ({ privateKey: 'no key' }), 'credential_mismatch'],
    ['a text that is none', () => ({ certificate: 'no certificate' }), 'invalid_certificate'],
    [
      'a certificate cut short',
      () => ({ certificate: made.certificate.slice(0, 200) }),
      'invalid_certificate',
    ],
    ['a private key in its place', () => ({ certificate: made.privateKey }), 'invalid_certificate'],
    ['an expired certificate', () => expiredLongAgo(made), 'invalid_certificate'],
    ['a short key', () => makeAppCertificate({ key: 'rsa:1024' }), 'invalid_certificate'],
    ['a key of another kind', () => makeAppCertificate({ key: 'ec' }), 'invalid_certificate'],
  ])('is refused with %s', async (_, change, problem) => {
    expect(readCertificate({ ...made, ...(await change()) }, new Date())).toBe(problem)
  })

  test('is refused with a key that has a passphrase', () => {
    const privateKey = createPrivateKey(made.privateKey)
      .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
      .toString()
    expect(readCertificate({ ...made, privateKey }, new Date())).toBe('credential_mismatch')
  })
})
