import { Command } from 'commander'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import type { Config } from '../config.ts'
import { requireSealedValue } from '../database/sealed-value.ts'
import { createAuthenticator } from '../features/tenancy/credentials/authenticate.ts'
import { environmentKeyRing } from '../kit/key-ring.ts'
import { CommandError } from './command-error.ts'
import { register as registerKey } from './key.ts'
import { register as registerTenant } from './tenant.ts'

afterEach(() => vi.restoreAllMocks())

/** A command line on an empty, migrated database. `run` returns what was printed. */
async function openCommandLine() {
  const database = await openTestDatabase()
  const keyRing = environmentKeyRing(Buffer.alloc(32, 3).toString('base64'))
  const { db } = database
  async function run(...words: string[]): Promise<string> {
    const program = new Command().exitOverride().configureOutput({ writeErr: () => {} })
    // These commands read no setting.
    const connect = () =>
      Promise.resolve({ db, keyRing, config: {} as Config, [Symbol.asyncDispose]: () => Promise.resolve() })
    registerTenant(program, connect)
    registerKey(program, connect)
    for (const command of program.commands.flatMap(one => [one, ...one.commands])) command.exitOverride()
    const printed = vi.spyOn(console, 'log').mockImplementation(() => {})
    await program.parseAsync(words, { from: 'user' })
    const text = printed.mock.calls.map(([line]) => String(line)).join('\n')
    printed.mockRestore()
    return text
  }
  async function authenticate(key: string) {
    const pepper = await requireSealedValue(db, keyRing, 'credential_pepper')
    return createAuthenticator({ db, pepper, clock: Date }).present(key)?.authenticate()
  }
  return { run, authenticate, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}

describe('waxwing tenant', () => {
  test('creates tenants and lists them', async () => {
    await using line = await openCommandLine()
    expect(await line.run('tenant', 'create', "Ada's")).toContain(`--tenant 'Ada'\\''s'`)
    const made = JSON.parse(await line.run('tenant', 'create', 'acme', '--json'))
    expect(made).toMatchObject({ name: 'acme', suspendedAt: null })
    expect(JSON.parse(await line.run('tenant', 'list', '--json'))).toMatchObject([{ name: "Ada's" }, made])
  })

  test('refuses a name that is taken or invalid', async () => {
    await using line = await openCommandLine()
    await line.run('tenant', 'create', 'acme')
    for (const name of ['acme', '', ' ', ' acme', 'a\nb', 'x'.repeat(101)]) {
      await expect(line.run('tenant', 'create', name)).rejects.toThrow(CommandError)
    }
  })
})

describe('waxwing key', () => {
  test('creates a working key, and prints one line of JSON if asked', async () => {
    await using line = await openCommandLine()
    await line.run('tenant', 'create', 'default')
    const printed = await line.run(
      'key',
      'create',
      '--name',
      'ci',
      '--scopes',
      'write, read',
      '--expires',
      '1d',
      '--json',
    )
    expect(printed).not.toContain('\n')
    const made = JSON.parse(printed)
    expect(made).toMatchObject({ tenant: 'default', name: 'ci', scopes: ['read', 'write'], accountIds: null })
    expect(Date.parse(made.expiresAt)).toBeGreaterThan(Date.now() + 86_000_000)
    expect(await line.authenticate(made.key)).toMatchObject({
      outcome: 'accepted',
      credential: { id: made.id },
    })

    const listed = await line.run('key', 'list')
    expect(listed).toContain(made.id)
    expect(listed).not.toContain(made.key.split('_')[2])
  })

  test('revokes a key permanently', async () => {
    await using line = await openCommandLine()
    await line.run('tenant', 'create', 'default')
    const { id, key } = JSON.parse(await line.run('key', 'create', '--json'))
    await line.run('key', 'revoke', id)
    expect(await line.authenticate(key)).toEqual({ outcome: 'refused' })
    expect(JSON.parse(await line.run('key', 'list', '--json'))).toMatchObject([
      { id, revokedAt: expect.any(String) },
    ])
    await expect(line.run('key', 'revoke', 'nonsense')).rejects.toThrow(CommandError)
  })

  test('refuses unknown tenants and accounts, and malformed options', async () => {
    await using line = await openCommandLine()
    await line.run('tenant', 'create', 'default')
    await expect(line.run('key', 'create', '--tenant', 'other')).rejects.toThrow('There is no tenant "other"')
    const stranger = '0193c2c4-9d4e-7a63-8a5f-2d4b1f0c9e77'
    await expect(line.run('key', 'create', '--accounts', stranger)).rejects.toThrow(stranger)
    for (const option of [
      ['--scopes', 'read,fly'],
      ['--scopes', ''],
      ['--accounts', 'x'],
      ['--expires', 'soon'],
      ['--expires', '2099-02-31'],
      ['--expires', '2020-01-01'],
      ['--expires', '0d'],
      ['--name', ''],
      ['--name', 'a\u001b[2J'],
    ]) {
      await expect(line.run('key', 'create', ...option)).rejects.toThrow('invalid')
    }
  })
})
