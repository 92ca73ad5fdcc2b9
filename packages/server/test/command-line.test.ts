import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { callerOf } from './caller.ts'
import { makeExternalDatabase } from './external-database.ts'
import { makePreparedFolder } from './prepared-folder.ts'
import { makeDataFolder, runWaxwing, startServiceProcess } from './service-process.ts'

const KEY = randomBytes(32).toString('base64')

async function makeKey(env: Record<string, string>, ...args: string[]) {
  const { stdout, stderr, code } = await runWaxwing(['key', 'create', '--json', ...args], { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) })
  const made: { key: string } = JSON.parse(stdout)
  return made.key
}

describe('commands beside a running service', () => {
  test('create a tenant and a key that works at once', async () => {
    await using folder = await makePreparedFolder()
    await using service = await startServiceProcess(folder)
    const env = { WAXWING_DATA_DIR: folder.path }

    const made = await runWaxwing(['tenant', 'create', 'acme'], { env })
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('acme') })
    const key = await makeKey(env, '--tenant', 'acme', '--scopes', 'read')
    expect((await callerOf(service.address, key).get('/v1/accounts')).status).toBe(200)

    service.kill('SIGINT')
    expect((await service.ended).code).toBe(0)
  })
})

describe('commands without a service', () => {
  test('start the database for their duration, and the service continues with it', async () => {
    await using folder = await makeDataFolder()
    const env = { WAXWING_DATA_DIR: folder.path }
    expect((await runWaxwing(['migrate'], { env })).stdout).toBe(
      'The database has the schema of this release.\n',
    )
    expect(await folder.findServer()).toBeNull()
    expect((await runWaxwing(['tenant', 'create', 'acme'], { env })).code).toBe(0)
    const key = await makeKey(env, '--tenant', 'acme')

    await using service = await startServiceProcess(folder)
    expect(service.key).toBeNull()
    expect((await callerOf(service.address, key).get('/v1/accounts')).status).toBe(200)
  })

  test('refuse with an explanation and exit code 1', async () => {
    await using folder = await makePreparedFolder()
    const env = { WAXWING_DATA_DIR: folder.path }
    const { code, stdout, stderr } = await runWaxwing(['key', 'create', '--tenant', 'nobody'], { env })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('There is no tenant "nobody".')
    expect(stderr).not.toContain('    at ')
    expect(await folder.findServer()).toBeNull()
  })

  test.each([
    '',
    'serve',
    'migrate',
    'tenant create',
    'key create',
    'account list',
    'account pause',
    'instances',
    'key-ring rotate',
    'doctor',
    'database restored',
    'backup',
    'restore',
  ])('explain themselves: waxwing %s --help', async words => {
    const { code, stdout } = await runWaxwing([...words.split(' ').filter(Boolean), '--help'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Usage: waxwing/)
  })
})

describe('DATABASE_URL', () => {
  test('uses another PostgreSQL instead of the embedded one, for several processes at once', async () => {
    await using folder = await makeDataFolder()
    await using external = await makeExternalDatabase()
    const env = { DATABASE_URL: external.url, WAXWING_SECRET_KEY: KEY }
    await using first = await startServiceProcess(folder, { env })
    await using second = await startServiceProcess(folder, { env })

    expect(second.key).toBeNull()
    expect((await callerOf(second.address, first.key).get('/v1/accounts')).status).toBe(200)
    expect((await readdir(folder.path)).toSorted()).toEqual(['blobs', 'first-api-key'])
  })

  test('is refused without a master key, unless the data folder has one', async () => {
    await using folder = await makeDataFolder()
    await using external = await makeExternalDatabase()
    const env = { DATABASE_URL: external.url, WAXWING_DATA_DIR: folder.path }
    const refused = await runWaxwing(['serve'], { env })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('WAXWING_SECRET_KEY is not set')

    await runWaxwing(['migrate'], { env: { WAXWING_DATA_DIR: folder.path } })
    expect((await runWaxwing(['migrate'], { env })).code).toBe(0)
  })

  test('is refused with another master key than it was used with', async () => {
    await using external = await makeExternalDatabase()
    const env = { DATABASE_URL: external.url }
    await using folder = await makeDataFolder()
    await using _service = await startServiceProcess(folder, { env: { ...env, WAXWING_SECRET_KEY: KEY } })
    const other = randomBytes(32).toString('base64')
    const { code, stderr } = await runWaxwing(['migrate'], { env: { ...env, WAXWING_SECRET_KEY: other } })

    expect(code).toBe(1)
    expect(stderr).toContain('The key ring does not fit this database')
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
