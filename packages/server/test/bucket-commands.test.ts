import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { Finding } from '../src/cli/doctor/finding.ts'
import { openS3Objects } from '../src/kit/blobs/s3/s3-objects.ts'
import { unrecorded } from '../src/kit/blobs/s3/s3-uploads.ts'
import { type Caller, callerOf } from './caller.ts'
import { makeExternalDatabase } from './external-database.ts'
import { startS3 } from './servers/s3.ts'
import { SERVER_KINDS, useServer } from './servers/shared-server.ts'
import { openWorld } from './servers/world.ts'
import { makeDataFolder, runWaxwing, startServiceProcess } from './service-process.ts'
import { connectMailbox, readMessages, waitForFirstSync } from './sync/followed-account.ts'
import { waitUntil } from './wait-until.ts'
import { SOAK } from './soak.ts'

const LETTERS = ['one', 'two', 'three'].map(subject => {
  const head = ['From: Ada <ada@a.test>', `Subject: ${subject}`, `Message-ID: <${subject}@a.test>`]
  return { raw: `${head.join('\r\n')}\r\n\r\n${subject} ${'text '.repeat(20_000)}\r\n` }
})

const useIt = useServer(SERVER_KINDS[0].start)

async function readBodies(caller: Caller, accountId: string): Promise<string[]> {
  const bodies: string[] = []
  for (const { id } of await readMessages(caller, accountId)) {
    const { status, body } = await caller.get<{ body: { text: string } }>(
      `/v1/accounts/${accountId}/messages/${id}`,
    )
    expect(status).toBe(200)
    bodies.push(body.body.text)
  }
  return bodies.toSorted()
}

test(
  'doctor, backup, restore and database restored work with a bucket',
  { ...SOAK, timeout: 300_000 },
  async () => {
    const server = useIt()
    const user = await server.addUser()
    await using world = await openWorld(server, user)
    for (const letter of LETTERS) await world.deliver(letter)
    await using s3 = await startS3()
    await using database = await makeExternalDatabase()
    await using folder = await makeDataFolder()
    const file = path.join(await mkdtemp(path.join(tmpdir(), 'waxwing-backup-')), 'backup')
    const common = {
      ...s3.env,
      WAXWING_DATA_DIR: folder.path,
      WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
      WAXWING_EGRESS_ALLOW: '127.0.0.1/32',
      WAXWING_ALLOW_PLAINTEXT: 'true',
    }
    const env = { ...common, DATABASE_URL: database.url }
    const run = (more: Record<string, string>, ...args: string[]) =>
      runWaxwing(args, { env: { ...env, ...more } })
    const examine = async (more: Record<string, string> = {}) => {
      const { findings }: { findings: Finding[] } = JSON.parse((await run(more, 'doctor', '--json')).stdout)
      return findings.find(({ check }) => check === 'blobs')
    }
    expect(await examine()).toMatchObject({ state: 'ok' })

    const service = await startServiceProcess(folder, { env })
    const before = callerOf(service.address, service.key)
    const accountId = await connectMailbox(before, server, user, {
      bodyStorage: 'full',
      syncWindowDays: null,
    })
    await waitForFirstSync(before, accountId)
    await waitUntil('all are stored', async () => {
      const { rows } = await database.database.pool.query(
        'select from message_blob where message_id is not null',
      )
      return rows.length === LETTERS.length
    })
    const bodies = await readBodies(before, accountId)
    await before.patch(`/v1/accounts/${accountId}`, { status: 'paused' })
    service.kill('SIGINT')
    await service.ended
    expect(await examine()).toMatchObject({ state: 'ok', message: expect.stringContaining(s3.endpoint) })
    expect(await examine({ WAXWING_S3_PREFIX: 'elsewhere' })).toMatchObject({
      state: 'wrong',
      message: expect.stringContaining('does not hold the mark'),
    })

    // From the wrong place, every stored message would count as gone.
    const astray = await run({ WAXWING_S3_PREFIX: 'elsewhere' }, 'backup', file)
    expect(astray).toMatchObject({ code: 1, stderr: expect.stringContaining('does not hold the mark') })
    expect(await run({}, 'backup', file)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('3 stored messages'),
    })

    // Into another database and another place.
    await using target = await makeExternalDatabase()
    const restored = { DATABASE_URL: target.url, WAXWING_S3_PREFIX: 'restored' }
    expect((await run({ DATABASE_URL: target.url }, 'restore', file)).stderr).toContain('Add --replace')
    expect(await run(restored, 'restore', file)).toMatchObject({ code: 0 })
    const objects = await openS3Objects({ ...s3.settings, prefix: 'restored' }, unrecorded)
    expect((await Array.fromAsync(objects.list(''))).flat()).toHaveLength(LETTERS.length)
    {
      await using again = await startServiceProcess(folder, { env: { ...env, ...restored } })
      expect(await readBodies(callerOf(again.address, service.key), accountId)).toEqual(bodies)
    }

    // The stored messages of the restored installation are lost.
    const lost = { ...restored, WAXWING_S3_PREFIX: 'empty' }
    expect(await run(lost, 'serve')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--without-blobs'),
    })
    expect(await run(lost, 'database', 'restored', '--without-blobs')).toMatchObject({ code: 0 })
    await using last = await startServiceProcess(folder, { env: { ...env, ...lost } })
    const after = callerOf(last.address, service.key)
    await after.patch(`/v1/accounts/${accountId}`, { status: 'active' })
    expect(await readBodies(after, accountId)).toEqual(bodies)
    await rm(path.dirname(file), { recursive: true })
  },
)
