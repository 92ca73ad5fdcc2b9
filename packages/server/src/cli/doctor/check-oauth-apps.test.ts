import { X509Certificate } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { sql } from 'kysely'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { makeExternalDatabase } from '../../../test/external-database.ts'
import { expiredLongAgo, makeAppCertificate } from '../../../test/microsoft/app-certificate.ts'
import { openTestApp } from '../../../test/open-app.ts'
import { startSandbox } from '../../../test/servers/sandbox.ts'
import { makeDataFolder } from '../../../test/service-process.ts'
import { environmentKeyRing } from '../../kit/key-ring.ts'
import { type Environment, examine, KEY } from '../../../test/examine.ts'

afterEach(() => {
  vi.restoreAllMocks()
  process.exitCode = undefined
})

describe('waxwing doctor and OAuth apps', () => {
  test('reads their secrets, and asks the provider whether it knows them', async () => {
    await using external = await makeExternalDatabase({ migrated: true })
    const clients = [{ clientId: 'sandbox', clientSecret: 'sandbox-secret' }]
    await using sandbox = await startSandbox({ seed: { clients } })
    const { db } = external.database
    const env = {
      DATABASE_URL: external.url,
      WAXWING_SECRET_KEY: KEY,
      WAXWING_SANDBOX_URL: sandbox.controlUrl,
    }
    const find = async (more: Environment) => (await examine({ ...env, ...more })).of('OAuth apps')
    const told = async (more: Environment = {}) =>
      (await find(more)).map(
        ({ state, message }) => `${state}: ${message.replaceAll(/\([0-9a-f-]{36}\)/g, '(id)')}`,
      )
    expect(await told()).toEqual(['ok: There are none, so users cannot sign in with Google or Microsoft.'])

    const operators = {
      WAXWING_GOOGLE_CLIENT_ID: 'sandbox',
      WAXWING_GOOGLE_CLIENT_SECRET: 'sandbox-secret',
    }
    {
      await using app = await openTestApp({ database: external.database, keyRing: environmentKeyRing(KEY) })
      const add = (name: string, clientSecret: string) =>
        app.post('/v1/oauth-apps', { provider: 'google', name, clientId: 'sandbox', clientSecret })
      for (const [name, secret] of [
        ['Good', 'sandbox-secret'],
        ['Old', 'wrong'],
        ['Torn', 'sandbox-secret'],
      ] as const)
        await add(name, secret)
      await sql`update oauth_app set secret = '\\x00' where name = 'Torn'`.execute(db)
    }
    expect(await told(operators)).toEqual([
      'ok: Apps whose secret can be read: 3',
      'wrong: The app "Torn" (id), accounts: 0: its secret cannot be read.',
      'ok: Apps that Google accepts: 2',
      'wrong: The app "Old" (id), accounts: 0: Google does not accept its client id and secret.',
    ])
    const refused = await find({ ...operators, WAXWING_GOOGLE_CLIENT_SECRET: 'replaced' })
    expect(refused.filter(({ message }) => message.includes('does not accept'))).toMatchObject([
      {
        state: 'wrong',
        message: expect.stringContaining('The app of WAXWING_GOOGLE_CLIENT_ID'),
        remedy: expect.stringContaining('WAXWING_GOOGLE_CLIENT_SECRET'),
      },
      {
        state: 'wrong',
        message: expect.stringContaining('The app "Old"'),
        remedy: expect.stringContaining('PATCH /v1/oauth-apps'),
      },
    ])
    await sql`update oauth_app set scopes = '{https://mail.google.com/}' where name = 'Good'`.execute(db)
    const unasked = 'its scopes do not ask for them'
    expect((await told()).join()).not.toContain(unasked)
    await sql`update tenant set settings = settings || '{"contactsEnabled": true}'`.execute(db)
    expect((await told()).filter(line => line.includes(unasked))).toEqual([
      `warning: The app "Good" (id), accounts: 0: contacts are switched on, and ${unasked}.`,
    ])
    await sandbox.addFault({ does: 'error', status: 503, host: 'oauth2.googleapis.com' })
    expect((await told()).join()).toContain(
      'warning: The app "Good" (id), accounts: 0: Whether Google accepts it is not known. Google cannot issue tokens now',
    )
  })
})

describe('waxwing doctor and apps of Microsoft', () => {
  test('asks about them in their clouds, and reports certificates that expire', async () => {
    await using external = await makeExternalDatabase({ migrated: true })
    await using folder = await makeDataFolder()
    const made = await makeAppCertificate()
    const place = { provider: 'microsoft', clientId: 'certified' }
    const secret = { clientId: 'sandbox', clientSecret: 'sandbox-secret' }
    const clients = [
      { ...place, cloud: 'global', certificates: [made.certificate] },
      { ...place, cloud: 'china', certificates: [made.certificate] },
      { provider: 'microsoft', cloud: 'global', ...secret },
    ]
    await using sandbox = await startSandbox({ seed: { clients } })
    const old = expiredLongAgo(made)
    const [certificateFile, keyFile] = [path.join(folder.path, 'app.crt'), path.join(folder.path, 'app.key')]
    await writeFile(certificateFile, old.certificate)
    await writeFile(keyFile, old.privateKey)
    const env = {
      DATABASE_URL: external.url,
      WAXWING_SECRET_KEY: KEY,
      WAXWING_SANDBOX_URL: sandbox.controlUrl,
      WAXWING_MICROSOFT_DOD_CLIENT_ID: 'certified',
      WAXWING_MICROSOFT_DOD_CERTIFICATE_FILE: certificateFile,
      WAXWING_MICROSOFT_DOD_PRIVATE_KEY_FILE: keyFile,
    }
    {
      await using app = await openTestApp({ database: external.database, keyRing: environmentKeyRing(KEY) })
      const add = (body: object) => app.post('/v1/oauth-apps', { provider: 'microsoft', ...body })
      for (const cloud of ['global', 'china'])
        expect((await add({ name: cloud, cloud, clientId: 'certified', ...made })).status).toBe(200)
      expect((await add({ name: 'With a secret', ...secret })).status).toBe(200)
      expect((await add({ name: 'Wrong', cloud: 'china', ...secret })).status).toBe(200)
    }
    const { of } = await examine(env)
    const day = new X509Certificate(made.certificate).validToDate.toISOString().slice(0, 10)
    expect(
      of('OAuth apps').map(
        ({ state, message }) => `${state}: ${message.replaceAll(/ \([0-9a-f-]{36}\)/g, '')}`,
      ),
    ).toEqual([
      'ok: Apps whose secret can be read: 5',
      expect.stringMatching(
        /^wrong: The app of WAXWING_MICROSOFT_DOD_CLIENT_ID: its certificate expired on 20/,
      ),
      `warning: The app "global", accounts: 0: its certificate expires on ${day}.`,
      `warning: The app "china", accounts: 0: its certificate expires on ${day}.`,
      'ok: Apps that Microsoft (global) accepts: 2',
      'ok: Apps that Microsoft (china) accepts: 1',
      expect.stringMatching(/^wrong: The app of WAXWING_MICROSOFT_DOD_CLIENT_ID: Microsoft does not accept/),
      'wrong: The app "Wrong", accounts: 0: Microsoft does not accept its client id and secret.',
    ])
    expect(of('pushes')).toMatchObject([{ state: 'ok', message: expect.stringContaining('Microsoft') }])
    expect(
      of('OAuth apps')
        .filter(({ state }) => state !== 'ok')
        .map(({ remedy }) => remedy),
    ).not.toContain(null)
  })
})
