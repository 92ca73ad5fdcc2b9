import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { saveKeys } from '../src/kit/key-ring-file.ts'
import { callerOf } from './caller.ts'
import { makeExternalDatabase } from './external-database.ts'
import { makeDataFolder, runWaxwing, startServiceProcess } from './service-process.ts'
import { casesFor, SOAK } from './soak.ts'

const KEY = randomBytes(32).toString('base64')

async function makeKey(env: Record<string, string>, ...args: string[]) {
  const { stdout, stderr, code } = await runWaxwing(['key', 'create', '--json', ...args], { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) })
  const made: { key: string } = JSON.parse(stdout)
  return made.key
}

describe('commands', () => {
  test('start the database for their duration, explain a refusal, and work at once beside the service', async () => {
    await using folder = await makeDataFolder()
    const env = { WAXWING_DATA_DIR: folder.path }
    expect((await runWaxwing(['migrate'], { env })).stdout).toBe(
      'The database has the schema of this release.\n',
    )
    expect(await folder.findServer()).toBeNull()
    expect((await runWaxwing(['tenant', 'create', 'acme'], { env })).code).toBe(0)
    const key = await makeKey(env, '--tenant', 'acme')
    const { code, stdout, stderr } = await runWaxwing(['key', 'create', '--tenant', 'nobody'], { env })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('There is no tenant "nobody".')
    expect(stderr).not.toContain('    at ')
    expect(await folder.findServer()).toBeNull()

    await using service = await startServiceProcess(folder)
    expect(service.key).toBeNull()
    expect((await callerOf(service.address, key).get('/v1/accounts')).status).toBe(200)
    const made = await runWaxwing(['tenant', 'create', 'beside'], { env })
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('beside') })
    const another = await makeKey(env, '--tenant', 'beside', '--scopes', 'read')
    expect((await callerOf(service.address, another).get('/v1/accounts')).status).toBe(200)
    service.kill('SIGINT')
    expect((await service.ended).code).toBe(0)
  })

  const commands = [
    '',
    'serve',
    'migrate',
    'tenant create',
    'plan list',
    'key create',
    'account list',
    'account pause',
    'outbox release',
    'instances',
    'listen',
    'audit verify',
    'key-ring rotate',
    'doctor',
    'database restored',
    'backup',
    'restore',
  ]
  const inCi = new Set(['', 'serve', 'key create'])
  test.each(casesFor(commands, words => inCi.has(words)))(
    'explain themselves: waxwing %s --help',
    async words => {
      const { code, stdout } = await runWaxwing([...words.split(' ').filter(Boolean), '--help'])
      expect(code).toBe(0)
      expect(stdout).toMatch(/^Usage: waxwing/)
    },
  )
})

describe('DATABASE_URL', () => {
  test(
    'uses another PostgreSQL instead of the embedded one, for several processes at once, with one master key',
    SOAK,
    async () => {
      await using folder = await makeDataFolder()
      await using external = await makeExternalDatabase()
      const env = { DATABASE_URL: external.url, WAXWING_SECRET_KEY: KEY }
      await using first = await startServiceProcess(folder, { env })
      await using second = await startServiceProcess(folder, { env })

      expect(second.key).toBeNull()
      expect((await callerOf(second.address, first.key).get('/v1/accounts')).status).toBe(200)
      expect((await readdir(folder.path)).toSorted()).toEqual(['blobs', 'first-api-key'])

      const other = { ...env, WAXWING_SECRET_KEY: randomBytes(32).toString('base64') }
      const { code, stderr } = await runWaxwing(['migrate'], { env: other })
      expect(code).toBe(1)
      expect(stderr).toContain('The key ring does not fit this database')
    },
  )

  test('is refused without a master key, unless the data folder has one', async () => {
    await using folder = await makeDataFolder()
    await using external = await makeExternalDatabase({ migrated: true })
    const env = { DATABASE_URL: external.url, WAXWING_DATA_DIR: folder.path }
    const refused = await runWaxwing(['serve'], { env })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('WAXWING_SECRET_KEY is not set')

    saveKeys(folder.path, [KEY])
    expect((await runWaxwing(['migrate'], { env })).code).toBe(0)
  })

  test('that cannot be reached is reported without its password', async () => {
    const env = { DATABASE_URL: 'postgres://waxwing:s3cret@127.0.0.1:1/waxwing', WAXWING_SECRET_KEY: KEY }
    const { code, stderr } = await runWaxwing(['migrate'], { env })
    expect(code).toBe(1)
    expect(stderr).toContain(
      'The database of DATABASE_URL cannot be reached: connect ECONNREFUSED 127.0.0.1:1',
    )
    expect(stderr).not.toContain('s3cret')
  })
})
