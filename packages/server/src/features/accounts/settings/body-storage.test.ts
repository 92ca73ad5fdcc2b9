import { readdir, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBlobFolder } from '../../../../test/bodies/blob-folder.ts'
import { type TestApp, type TestAppOptions, openTestApp } from '../../../../test/open-app.ts'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { type S3Fault, type S3Server, startS3 } from '../../../../test/servers/s3.ts'
import { type SandboxServer, startSandbox } from '../../../../test/servers/sandbox.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import { readConfig } from '../../../config.ts'
import { newId } from '../../../kit/ids.ts'
import { Secret } from '../../../kit/secret.ts'
import { MARK_KEY } from '../../../start/blob-mark.ts'
import { NO_LIMITS } from '../../tenancy/plans/plan.ts'
import { createPlan } from '../../tenancy/plans/store.ts'
import { assignPlan } from '../plans/assign.ts'
import { casesFor } from '../../../../test/soak.ts'

const NONE = { bodyStorage: 'none' }
const MAILBOX = {
  email: 'ada@example.com',
  password: 'p',
  imap: { host: '127.0.0.1', port: 993, security: 'tls' },
  smtp: null,
}
const REFRESH_TOKEN = { provider: 'google', refreshToken: 'r' }

/** Plays Google, so that a refresh token is looked at. */
let sandbox: SandboxServer
beforeAll(async () => void (sandbox = await startSandbox()))
afterAll(() => sandbox[Symbol.asyncDispose]())

function openApp({ config, ...rest }: TestAppOptions): Promise<TestApp> {
  const google = { googleClientId: 'client', googleClientSecret: new Secret('secret') }
  return openTestApp({ ...rest, config: { ...google, sandboxUrl: sandbox.controlUrl, ...config } })
}

/** Two accounts of a tenant that stores nothing: one follows the tenant, the other has `none` as its own value. */
async function sampleAccounts(app: TestApp) {
  await app.patch('/v1/settings', NONE)
  const follows = await sampleAccount(app.db, app.tenantId, { settings_override: '{}' })
  const own = await sampleAccount(app.db, app.tenantId, { settings_override: JSON.stringify(NONE) })
  return { follows: `/v1/accounts/${follows.id}`, own: `/v1/accounts/${own.id}` }
}

/** Every request that turns storage on, with the field by which it does. */
function turnOn(app: TestApp, account: string, bodyStorage: string) {
  const settings = { bodyStorage }
  return [
    ['bodyStorage', () => app.patch('/v1/settings', settings)],
    ['settings.bodyStorage', () => app.patch(account, { settings })],
    ['settings.bodyStorage', () => app.post('/v1/imap-accounts', { ...MAILBOX, settings })],
    ['settings.bodyStorage', () => app.post('/v1/accounts', { ...REFRESH_TOKEN, settings })],
    ['options.settings.bodyStorage', () => app.post('/v1/connect-sessions', { options: { settings } })],
  ] as const
}

const refusedFor = (field: string) => ({
  status: 400,
  body: {
    defined: true,
    code: 'storage_unavailable',
    message: expect.stringMatching(new RegExp(`^${field}: `)),
  },
})

const isAccepted = async (app: TestApp) =>
  (await app.patch('/v1/settings', { bodyStorage: 'full' })).status === 200

// Each test has an app with a store of its own, and one waits for ten seconds, so they run at once.
describe.concurrent('while the folder of blobs cannot be written', () => {
  test('refuses changes that turn storage on, and accepts them once the folder can be written again', async () => {
    await using blobs = await openBlobFolder()
    const away = `${blobs.folder}-away`
    await using app = await openApp({ config: { blobDir: blobs.folder } })
    const { follows, own } = await sampleAccounts(app)
    await rename(blobs.folder, away)
    await writeFile(blobs.folder, 'no folder')
    const before = await app.get('/v1/accounts')
    for (const bodyStorage of ['cache', 'full'])
      for (const [field, request] of turnOn(app, own, bodyStorage))
        expect(await request()).toMatchObject(refusedFor(field))
    expect((await app.get('/v1/accounts')).body).toEqual(before.body)
    expect((await app.get('/v1/settings')).body).toMatchObject(NONE)
    expect(app.logLines.join('')).toContain('Refused to store more messages')

    await rm(blobs.folder)
    await rename(away, blobs.folder)
    const answers = []
    for (const [, request] of turnOn(app, own, 'full')) answers.push(await request())
    expect(answers.map(({ status, body }) => body['code'] ?? status)).toEqual([
      200,
      200,
      'server_not_allowed',
      'invalid_client',
      200,
    ])
    expect((await app.get(follows)).body).toMatchObject({ settings: { bodyStorage: 'full' } })
    expect(await readdir(blobs.folder)).toEqual([MARK_KEY])
  })

  test('accepts changes that store nothing more', async () => {
    await using blobs = await openBlobFolder()
    await using app = await openApp({ config: { blobDir: blobs.folder } })
    const { follows, own } = await sampleAccounts(app)
    await app.patch('/v1/settings', { bodyStorage: 'cache' })
    await rm(blobs.folder, { recursive: true })
    await writeFile(blobs.folder, 'no folder')
    expect(await app.patch(own, { resetSettings: ['bodyStorage'] })).toMatchObject(
      refusedFor('resetSettings'),
    )
    const accepted = [
      await app.patch('/v1/settings', { bodyStorage: 'cache', trackOpens: true }),
      await app.patch(follows, { settings: { bodyStorage: 'cache' } }),
      await app.patch(follows, { settings: { trackOpens: true }, status: 'paused' }),
      await app.patch(follows, { settings: NONE }),
      await app.post('/v1/connect-sessions', { options: { settings: { undoSendSeconds: 5 } } }),
      await app.patch('/v1/settings', NONE),
      await app.patch(follows, { resetSettings: ['bodyStorage'] }),
    ]
    expect(accepted.map(({ status }) => status)).toEqual(accepted.map(() => 200))
    expect(app.logLines.filter(line => line.includes('Refused to store more messages'))).toHaveLength(1)
  })
})

test.concurrent('a plan that forbids storage refuses before the storage is tried', async () => {
  await using blobs = await openBlobFolder()
  await using app = await openApp({ config: { blobDir: blobs.folder } })
  const { own } = await sampleAccounts(app)
  const plan = await createPlan(app.db, newId(), { ...NO_LIMITS, bodyStorageAllowed: false })
  await assignPlan(app.db, app.tenantId, plan!)
  await rm(blobs.folder, { recursive: true })
  await writeFile(blobs.folder, 'no folder')
  for (const [, request] of turnOn(app, own, 'cache'))
    expect(await request()).toMatchObject({ status: 403, body: { code: 'plan_limit_storage' } })
})

test.concurrent('refuses to store in a folder that no longer belongs to the installation', async () => {
  await using blobs = await openBlobFolder()
  await using app = await openApp({ config: { blobDir: blobs.folder } })
  const { database, keyRing } = app
  // Without stored messages, a process that is alone would take the empty folder.
  await using _other = await openApp({ database, keyRing, config: { blobDir: blobs.folder } })
  const { own } = await sampleAccounts(app)
  await rm(path.join(blobs.folder, MARK_KEY))
  for (const [field, request] of turnOn(app, own, 'cache'))
    expect(await request()).toMatchObject(refusedFor(field))
  expect(await readdir(blobs.folder)).toEqual([])
})

describe.concurrent('with a bucket', () => {
  let s3: S3Server
  beforeAll(async () => void (s3 = await startS3()))
  afterAll(() => s3[Symbol.asyncDispose]())

  async function openOnBucket({ env: ofStore }: S3Server, prefix: string): Promise<TestApp> {
    const env = { ...ofStore, WAXWING_S3_PREFIX: prefix }
    const config = readConfig(env, { isRoot: false, isTerminal: false })
    const ofBucket = Object.entries(config).filter(([key]) => key.startsWith('s3'))
    return openApp({ config: Object.fromEntries(ofBucket) })
  }

  const faults: Array<[name: string, fault: S3Fault]> = [
    ['refuses to be written', { method: 'PUT', answer: { status: 403, code: 'AccessDenied' } }],
    ['fails', { method: 'PUT', answer: { status: 500, code: 'InternalError' } }],
    ['does not answer', { method: 'PUT', isSilent: true }],
    ['does not exist any more', { answer: { status: 404, code: 'NoSuchBucket' } }],
  ]
  test.each(casesFor(faults, ([name]) => name === 'does not answer'))(
    'that %s, refuses to turn storage on until it works again',
    async (name, fault) => {
      const prefix = name.replaceAll(' ', '-')
      await using app = await openOnBucket(s3, prefix)
      const { own } = await sampleAccounts(app)
      const ofThis = { ...fault, url: prefix }
      s3.faults.push(ofThis)
      const requests = turnOn(app, own, 'full').map(async ([field, request]) =>
        expect(await request()).toMatchObject(refusedFor(field)),
      )
      await Promise.all(requests)
      s3.faults = s3.faults.filter(each => each !== ofThis)
      await waitUntil('the bucket to be used again', () => isAccepted(app))
    },
  )

  test('that cannot be reached, refuses to turn storage on until it can be', async () => {
    await using away = await startS3()
    await using app = await openOnBucket(away, 'away')
    const { own } = await sampleAccounts(app)
    await away.pause()
    for (const [field, request] of turnOn(app, own, 'full'))
      expect(await request()).toMatchObject(refusedFor(field))
    await away.resume()
    await waitUntil('the bucket to be used again', () => isAccepted(app))
  })
})
